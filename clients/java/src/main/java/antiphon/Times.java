package antiphon;

import com.google.protobuf.Timestamp;
import java.time.Instant;

/** Points in time, as they come and as they go out. */
final class Times {
    private Times() {}

    static Timestamp raw(Instant time) {
        return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
    }

    static Instant of(Timestamp raw) {
        return Instant.ofEpochSecond(raw.getSeconds(), raw.getNanos());
    }
}
