package antiphon;

import java.time.Duration;
import java.util.Optional;

/**
 * How a client connects. Each method gives another one that says more.
 *
 * @param token the caller's key
 * @param tls secures the connection; so does an address with {@code https://}
 * @param providerCredential used by the server for its provider, instead of its own
 * @param attachFor for how long a broken coordination stream is attached again before that is an error
 * @param keepalive a connection that says nothing for so long is asked whether it still is there; empty never asks
 */
public record ClientOptions(
        Optional<String> token,
        Optional<Tls> tls,
        Optional<String> providerCredential,
        Duration attachFor,
        Optional<Duration> keepalive) {
    /** Without a key, attaching for a minute, asking after a minute of silence. */
    public ClientOptions() {
        this(Optional.empty(), Optional.empty(), Optional.empty(), Duration.ofMinutes(1), Optional.of(Duration.ofMinutes(1)));
    }

    /** The caller's key. */
    public ClientOptions token(String token) {
        return new ClientOptions(Optional.of(token), tls, providerCredential, attachFor, keepalive);
    }

    /** Secures the connection. */
    public ClientOptions tls(Tls tls) {
        return new ClientOptions(token, Optional.of(tls), providerCredential, attachFor, keepalive);
    }

    /** A key that the server uses for its provider, instead of its own. */
    public ClientOptions providerCredential(String credential) {
        return new ClientOptions(token, tls, Optional.of(credential), attachFor, keepalive);
    }

    /** For how long a broken coordination stream is attached again before that is an error. */
    public ClientOptions attachFor(Duration wait) {
        return new ClientOptions(token, tls, providerCredential, wait, keepalive);
    }

    /** After how much silence the connection is asked whether it still is there; ten seconds at least. */
    public ClientOptions keepalive(Duration silence) {
        return new ClientOptions(token, tls, providerCredential, attachFor, Optional.of(silence));
    }

    /** Never asks. */
    public ClientOptions withoutKeepalive() {
        return new ClientOptions(token, tls, providerCredential, attachFor, Optional.empty());
    }

    /** All of it but the keys, of which it only says that there are some: what is written to a log stays there. */
    @Override
    public String toString() {
        return "ClientOptions[token=" + hidden(token) + ", tls=" + tls + ", providerCredential=" + hidden(providerCredential)
                + ", attachFor=" + attachFor + ", keepalive=" + keepalive + "]";
    }

    private static String hidden(Optional<String> key) {
        return key.isPresent() ? "(hidden)" : "(none)";
    }
}
