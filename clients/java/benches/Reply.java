import antiphon.Client;
import antiphon.Exchange;
import antiphon.gen.ContinueRequest;
import antiphon.gen.ExchangePoint;
import antiphon.gen.ExchangeServiceGrpc;
import antiphon.gen.ExecutionRequest;
import antiphon.testing.Server;
import java.util.ArrayList;
import java.util.List;

/**
 * What {@code reply} costs beside its raw stub: both ask the same server in one run, in turns of rounds, and the ratio is printed.
 *
 * <pre>ANTIPHON_BINARY=target/release/antiphon clients/java/bench [ROUNDS]</pre>
 *
 * <p>The server is one of its own, with answers that are there at once, so that what is measured is the client's part as far as it can be.
 * As many rounds go before that are not counted, since a virtual machine compiles what it runs often. Figures of one run compare with one
 * another and with nothing else.
 */
public final class Reply {
    private static final int CALLS = 50;
    private static final String TEXT = "What is it known for?";

    private Reply() {}

    /** Microseconds for one call, over a round of them. */
    private static double measured(Runnable call) {
        long begun = System.nanoTime();
        for (int made = 0; made < CALLS; made++) {
            call.run();
        }
        return (System.nanoTime() - begun) / 1000.0 / CALLS;
    }

    private static double median(List<Double> figures) {
        return figures.stream().sorted().toList().get(figures.size() / 2);
    }

    /** Measures so many rounds, 100 unless told otherwise. */
    public static void main(String[] arguments) {
        int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100;
        try (Server server = Server.start();
                Client client = Client.connect(server.address())) {
            Exchange start = client.capture("Name a city by the sea.");
            ExchangeServiceGrpc.ExchangeServiceBlockingStub stub = ExchangeServiceGrpc.newBlockingStub(client.raw());
            ExchangePoint point = ExchangePoint.newBuilder().setExchangeId(start.exchangeId()).build();
            Runnable raw = () -> stub.continue_(ContinueRequest.newBuilder()
                    .setExchange(point)
                    .setRequest(ExecutionRequest.newBuilder().setText(TEXT))
                    .build());
            Runnable reply = () -> client.reply(start, TEXT);
            List<Double> plain = new ArrayList<>();
            List<Double> ours = new ArrayList<>();
            List<Double> ratios = new ArrayList<>();
            for (int round = -rounds; round < rounds; round++) {
                double one = measured(raw);
                double other = measured(reply);
                if (round >= 0) {
                    plain.add(one);
                    ours.add(other);
                    ratios.add(other / one);
                }
            }
            System.out.printf("raw stub %.0f us, reply %.0f us a call%n", median(plain), median(ours));
            System.out.printf(
                    "reply / raw stub: %.2f, the median of %d rounds of %d calls each%n", median(ratios), rounds, CALLS);
        }
    }
}
