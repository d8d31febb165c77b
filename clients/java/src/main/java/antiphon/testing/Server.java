package antiphon.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A server of its own, from the real program: starts it and tells its address. Close clients before it, since an open connection holds up
 * its end. It knows nothing of the client.
 */
public final class Server implements AutoCloseable {
    private static final String LISTENING = "listening on ";
    private static final String ECHO =
            """
            default_profile = "canned"

            [profiles.canned]
            backend = "script"
            model = "canned-1"

            [backends.script]
            kind = "scripted"
            """;

    private final Path folder;
    private Process process;
    private String address = "";

    /**
     * What server it is. Each method gives another one that says more.
     *
     * @param binary the program; else what ANTIPHON_BINARY names, else {@code antiphon} on the PATH
     * @param config the text of a configuration; without one, whatever is said is echoed
     * @param files written beside it, by their paths
     * @param data where the store is kept, so that another server can go on with it; else it is gone with the server
     */
    public record Config(Optional<Path> binary, Optional<String> config, Map<String, String> files, Optional<Path> data) {
        /** One that echoes. */
        public Config() {
            this(Optional.empty(), Optional.empty(), Map.of(), Optional.empty());
        }

        /** The program. */
        public Config binary(Path binary) {
            return new Config(Optional.of(binary), config, files, data);
        }

        /** The text of a configuration. */
        public Config config(String text) {
            return new Config(binary, Optional.of(text), files, data);
        }

        /** Files beside the configuration, by their paths. */
        public Config files(Map<String, String> texts) {
            return new Config(binary, config, texts, data);
        }

        /** Where the store is kept. */
        public Config data(Path folder) {
            return new Config(binary, config, files, Optional.of(folder));
        }
    }

    private Server(Path folder) {
        this.folder = folder;
    }

    /** Starts a server that echoes, and waits until it listens. */
    public static Server start() {
        return start(new Config());
    }

    /** Starts a server, and waits until it listens. Throws an {@link UncheckedIOException} with what it says when it does not. */
    public static Server start(Config config) {
        try {
            Server server = new Server(Files.createTempDirectory("antiphon-"));
            try {
                server.begin(config);
                return server;
            } catch (IOException failed) {
                String log = server.log();
                server.kill();
                throw new IOException("the server did not start: " + failed.getMessage() + "\n" + log, failed);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private void begin(Config config) throws IOException {
        Map<String, String> texts = new LinkedHashMap<>(config.files());
        texts.put("antiphon.toml", config.config().orElse(ECHO));
        for (Map.Entry<String, String> text : texts.entrySet()) {
            Path file = folder.resolve(text.getKey());
            Files.createDirectories(file.getParent());
            Files.writeString(file, text.getValue());
        }
        String named = System.getenv().getOrDefault("ANTIPHON_BINARY", "");
        String binary = config.binary().map(Path::toString).orElse(named.isEmpty() ? "antiphon" : named);
        List<String> command = new ArrayList<>(List.of(binary, "serve", "--listen", "127.0.0.1:0", "--config"));
        command.add(folder.resolve("antiphon.toml").toString());
        command.addAll(config.data().map(data -> List.of("--data", data.toString())).orElse(List.of("--ephemeral")));
        process = new ProcessBuilder(command).redirectError(folder.resolve("log").toFile()).start();
        // It says one line, then nothing more.
        BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        String line = lines.readLine();
        if (line == null || !line.startsWith(LISTENING)) {
            throw new IOException(line == null ? "it ended" : line);
        }
        address = line.substring(LISTENING.length()).trim();
    }

    /** Host and port. */
    public String address() {
        return address;
    }

    /** What it said on standard error. */
    public String log() {
        try {
            Path log = folder.resolve("log");
            return Files.exists(log) ? Files.readString(log) : "";
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Stops it in good order. */
    public void stop() {
        if (process != null) {
            process.destroy();
        }
        end();
    }

    /** Stops it as a crash would. */
    public void kill() {
        if (process != null) {
            process.destroyForcibly();
        }
        end();
    }

    /** Stops it in good order. */
    @Override
    public void close() {
        stop();
    }

    private void end() {
        boolean interrupted = false;
        while (process != null) {
            try {
                process.waitFor();
                process = null;
            } catch (InterruptedException again) {
                // A test that gives up must not leave a server behind.
                process.destroyForcibly();
                interrupted = true;
            }
        }
        remove();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void remove() {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
