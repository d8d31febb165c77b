package antiphon;

import static org.junit.jupiter.api.Assertions.assertTrue;

import antiphon.testing.Server;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Plays the scenarios of all clients; the README beside them says what the words mean. */
class ScenariosTest {
    private static final Path SCENARIOS = Path.of(System.getProperty("antiphon.scenarios", "../scenarios"));

    static Stream<String> names() throws IOException {
        try (Stream<Path> files = Files.list(SCENARIOS)) {
            List<String> all = files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".yaml"))
                    .map(name -> name.substring(0, name.length() - ".yaml".length()))
                    .sorted()
                    .toList();
            return all.stream();
        }
    }

    @Test
    void thereAreScenarios() throws IOException {
        List<String> all = names().toList();
        assertTrue(all.size() >= 25, () -> "only " + all);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("names")
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void goesAsItIsWritten(String name) throws IOException {
        Map<String, Object> scenario = Plain.mapping(read(name));
        String rules = (String) scenario.getOrDefault("rules", "");
        String usual = Files.readString(SCENARIOS.resolve("default.toml")).replace("\n# rules\n", "\n" + rules + "\n");
        Server.Config config = new Server.Config().config((String) scenario.getOrDefault("config", usual));
        if (scenario.containsKey("files")) {
            config = config.files(Plain.texts(scenario.get("files")));
        }
        // A connection that is open holds up the end of its server, so it is closed first.
        try (Server server = Server.start(config);
                Client client = Client.connect(server.address())) {
            Player player = new Player(client, scenario);
            List<?> steps = (List<?>) scenario.get("steps");
            for (int index = 0; index < steps.size(); index++) {
                player.step(Plain.mapping(steps.get(index)), name + ", step " + (index + 1));
            }
        }
    }

    private static Object read(String name) throws IOException {
        String text = Files.readString(SCENARIOS.resolve(name + ".yaml"));
        return new Load(LoadSettings.builder().setLabel(name).build()).loadFromString(text);
    }
}
