"""The smallest coordination: from an exchange that is there, it asks once for more and is content then.

    ANTIPHON_SERVER=127.0.0.1:7373 python packing.py EXCHANGE_ID

The server runs the turns; `next_action` is called here after each, with the result.
"""

from __future__ import annotations

import sys

from antiphon import Action, Client, Continue, Decision, Stop


def next_action(decision: Decision) -> Action:
    """What comes next: decided by a plain function, in the program that asks."""
    turns = f"turn {decision.turns_started} of {decision.turns_started + decision.turns_remaining}"
    print(f"{turns}, exchange {decision.exchange.exchange_id}: {decision.exchange.text}", flush=True)
    return Continue("What would you pack?") if decision.starting else Stop()


def main(exchange_id: str) -> None:
    with Client.from_env() as client:
        outcome = client.coordinate(exchange_id, 2, next_action)
    print(outcome.state)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: packing.py EXCHANGE_ID")
    main(sys.argv[1])
