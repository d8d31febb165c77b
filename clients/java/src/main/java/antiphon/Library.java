package antiphon;

import antiphon.gen.CoordinationServiceGetRequest;
import antiphon.gen.CoordinationServiceGrpc;
import antiphon.gen.CoordinationServiceListRequest;
import antiphon.gen.CoordinationServiceListResponse;
import antiphon.gen.CoordinationState;
import antiphon.gen.ExchangePoint;
import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.HistoryScope;
import antiphon.gen.InspectRequest;
import antiphon.gen.InspectResponse;
import antiphon.gen.PathStep;
import antiphon.gen.RunServiceCancelRequest;
import antiphon.gen.RunServiceGetRequest;
import antiphon.gen.RunServiceGrpc;
import antiphon.gen.RunServiceListRequest;
import antiphon.gen.RunServiceListResponse;
import antiphon.gen.RunState;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** What is on record of turns: exchanges, runs and coordinations, read. Nothing here calls a model. Knows nothing of how turns are made. */
abstract class Library extends Threads {
    Library(Connection connection) {
        super(connection);
    }

    /** One exchange with everything known of it, and the whole history up to its answer. */
    public Inspection inspect(OnRecord exchange) {
        List<InspectResponse> pages = pages(exchange, HistoryScope.HISTORY_SCOPE_FULL);
        List<Message> messages = new ArrayList<>();
        List<String> path = new ArrayList<>();
        for (InspectResponse page : pages) {
            messages.addAll(Message.of(page.getMessagesList()));
            for (PathStep step : page.getPathList()) {
                // An exchange that two pages share is in both.
                if (path.isEmpty() || !path.get(path.size() - 1).equals(step.getExchangeId())) {
                    path.add(step.getExchangeId());
                }
            }
        }
        return new Inspection(Exchange.of(pages.get(0).getExchange()), List.copyOf(messages), List.copyOf(path));
    }

    /** Reads one exchange without its history. */
    public Exchange exchange(String exchangeId) {
        return Exchange.of(pages(new ExchangeId(exchangeId), HistoryScope.HISTORY_SCOPE_NONE).get(0).getExchange());
    }

    private List<InspectResponse> pages(OnRecord exchange, HistoryScope scope) {
        InspectRequest asked = InspectRequest.newBuilder().setExchangeId(point(exchange).getExchangeId()).setHistory(scope).build();
        return pages(
                        ExchangeServiceGrpc.getInspectMethod(),
                        token -> asked.toBuilder().setPageToken(token).build(),
                        InspectResponse::getNextPageToken,
                        List::of)
                .stream()
                .toList();
    }

    /** Reads a run, with what it consumed. */
    public Run run(String runId) {
        RunServiceGetRequest asked = RunServiceGetRequest.newBuilder().setRunId(runId).build();
        return new Run(call(RunServiceGrpc.getGetMethod(), asked, null).getRun());
    }

    /** All runs by id. */
    public Stream<Run> runs() {
        return runs(new Which());
    }

    /** Runs by id, those that are meant. */
    public Stream<Run> runs(Which which) {
        RunServiceListRequest.Builder asked =
                RunServiceListRequest.newBuilder().setThreadId(which.threadId()).putAllLabels(which.labels());
        which.states().forEach(state -> asked.addStatesValue(Words.number(RunState.getDescriptor(), state)));
        return pages(
                        RunServiceGrpc.getListMethod(),
                        token -> asked.setPageToken(token).build(),
                        RunServiceListResponse::getNextPageToken,
                        RunServiceListResponse::getRunsList)
                .stream()
                .map(Run::new);
    }

    /** Ends a run that is at work or waits for results. Ending one that has ended changes nothing. */
    public Run cancelRun(String runId) {
        RunServiceCancelRequest asked = RunServiceCancelRequest.newBuilder().setRunId(runId).build();
        return new Run(call(RunServiceGrpc.getCancelMethod(), asked, null).getRun());
    }

    /** Follows a run until it is over; see {@link Watch}. */
    public Watch watch(String runId) {
        return watch(runId, 0);
    }

    /** Follows a run, with what happened after this number of an event. */
    public Watch watch(String runId, long afterSequence) {
        return new Watch(this, runId, afterSequence);
    }

    /** Reads a coordination, with what it waits for. */
    public Coordination coordination(String coordinationId) {
        CoordinationServiceGetRequest asked =
                CoordinationServiceGetRequest.newBuilder().setCoordinationId(coordinationId).build();
        return new Coordination(call(CoordinationServiceGrpc.getGetMethod(), asked, null).getCoordination());
    }

    /** All coordinations by id. */
    public Stream<Coordination> coordinations() {
        return coordinations(new Which());
    }

    /** Coordinations by id, those that are meant. */
    public Stream<Coordination> coordinations(Which which) {
        CoordinationServiceListRequest.Builder asked =
                CoordinationServiceListRequest.newBuilder().setThreadId(which.threadId()).putAllLabels(which.labels());
        which.states().forEach(state -> asked.addStatesValue(Words.number(CoordinationState.getDescriptor(), state)));
        which.attached().ifPresent(asked::setAttached);
        return pages(
                        CoordinationServiceGrpc.getListMethod(),
                        token -> asked.setPageToken(token).build(),
                        CoordinationServiceListResponse::getNextPageToken,
                        CoordinationServiceListResponse::getCoordinationsList)
                .stream()
                .map(Coordination::new);
    }

    /** An exchange that is on record, as a place to go on from. */
    static ExchangePoint point(OnRecord at) {
        if (at instanceof Exchange exchange && !exchange.captured()) {
            throw exchange.notCaptured("there is nothing on record to go on from");
        }
        String id = at instanceof ExchangeId named ? named.exchangeId() : ((Exchange) at).exchangeId();
        return ExchangePoint.newBuilder().setExchangeId(id).build();
    }
}
