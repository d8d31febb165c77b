"""What `reply` costs beside its raw stub: both ask the same server in one run, in turns of rounds, and the ratio is printed.

    ANTIPHON_BINARY=target/release/antiphon python benches/reply.py [ROUNDS]

The server is one of its own, with answers that are there at once, so that what is measured is the client's part as far as it can be. Figures of one
run compare with one another and with nothing else.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from antiphon.gen.antiphon.v1 import exchange_service_pb2 as pb
from antiphon.gen.antiphon.v1 import execution_pb2, thread_pb2
from antiphon.gen.antiphon.v1.exchange_service_pb2_grpc import ExchangeServiceStub
from antiphon.testing import Server

from antiphon import Client

CALLS = 50
TEXT = "What is it known for?"


def measured(call: Callable[[], object]) -> float:
    """Microseconds for one call, over a round of them."""
    begun = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begun) / CALLS * 1e6


def main(rounds: int) -> None:
    with Server() as server, Client(server.address) as client:
        start = client.capture("Name a city by the sea.")
        stub = ExchangeServiceStub(client.raw)
        point = thread_pb2.ExchangePoint(exchange_id=start.exchange_id)

        def raw() -> object:
            return stub.Continue(pb.ContinueRequest(exchange=point, request=execution_pb2.ExecutionRequest(text=TEXT)))

        def reply() -> object:
            return client.reply(start, TEXT)

        for call in (raw, reply):
            measured(call)
        pairs = [(measured(raw), measured(reply)) for _ in range(rounds)]
    print(f"raw stub {median(a for a, _ in pairs):.0f} us, reply {median(b for _, b in pairs):.0f} us a call")
    print(f"reply / raw stub: {median(b / a for a, b in pairs):.2f}, the median of {rounds} rounds of {CALLS} calls each")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
