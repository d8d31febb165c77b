"""How a connection is made: addresses, TLS, keys, the environment. The peer is a small server here, since only its ear matters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from antiphon.gen.antiphon.v1 import run_pb2, run_service_pb2
from antiphon.gen.antiphon.v1.run_service_pb2_grpc import RunServiceServicer, add_RunServiceServicer_to_server
from antiphon.testing import Server
from conftest import Connect

from antiphon import TLS, AsyncClient, AsyncConversation, AsyncResponse, Client, Conversation, Error, Response

KEYS = Path(__file__).parent / "tls"
CERTIFICATE, KEY = KEYS / "certificate.pem", KEYS / "key.pem"


class Ear(RunServiceServicer):
    """Tells what it was called with."""

    def __init__(self) -> None:
        self.heard: list[dict[str, str]] = []
        self.fail: list[grpc.StatusCode] = []

    def Get(self, request: run_service_pb2.RunServiceGetRequest, context: Any) -> run_service_pb2.RunServiceGetResponse:
        self.heard.append({str(key): str(value) for key, value in context.invocation_metadata()})
        if self.fail:
            context.abort(self.fail.pop(0), "not now")
        return run_service_pb2.RunServiceGetResponse(run=run_pb2.Run(run_id=request.run_id, state=run_pb2.RunState.ValueType(99)))

    def List(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    def Cancel(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    def Watch(self, request: Any, context: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def secured(ear: Ear) -> Iterator[str]:
    """Shows a certificate for `antiphon.test` and wants one of the same authority."""
    server = grpc.server(ThreadPoolExecutor(2))
    add_RunServiceServicer_to_server(ear, server)
    pair = (KEY.read_bytes(), CERTIFICATE.read_bytes())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair], CERTIFICATE.read_bytes(), True))
    server.start()
    yield f"https://127.0.0.1:{port}"
    server.stop(None)


async def test_both_sides_show_who_they_are(connect: Connect, ear: Ear, secured: str) -> None:
    tls = TLS(ca=CERTIFICATE, certificate=CERTIFICATE, key=KEY, server_name="antiphon.test")
    client = connect(secured, token="key-1", provider_credential="sk-1", tls=tls, keepalive=5)
    assert (await client.run("r")).state == "unknown_99", "a word of a newer server"
    assert ear.heard[0]["authorization"] == "Bearer key-1"
    assert ear.heard[0]["antiphon-provider-credential"] == "sk-1"
    await client.with_provider_credential("sk-2").run("r")
    await client.run("r")
    assert [heard["antiphon-provider-credential"] for heard in ear.heard[1:]] == ["sk-2", "sk-1"]
    assert ear.heard[1]["authorization"] == "Bearer key-1"


async def test_a_server_that_nobody_vouches_for_is_not_talked_to(connect: Connect, ear: Ear, secured: str) -> None:
    stranger = connect(secured, token="key-1", keepalive=None)
    with pytest.raises(Error) as caught:
        await stranger.run("r")
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE and ear.heard == []


async def test_a_call_is_made_again_where_that_helps_and_only_there(connect: Connect, ear: Ear) -> None:
    server = grpc.server(ThreadPoolExecutor(2))
    add_RunServiceServicer_to_server(ear, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    client = connect(f"http://127.0.0.1:{port}/")
    ear.fail = [grpc.StatusCode.UNAVAILABLE] * 2
    assert (await client.run("r")).run_id == "r" and len(ear.heard) == 3
    ear.fail = [grpc.StatusCode.RESOURCE_EXHAUSTED]
    with pytest.raises(Error) as caught:
        await client.run("r")
    assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED and len(ear.heard) == 4
    server.stop(None)


@pytest.mark.parametrize(
    ("blocking", "other"), [(Client, AsyncClient), (Conversation, AsyncConversation), (Response, AsyncResponse)]
)
def test_both_kinds_have_the_same_methods_with_the_same_arguments(blocking: type, other: type) -> None:
    """S0-41."""

    def methods(kind: type) -> dict[str, list[tuple[str, object]]]:
        found = inspect.getmembers(kind, inspect.isfunction)
        public = [(name, function) for name, function in found if not name.startswith("_") or name == "__init__"]
        return {
            name: [(one.name, one.default) for one in inspect.signature(function).parameters.values()] for name, function in public
        }

    assert methods(blocking) == methods(other) and methods(blocking)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
async def test_the_environment_is_read_only_when_asked(
    kind: type[Client] | type[AsyncClient], server: Server, ear: Ear, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTIPHON_SERVER", f"http://{server.address}")
    client = kind.from_env()
    if isinstance(client, Client):
        with client:
            assert client.capture("hello").text == "hello"
    else:
        async with client:
            assert (await client.capture("hello")).text == "hello"
