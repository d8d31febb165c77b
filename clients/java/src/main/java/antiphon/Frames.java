package antiphon;

import antiphon.gen.BatchResults;
import antiphon.gen.CoordinateRequest;
import antiphon.gen.CoordinationCancel;
import antiphon.gen.CoordinationSuspend;
import antiphon.gen.ExecutionRequest;
import antiphon.gen.NextAction;
import antiphon.gen.StopAction;
import antiphon.gen.ToolsNeeded;
import java.util.List;
import java.util.function.Function;

/** Frames of a coordination as they go out. Knows nothing of when. */
final class Frames {
    private Frames() {}

    static CoordinateRequest suspend() {
        return CoordinateRequest.newBuilder().setSuspend(CoordinationSuspend.getDefaultInstance()).build();
    }

    static CoordinateRequest cancel(String message) {
        return CoordinateRequest.newBuilder().setCancel(CoordinationCancel.newBuilder().setMessage(message)).build();
    }

    static CoordinateRequest results(ToolsNeeded batch, List<antiphon.gen.ToolResult> results) {
        BatchResults.Builder said = BatchResults.newBuilder().setBatchId(batch.getBatchId()).setRunId(batch.getRunId());
        return CoordinateRequest.newBuilder().setToolResults(said.addAllResults(results)).build();
    }

    static CoordinateRequest generated(antiphon.gen.Generated said) {
        return CoordinateRequest.newBuilder().setGenerated(said).build();
    }

    static CoordinateRequest action(NextAction said) {
        return CoordinateRequest.newBuilder().setNextAction(said).build();
    }

    /**
     * An action other than {@link Suspend}, as it goes out; {@code offered} writes its request with the tools that the coordination offers.
     */
    static NextAction nextAction(String decisionId, Action action, Function<Request, ExecutionRequest> offered) {
        NextAction.Builder raw = NextAction.newBuilder().setDecisionId(decisionId);
        if (action instanceof Continue turn) {
            var said = turn.rawBesideInput();
            if (turn.input() instanceof Results results) {
                said.setToolResults(results.toRaw());
            } else {
                said.setRequest(offered.apply((Request) turn.input()));
            }
            return raw.setTurn(said).build();
        }
        if (action instanceof Fail fail) {
            return raw.setFail(fail.toRaw()).build();
        }
        if (action instanceof Stop) {
            return raw.setStop(StopAction.getDefaultInstance()).build();
        }
        throw new IllegalArgumentException(
                action == null ? "the callback returned null in place of an action" : action + " cannot be said here");
    }
}
