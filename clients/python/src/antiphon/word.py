"""Numbers of enums as words. Knows nothing of what they are about."""

from __future__ import annotations

from google.protobuf.descriptor import EnumDescriptor


def word(enum: EnumDescriptor, number: int) -> str:
    """A value as its word, such as `stop`. One that a newer server has and this package does not know is `unknown_` with its number."""
    known = enum.values_by_number.get(number)
    if known is None:
        return f"unknown_{number}"
    return known.name.removeprefix(_prefix(enum)).lower()


def number(enum: EnumDescriptor, said: str) -> int:
    """The value of a word. Raises ValueError for one that is none of them, and names those that there are."""
    known = enum.values_by_name.get(_prefix(enum) + said.upper())
    if known is not None:
        return known.number
    if said.startswith("unknown_") and said.removeprefix("unknown_").isdigit():
        return int(said.removeprefix("unknown_"))
    there = ", ".join(value.name.removeprefix(_prefix(enum)).lower() for value in enum.values if value.number != 0)
    raise ValueError(f"{said!r} is none of {there}")


def _prefix(enum: EnumDescriptor) -> str:
    # Each enum has its zero as `PREFIX_UNSPECIFIED`.
    return enum.values_by_number[0].name.removesuffix("UNSPECIFIED")
