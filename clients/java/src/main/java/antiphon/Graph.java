package antiphon;

import antiphon.gen.DiffRequest;
import antiphon.gen.DiffResponse;
import antiphon.gen.GetCommonAncestorRequest;
import antiphon.gen.GetCommonAncestorResponse;
import antiphon.gen.GetGraphRequest;
import antiphon.gen.GetGraphResponse;
import antiphon.gen.GraphDetail;
import antiphon.gen.GraphFormat;
import antiphon.gen.GraphScope;
import antiphon.gen.GraphServiceGrpc;
import antiphon.gen.ListAncestorsRequest;
import antiphon.gen.ListAncestorsResponse;
import antiphon.gen.ListChildrenRequest;
import antiphon.gen.ListChildrenResponse;
import antiphon.gen.RunState;
import antiphon.gen.SearchRequest;
import antiphon.gen.SearchResponse;
import antiphon.gen.SumUsageRequest;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The graph of exchanges: walked, compared, drawn, searched, summed. Nothing here calls a model. Knows nothing of how turns are made. */
abstract class Graph extends Library {
    Graph(Connection connection) {
        super(connection);
    }

    /** The exchanges before one, the parent first and the root last. */
    public Stream<Node> ancestors(OnRecord exchange) {
        ListAncestorsRequest.Builder asked =
                ListAncestorsRequest.newBuilder().setExchangeId(point(exchange).getExchangeId());
        return pages(
                        GraphServiceGrpc.getListAncestorsMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListAncestorsResponse::getNextPageToken,
                        ListAncestorsResponse::getExchangesList)
                .stream()
                .map(Node::new);
    }

    /** The exchanges that follow from one, oldest first. */
    public Stream<Node> children(OnRecord exchange) {
        ListChildrenRequest.Builder asked =
                ListChildrenRequest.newBuilder().setExchangeId(point(exchange).getExchangeId());
        return pages(
                        GraphServiceGrpc.getListChildrenMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListChildrenResponse::getNextPageToken,
                        ListChildrenResponse::getExchangesList)
                .stream()
                .map(Node::new);
    }

    /** The last exchange that is on the paths of all; empty where they have none in common. */
    public Optional<Node> commonAncestor(OnRecord... exchanges) {
        GetCommonAncestorRequest.Builder asked = GetCommonAncestorRequest.newBuilder();
        for (OnRecord exchange : exchanges) {
            asked.addExchanges(point(exchange));
        }
        GetCommonAncestorResponse found = call(GraphServiceGrpc.getGetCommonAncestorMethod(), asked.build(), null);
        return found.hasExchange() ? Optional.of(new Node(found.getExchange())) : Optional.empty();
    }

    /** In what two exchanges with their histories differ; what is the same stays out. */
    public Difference diff(OnRecord left, OnRecord right) {
        DiffRequest asked = DiffRequest.newBuilder()
                .setLeft(point(left))
                .setRight(point(right))
                .setOmitSameMessages(true)
                .build();
        List<DiffResponse> pages = pages(
                        GraphServiceGrpc.getDiffMethod(),
                        token -> asked.toBuilder().setPageToken(token).build(),
                        DiffResponse::getNextPageToken,
                        List::of)
                .stream()
                .toList();
        return Difference.of(pages);
    }

    /** A part of the graph, drawn as text for a terminal, a node for each turn. */
    public String graph(Scope scope) {
        return graph(scope, Drawing.text());
    }

    /** A part of the graph, drawn: as text for a terminal, or for Graphviz or Mermaid. */
    public String graph(Scope scope, Drawing drawing) {
        GetGraphRequest asked = GetGraphRequest.newBuilder()
                .setScope(part(scope))
                .setFormatValue(Words.number(GraphFormat.getDescriptor(), drawing.form()))
                .setDetailValue(Words.number(GraphDetail.getDescriptor(), drawing.detail()))
                .setIncludePreviews(drawing.previews())
                .build();
        return pages(
                        GraphServiceGrpc.getGetGraphMethod(),
                        token -> asked.toBuilder().setPageToken(token).build(),
                        GetGraphResponse::getNextPageToken,
                        List::of)
                .stream()
                .map(GetGraphResponse::getText)
                .collect(Collectors.joining());
    }

    /** All that has a text in its own messages, upper and lower case alike, newest first. */
    public Stream<Hit> search(String text) {
        return search(new SearchQuery().text(text));
    }

    /** All that a query holds for, newest first. */
    public Stream<Hit> search(SearchQuery query) {
        SearchRequest.Builder asked = SearchRequest.newBuilder()
                .setText(query.text())
                .putAllLabels(query.labels())
                .addAllModels(query.models())
                .addAllOfferedTools(query.offeredTools())
                .addAllCalledTools(query.calledTools())
                .setRootsOnly(query.rootsOnly());
        query.states().forEach(state -> asked.addRunStatesValue(Words.number(RunState.getDescriptor(), state)));
        query.scope().ifPresent(scope -> asked.setScope(part(scope)));
        query.since().ifPresent(time -> asked.setFromTime(Times.raw(time)));
        query.before().ifPresent(time -> asked.setBeforeTime(Times.raw(time)));
        return pages(
                        GraphServiceGrpc.getSearchMethod(),
                        token -> asked.setPageToken(token).build(),
                        SearchResponse::getNextPageToken,
                        SearchResponse::getHitsList)
                .stream()
                .map(Hit::of);
    }

    /** What the runs in these parts of the graph consumed: of an exchange, all that led to it. What they share is counted once. */
    public UsageSum usage(Scope... scopes) {
        return usage(new UsageQuery().scopes(scopes));
    }

    /** What all runs that a query names consumed, each counted once however many branches share it. */
    public UsageSum usage(UsageQuery query) {
        SumUsageRequest.Builder asked = SumUsageRequest.newBuilder();
        query.scopes().forEach(scope -> asked.addScopesBuilder().setGraph(part(scope)));
        if (!query.runIds().isEmpty()) {
            asked.addScopesBuilder().getRunSetBuilder().addAllRunIds(query.runIds());
        }
        if (!query.labels().isEmpty()) {
            asked.addScopesBuilder().getLabelSetBuilder().putAllLabels(query.labels());
        }
        return UsageSum.of(call(GraphServiceGrpc.getSumUsageMethod(), asked.build(), null));
    }

    /** A part of the graph, as it goes out. */
    static GraphScope part(Scope scope) {
        GraphScope.Builder raw = GraphScope.newBuilder();
        if (scope instanceof OnRecord exchange) {
            raw.getPathBuilder().setExchangeId(point(exchange).getExchangeId());
        } else if (scope instanceof Subtree tree) {
            raw.getSubtreeBuilder().setExchangeId(point(tree.exchange()).getExchangeId());
            tree.maxSteps().ifPresent(raw.getSubtreeBuilder()::setMaxSteps);
        } else if (scope instanceof ThreadPath path) {
            raw.getThreadPathBuilder().setThreadId(path.threadId());
        } else {
            raw.getThreadTreeBuilder().setThreadId(((ThreadTree) scope).threadId());
        }
        return raw.build();
    }
}
