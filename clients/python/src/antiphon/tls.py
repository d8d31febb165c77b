"""How a connection is secured. Knows nothing of what goes over it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import grpc


@dataclass(frozen=True)
class TLS:
    """How the connection is secured: with the system's authorities, unless `ca` names a file of others. With a certificate and its key
    the client shows who it is. `server_name` is what the server's certificate must say, where that is not the address."""

    ca: str | Path | None = None
    certificate: str | Path | None = None
    key: str | Path | None = None
    server_name: str = ""

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files."""
        read = [None if path is None else Path(path).read_bytes() for path in (self.ca, self.key, self.certificate)]
        return grpc.ssl_channel_credentials(*read)
