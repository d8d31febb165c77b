package antiphon;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * How a connection is secured: with the system's authorities, unless {@code authorities} names a file of others. With a certificate and its
 * key the client shows who it is. All files are in PEM.
 *
 * @param authorities who vouches for the server
 * @param certificate the client's own
 * @param key the certificate's
 * @param serverName what the server's certificate must say, where that is not the address
 */
public record Tls(Optional<Path> authorities, Optional<Path> certificate, Optional<Path> key, Optional<String> serverName) {
    /** Secured by the system's authorities. */
    public Tls() {
        this(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
    }

    /** Secured. */
    public Tls {
        if (certificate.isPresent() != key.isPresent()) {
            throw new IllegalArgumentException("a certificate and its key go together: give both or none");
        }
    }

    /** The same with other authorities than the system's. */
    public Tls authorities(Path file) {
        return new Tls(Optional.of(file), certificate, key, serverName);
    }

    /** The same with a certificate and its key, with which the client shows who it is. */
    public Tls certificate(Path certificate, Path key) {
        return new Tls(authorities, Optional.of(certificate), Optional.of(key), serverName);
    }

    /** The same with what the server's certificate must say. */
    public Tls serverName(String name) {
        return new Tls(authorities, certificate, key, Optional.of(name));
    }

    ChannelCredentials credentials() {
        TlsChannelCredentials.Builder made = TlsChannelCredentials.newBuilder();
        try {
            if (authorities.isPresent()) {
                made.trustManager(authorities.get().toFile());
            }
            if (certificate.isPresent()) {
                made.keyManager(certificate.get().toFile(), key.orElseThrow().toFile());
            }
            return made.build();
        } catch (IOException unreadable) {
            throw new IllegalArgumentException("tls: " + unreadable.getMessage(), unreadable);
        }
    }
}
