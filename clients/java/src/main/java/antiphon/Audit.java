package antiphon;

import antiphon.gen.GetCallToolsRequest;
import antiphon.gen.ListToolDriftsRequest;
import antiphon.gen.ListToolDriftsResponse;
import antiphon.gen.ListToolOccurrencesRequest;
import antiphon.gen.ListToolOccurrencesResponse;
import antiphon.gen.ToolOccurrenceKind;
import antiphon.gen.ToolServiceGrpc;
import java.util.stream.Stream;

/** Which tools calls had, which calls had a tool, and where its schema changed. Knows nothing of tools that are called now. */
abstract class Audit extends Graph {
    Audit(Connection connection) {
        super(connection);
    }

    /** The tools of the call that made an exchange: offered, standing and called. */
    public CallTools callTools(OnRecord exchange) {
        GetCallToolsRequest asked =
                GetCallToolsRequest.newBuilder().setExchangeId(point(exchange).getExchangeId()).build();
        return CallTools.of(call(ToolServiceGrpc.getGetCallToolsMethod(), asked, null));
    }

    /** The calls that offered a tool of this name or called it, newest first. */
    public Stream<ToolOccurrence> toolOccurrences(String name) {
        return toolOccurrences(name, new ToolQuery());
    }

    /** The calls that had a tool of this name as a query says, newest first; within a path, the nearest to its end first. */
    public Stream<ToolOccurrence> toolOccurrences(String name, ToolQuery query) {
        ListToolOccurrencesRequest.Builder asked =
                ListToolOccurrencesRequest.newBuilder().setName(name).setSchemaHash(query.schemaHash());
        if (!query.kind().isEmpty()) {
            asked.setKindValue(Words.number(ToolOccurrenceKind.getDescriptor(), query.kind()));
        }
        query.scope().ifPresent(scope -> asked.setScope(part(scope)));
        return pages(
                        ToolServiceGrpc.getListToolOccurrencesMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListToolOccurrencesResponse::getNextPageToken,
                        ListToolOccurrencesResponse::getOccurrencesList)
                .stream()
                .map(ToolOccurrence::of);
    }

    /** Where in a part of the graph a tool's schema is another one than before on its path, nearest to the root first. */
    public Stream<Drift> toolDrifts(Scope scope) {
        return toolDrifts(scope, "");
    }

    /** The same of one tool, by its name. */
    public Stream<Drift> toolDrifts(Scope scope, String name) {
        ListToolDriftsRequest.Builder asked = ListToolDriftsRequest.newBuilder().setScope(part(scope)).setName(name);
        return pages(
                        ToolServiceGrpc.getListToolDriftsMethod(),
                        token -> asked.setPageToken(token).build(),
                        ListToolDriftsResponse::getNextPageToken,
                        ListToolDriftsResponse::getDriftsList)
                .stream()
                .map(Drift::of);
    }
}
