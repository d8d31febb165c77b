"""A connection that can be cut: passes bytes between a client and a server, until told otherwise. Knows nothing of what they say."""

from __future__ import annotations

import socket
import struct
import threading


class Proxy:
    """Listens on a port of its own and connects to `target`, host and port, for each connection that comes."""

    def __init__(self, target: str) -> None:
        self.target = target
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Resets every connection that is open."""
        with self._lock:
            for end in self._open:
                # Lingering for no time makes a reset of the close. The shutdown wakes who reads.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue
            self._open.clear()

    def close(self) -> None:
        """Lets nobody in any more."""
        # The shutdown wakes who accepts; a close alone would let one more in.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            host, port = self.target.rsplit(":", 1)
            try:
                far = socket.create_connection((host, int(port)))
            except OSError:
                near.close()
                continue
            with self._lock:
                self._open |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while chunk := source.recv(65536):
                sink.sendall(chunk)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                with self._lock:
                    self._open.discard(end)
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            source.close()
