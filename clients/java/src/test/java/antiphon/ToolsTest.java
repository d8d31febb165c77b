package antiphon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.testing.Server;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tools as methods and lambdas, the hooks around their calls, answers that come later, and a model of one's own. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class ToolsTest {
    private static Server server;
    private static Client client;

    /** Where it is asked about. */
    record Place(@Description("The name of a city") String city, Optional<Unit> unit) {}

    /** In what it is told. */
    enum Unit {
        CELSIUS,
        FAHRENHEIT
    }

    /** What every kind of component becomes. */
    record Everything(
            String text,
            int whole,
            BigInteger large,
            double broken,
            boolean flag,
            List<Place> places,
            Map<String, Long> counts,
            Optional<LocalDate> day,
            Object any) {}

    private final Tool weather = Tool.of("weather", "", Place.class, ToolsTest::weatherIn);
    private final Tool tide = Tool.of("tide", "", Place.class, place -> "high");

    @BeforeAll
    static void begin() {
        server = Server.start(new Server.Config().config(Fixture.CONFIG));
        client = Client.connect(server.address());
    }

    @AfterAll
    static void end() {
        client.close();
        server.close();
    }

    static String weatherIn(Place place) {
        return "fine in " + place.city();
    }

    @Test
    void aSchemaComesFromARecord() {
        String expected = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"description\":\"The name of a city\"},"
                + "\"unit\":{\"type\":\"string\",\"enum\":[\"CELSIUS\",\"FAHRENHEIT\"]}},"
                + "\"required\":[\"city\"],\"additionalProperties\":false}";
        assertEquals(expected, weather.schemaJson());
        Map<String, Object> all = Json.parseObject(Tool.of("all", "", Everything.class, given -> "").schemaJson());
        assertEquals(
                "[\"text\",\"whole\",\"large\",\"broken\",\"flag\",\"places\",\"counts\",\"any\"]", Json.write(all.get("required")));
        record Broken(Thread thread) {}
        assertThrows(IllegalArgumentException.class, () -> Tool.of("broken", "", Broken.class, given -> ""));
        record Endless(List<Endless> more) {}
        assertThrows(IllegalArgumentException.class, () -> Tool.of("endless", "", Endless.class, given -> ""));
        assertThrows(IllegalArgumentException.class, () -> Tool.of("", "", Map.of(), given -> ""));
    }

    @Test
    void argumentsFitOrTheModelIsTold() throws Exception {
        Tool all = Tool.of("all", "", Everything.class, given -> given);
        String fits = "{\"text\":\"a\",\"whole\":1,\"large\":12345678901234567890123,\"broken\":1.5,\"flag\":true,"
                + "\"places\":[{\"city\":\"Lisbon\",\"unit\":\"CELSIUS\"}],\"counts\":{\"b\":9007199254740993},"
                + "\"day\":\"2024-02-29\",\"any\":{\"c\":[1,null]}}";
        assertEquals(fits, all.call(fits));
        Map<String, String> wrong = Map.of(
                "{}", "city is missing",
                "{\"city\": 1}", "city is no String",
                "{\"city\": \"a\", \"country\": \"b\"}", "there is no country",
                "{\"city\": \"a\", \"unit\": \"kelvin\"}", "unit is no Unit",
                "{\"city\": null}", "city is no String",
                "[]", "it is no JSON object");
        for (Map.Entry<String, String> one : wrong.entrySet()) {
            Exception told = assertThrows(IllegalArgumentException.class, () -> weather.call(one.getKey()));
            assertEquals("the arguments of weather do not fit: " + one.getValue(), told.getMessage());
        }
        for (String unfit : List.of("1.5", "4294967296", "\"1\"")) {
            String said = fits.replace("\"whole\":1,", "\"whole\":" + unfit + ",");
            assertTrue(assertThrows(IllegalArgumentException.class, () -> all.call(said)).getMessage().endsWith("whole is no int"));
        }
    }

    /** S0-27, S0-28: tools run where that is asked for, and the hooks see each call with its result. */
    @Test
    void hooksSeeEachCallWithItsResult() {
        Exchange single = client.prompt(Request.of("the forecast").tools(weather, tide));
        assertEquals(List.of("weather", "tide"), single.toolCalls().stream().map(ToolCall::name).toList());
        Map<String, ToolResult> seen = Collections.synchronizedMap(new HashMap<>());
        Options hooks = new Options()
                .beforeCall(call -> {
                    if (call.name().equals("tide")) {
                        throw new IllegalStateException("not today");
                    }
                })
                .afterCall((call, result) -> seen.put(call.name(), result));
        assertEquals("Done.", client.chain("the forecast", List.of(weather, tide), hooks).text());
        assertEquals("fine in Lisbon", seen.get("weather").text());
        assertFalse(seen.get("weather").isError());
        assertEquals("IllegalStateException: not today", seen.get("tide").text());
        assertTrue(seen.get("tide").isError());
    }

    @Test
    void theCallsOfOneAnswerRunAtOnce() {
        CountDownLatch both = new CountDownLatch(2);
        Tool.Function<Map<String, Object>> meets = given -> {
            both.countDown();
            both.await();
            return "met";
        };
        List<Tool> tools = List.of(Tool.of("weather", "", Map.of(), meets), Tool.of("tide", "", Map.of(), meets));
        assertEquals("Done.", client.chain("the forecast", tools).text());
    }

    @Test
    void aHookThatFailsAfterwardsComesBackAsItselfAndCancels() {
        String id = Words.fresh();
        IllegalStateException raised = new IllegalStateException("no more");
        Options hooks = new Options().coordinationId(id).afterCall((call, result) -> {
            throw raised;
        });
        assertSame(raised, assertThrows(
                IllegalStateException.class, () -> client.chain("the forecast", List.of(weather, tide), hooks)));
        assertEquals("cancelled", client.coordination(id).state());
    }

    @Test
    void integersOfTheModelKeepTheirDigitsOnTheWayToAFunction() {
        Tool raw = Tool.of("weather", "", Map.of("type", "object"), given -> given);
        assertEquals("{\"city\":12345678901234567890123}", client.chain("big", List.of(raw)).text());
        record Large(BigInteger city) {}
        Tool bound = Tool.of("weather", "", Large.class, given -> given.city().add(BigInteger.ONE));
        assertEquals("12345678901234567890124", client.chain("big", List.of(bound)).text());
    }

    /** S3-27: a person's answer is given by id, and the chain goes on elsewhere. */
    @Test
    void aPersonsAnswerIsGivenById() {
        String id = Words.fresh();
        Tool asks = Tool.of("weather", "", Place.class, place -> {
            throw new Pause();
        });
        List<Tool> tools = List.of(asks.thatRequiresHuman(), tide);
        Pause paused = assertThrows(
                Pause.class, () -> client.chain("the forecast", tools, new Options().coordinationId(id)));
        assertEquals(id, paused.coordinationId());
        assertEquals(List.of("weather"), paused.calls().stream().map(ToolCall::name).toList());
        client.answer(id, new Results(paused.calls().stream().map(call -> new ToolResult(call.callId(), "sunny")).toList()));
        try (Client other = Client.connect(server.address())) {
            assertEquals("Done.", other.resume(id, List.of()).text());
        }
        assertThrows(IllegalArgumentException.class, () -> client.answer(id, new Suspend()));
    }

    @Test
    void aModelOfOnesOwnIsAskedAgainWhereItsErrorSaysThatThisHelps() {
        Request ours = Request.of("zero").profileId("ours");
        List<String> asked = new ArrayList<>();
        Generate busy = generation -> {
            asked.add(generation.kind());
            if (asked.size() == 1) {
                throw new AntiphonException(Code.UNAVAILABLE, "busy");
            }
            return Generated.of("made here").usage(Usage.of(3, 2));
        };
        Exchange answer = client.chain(ours, List.of(), new Options().generate(busy));
        assertEquals("made here", answer.text());
        assertEquals(2, answer.usage().outputTokens().orElseThrow());
        assertEquals(List.of("first", "retry"), asked);

        String id = Words.fresh();
        IllegalStateException raised = new IllegalStateException("a secret");
        Options fails = new Options().coordinationId(id).generate(generation -> {
            throw raised;
        });
        assertSame(raised, assertThrows(IllegalStateException.class, () -> client.chain(ours, List.of(), fails)));
        assertFalse(client.coordination(id).raw().toString().contains("a secret"));
        Fixture.refused(Code.INVALID_ARGUMENT, "PROVIDER_REFUSED_REQUEST", () -> client.chain(ours, List.of()));
    }

    @Test
    void jsonKeepsItsDigitsAndIsCheckedAsJson() {
        String text = "{\"a\":9007199254740993,\"b\":[-123456789012345678901,1.50,1E+400,true,null],\"c\":\"\\\" 1 \\n \\ud83d\\udf00\"}";
        Map<String, Object> read = Json.parseObject(text);
        assertEquals(new BigInteger("9007199254740993"), read.get("a"));
        assertEquals(text.replace("\\ud83d\\udf00", "\ud83d\udf00"), Json.write(read));
        for (String wrong : List.of("", "01", "1.", "1e", "{\"a\":", "[1,]", "--1", "nul", "\"\t\"", "\"\\x\"", "1 2", "{a:1}", "1e9999999")) {
            assertThrows(IllegalArgumentException.class, () -> Json.parse(wrong), wrong);
        }
        assertThrows(IllegalArgumentException.class, () -> Json.parse("[".repeat(100_000)));
        assertThrows(IllegalArgumentException.class, () -> Json.write(new Object()));
        assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN));
        assertEquals("[1,\"a\",null,\"CELSIUS\"]", Json.write(new Object[] {1, "a", Optional.empty(), Unit.CELSIUS}));
    }
}
