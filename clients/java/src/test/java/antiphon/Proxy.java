package antiphon;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say. */
final class Proxy implements AutoCloseable {
    private final ServerSocket listener;
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    // How many bytes of the client may still pass before it is cut.
    private final AtomicLong left = new AtomicLong(Long.MAX_VALUE);
    private volatile String target;

    /** Listens on a port of its own and connects to {@code target}, host and port, for each connection that comes. */
    Proxy(String target) {
        this.target = target;
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
        begin(this::accept);
    }

    String address() {
        return "127.0.0.1:" + listener.getLocalPort();
    }

    void target(String address) {
        target = address;
    }

    /** Resets every connection that is open. */
    void cut() {
        open.forEach(Proxy::reset);
        open.clear();
    }

    /** Resets every connection that is open, once the client has said so many bytes more. */
    void cutAfter(long bytes) {
        left.set(bytes);
    }

    /** Lets nobody in any more. */
    @Override
    public void close() {
        stop();
    }

    /** Lets nobody in any more, and cuts what is open. */
    void stop() {
        try {
            listener.close();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
        cut();
    }

    private void accept() {
        while (!listener.isClosed()) {
            Socket near;
            try {
                near = listener.accept();
            } catch (IOException closed) {
                return;
            }
            try {
                String[] address = target.split(":");
                Socket far = new Socket(address[0], Integer.parseInt(address[1]));
                open.add(near);
                open.add(far);
                begin(() -> pass(near, far, left));
                begin(() -> pass(far, near, new AtomicLong(Long.MAX_VALUE)));
            } catch (IOException refused) {
                reset(near);
            }
        }
    }

    private void pass(Socket from, Socket to, AtomicLong left) {
        byte[] bytes = new byte[8192];
        try {
            for (int count = from.getInputStream().read(bytes); count >= 0; count = from.getInputStream().read(bytes)) {
                long before = left.getAndAdd(-count);
                if (before > 0 && before <= count) {
                    left.set(Long.MAX_VALUE);
                    cut();
                }
                to.getOutputStream().write(bytes, 0, count);
            }
            to.shutdownOutput();
        } catch (IOException cut) {
            reset(from);
            reset(to);
        }
    }

    private static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
            socket.close();
        } catch (IOException gone) {
            // It is as closed as can be.
            return;
        }
    }

    private static void begin(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
