# Made from ../_async by `generate`; not to be edited.
"""The connection, and calls that are repeated where that is safe and helps. Knows nothing of what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Protocol, TypeVar

import grpc

from antiphon._sync.callbacks import Memory
from antiphon._sync.transport import Channel, Method, connect, sleep
from antiphon.error import from_rpc
from antiphon.gen.antiphon.v1.catalog_service_pb2_grpc import CatalogServiceStub
from antiphon.gen.antiphon.v1.coordination_service_pb2_grpc import CoordinationServiceStub
from antiphon.gen.antiphon.v1.exchange_service_pb2_grpc import ExchangeServiceStub
from antiphon.gen.antiphon.v1.graph_service_pb2_grpc import GraphServiceStub
from antiphon.gen.antiphon.v1.run_service_pb2_grpc import RunServiceStub
from antiphon.gen.antiphon.v1.thread_service_pb2_grpc import ThreadServiceStub
from antiphon.gen.antiphon.v1.tool_service_pb2_grpc import ToolServiceStub
from antiphon.retry import Repeatable, Tries
from antiphon.tls import TLS

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Own = TypeVar("Own", bound="Calls")


class Page(Protocol):
    """One page of a list."""

    next_page_token: str


class Paged(Protocol):
    """What asks for a page."""

    page_token: str


SomePage = TypeVar("SomePage", bound=Page)
SomePaged = TypeVar("SomePaged", bound=Paged)

PROVIDER_CREDENTIAL = "antiphon-provider-credential"
OPTIONS: list[tuple[str, Any]] = [
    # One exchange may be larger than gRPC's 4 MiB; the server has limits of its own.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A server that restarts is found again within two seconds, not two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
]


class Calls:
    """A connection to one server."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        tls: TLS | bool | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        provider_credential: str | None = None,
        attach_for: float = 60.0,
        keepalive: float | None = 60.0,
    ) -> None:
        """`address` is host and port, or `http://` or `https://` before it. `https://`, `tls` or gRPC's own `credentials` secure the
        connection. `token` is the caller's key; `provider_credential` is used instead of the server's own for its provider. A broken
        coordination stream is attached again for `attach_for` seconds before that is an error. A connection that says nothing for
        `keepalive` seconds is asked whether it still is there; None never asks."""
        if address.startswith("https://") and tls is None:
            tls = True
        options = list(OPTIONS)
        if keepalive is not None:
            # A callback may take days, and a connection that died meanwhile says nothing.
            options.append(("grpc.keepalive_time_ms", round(keepalive * 1000)))
            options.append(("grpc.keepalive_timeout_ms", 20_000))
            options.append(("grpc.http2.max_pings_without_data", 0))
        if tls and credentials is None:
            chosen = tls if isinstance(tls, TLS) else TLS()
            credentials = chosen.credentials()
            if chosen.server_name:
                options.append(("grpc.ssl_target_name_override", chosen.server_name))
        target = address.removeprefix("http://").removeprefix("https://").rstrip("/")
        self._channel = connect(target, credentials, options)
        metadata: list[tuple[str, str]] = []
        if token is not None:
            metadata.append(("authorization", f"Bearer {token}"))
        if provider_credential is not None:
            metadata.append((PROVIDER_CREDENTIAL, provider_credential))
        self._metadata = tuple(metadata)
        self._attach_for = attach_for
        self._memories: dict[str, Memory] = {}
        self._exchanges = ExchangeServiceStub(self._channel)
        self._coordinations = CoordinationServiceStub(self._channel)
        self._threads = ThreadServiceStub(self._channel)
        self._runs = RunServiceStub(self._channel)
        self._graph = GraphServiceStub(self._channel)
        self._tools = ToolServiceStub(self._channel)
        self._catalog = CatalogServiceStub(self._channel)

    @property
    def raw(self) -> Channel:
        """The channel, for the stubs in `antiphon.gen`."""
        return self._channel

    def with_provider_credential(self: Own, credential: str) -> Own:
        """The same client for calls whose provider gets this credential in place of the server's own. It shares the connection: closing one
        closes both."""
        other = copy(self)
        kept = [pair for pair in self._metadata if pair[0] != PROVIDER_CREDENTIAL]
        other._metadata = (*kept, (PROVIDER_CREDENTIAL, credential))
        return other

    def close(self) -> None:
        """Closes the connection."""
        self._channel.close()

    def _call(
        self,
        method: Method[Asked, Answer],
        raw: Asked,
        timeout: float | None,
        run: Repeatable | None = None,
    ) -> Answer:
        """Makes a call that is safe to repeat, since it changes nothing or what it does has a name, and repeats it where that helps.

        `run` is the part of the request that names a run. A run that failed, or that the server cancelled because the connection broke, is
        on record under its id and would give the same error again, so it is tried again under that id.
        """
        tries = Tries(timeout, run)
        while True:
            try:
                return method(raw, timeout=tries.left(), metadata=self._metadata)
            except grpc.RpcError as failed:
                pause = tries.pause(from_rpc(failed))
            sleep(pause)

    def _pages(
        self, method: Method[SomePaged, SomePage], raw: SomePaged, timeout: float | None = None
    ) -> Iterator[SomePage]:
        """Every page of a list, each within `timeout`."""
        while True:
            page = self._call(method, raw, timeout)
            yield page
            if not page.next_page_token:
                return
            raw.page_token = page.next_page_token
