"""What was consumed, and how much may be spent. Knows nothing of by what."""

from __future__ import annotations

import re
from dataclasses import dataclass

from antiphon.gen.antiphon.v1 import usage_pb2
from antiphon.word import word

COUNTERS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_input_tokens",
    "cache_written_tokens",
    "reasoning_tokens",
)


@dataclass(frozen=True)
class Usage:
    """Tokens of one model call with its retries and repairs, or of a run; what the provider did not say is None, which is not zero."""

    input_tokens: int | None = None
    """All that were read, cached ones included."""
    output_tokens: int | None = None
    """All that were written, reasoning included."""
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_written_tokens: int | None = None
    reasoning_tokens: int | None = None
    completeness: str = "unknown"
    """`complete`, `partial` where the figures are a lower bound, or `unknown`."""
    reported: bool = False
    """The caller's word; the server did not see the call."""

    @classmethod
    def of(cls, raw: usage_pb2.Usage) -> Usage:
        """Reads what the server says."""
        known: dict[str, int | None] = {field.name: value for field, value in raw.ListFields() if field.name in COUNTERS}
        counters = (known.get(name) for name in COUNTERS)
        return cls(*counters, completeness=word(usage_pb2.UsageCompleteness.DESCRIPTOR, raw.completeness), reported=raw.reported)

    def to_raw(self) -> usage_pb2.Usage:
        """As it goes out, with a call that the caller made."""
        known = {name: getattr(self, name) for name in COUNTERS if getattr(self, name) is not None}
        return usage_pb2.Usage(**known)


@dataclass(frozen=True)
class Spent:
    """What calls to models consumed that the server made, as far as providers said so."""

    tokens: int
    """Read and written."""
    costs: dict[str, str]
    """What they may have cost, by currency, as decimal numbers in text; empty without prices."""

    @classmethod
    def of(cls, raw: usage_pb2.Spent) -> Spent:
        """Reads what the server says."""
        return cls(raw.tokens, {cost.currency: cost.amount for cost in raw.costs})


def spend_limit_of(tokens: int | None, cost: str | None) -> usage_pb2.SpendLimit | None:
    """How much may be spent; None without a limit. Raises ValueError for a text that is no cost."""
    if tokens is None and cost is None:
        return None
    raw = usage_pb2.SpendLimit(tokens=tokens)
    if cost is not None:
        amount, _, currency = cost.partition(" ")
        number = re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", amount)
        if number is None or not amount.strip("0.") or not re.fullmatch(r"[A-Z]{3}", currency):
            raise ValueError(f"cost_limit: {cost!r} is not an amount over 0 with its currency, such as '2.50 USD'")
        raw.cost.CopyFrom(usage_pb2.CostAmount(currency=currency, amount=amount))
    return raw
