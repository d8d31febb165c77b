"""A real server for tests: starts the binary and tells its address. Knows nothing of the client."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

ECHO = """
default_profile = "canned"

[profiles.canned]
backend = "script"
model = "canned-1"

[backends.script]
kind = "scripted"
"""


class Server:
    """A server of its own: `with Server() as server: Client(server.address)`.

    The binary is `binary`, else what ANTIPHON_BINARY names, else `antiphon` on the PATH. `config` is the text of a configuration; without
    one, whatever is said is echoed. `files` are written beside it, by their paths. With `data` the store is kept in that folder, so that
    another server can go on with it; else it is gone with the server.
    """

    def __init__(
        self,
        binary: str | Path | None = None,
        *,
        config: str = ECHO,
        files: Mapping[str, str] | None = None,
        data: str | Path | None = None,
    ) -> None:
        found = binary or os.environ.get("ANTIPHON_BINARY") or shutil.which("antiphon")
        if not found:
            raise FileNotFoundError("no antiphon binary: name it, set ANTIPHON_BINARY, or put it on the PATH")
        self._binary = str(found)
        self._config = config
        self._files = dict(files or {})
        self._data = data
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self.address = ""
        """Host and port, once it is started."""

    def start(self) -> Server:
        """Starts it and waits until it listens."""
        self._folder = tempfile.TemporaryDirectory(prefix="antiphon-")
        folder = Path(self._folder.name)
        for name, text in {**self._files, "antiphon.toml": self._config}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        store = ["--ephemeral"] if self._data is None else ["--data", str(self._data)]
        command = [self._binary, "serve", "--config", str(folder / "antiphon.toml"), "--listen", "127.0.0.1:0", *store]
        with open(folder / "log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self._process = process
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        if not line.startswith("listening on "):
            said = self.log()
            self.kill()
            raise RuntimeError(f"the server did not start: {line}\n{said}")
        self.address = line.removeprefix("listening on ")
        return self

    def log(self) -> str:
        """What it said on standard error."""
        return (Path(self._folder.name) / "log").read_text("utf-8") if self._folder is not None else ""

    def stop(self) -> None:
        """Stops it in good order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stops it as a crash would."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
