"""Steps of scenarios that change nothing and read more than one thing. Knows nothing of loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from told import Said

from antiphon import AsyncClient, Request


async def look(client: AsyncClient, verb: str, said: Said, request: Callable[[Said], Request], point: Callable[[Any], Any]) -> Any:
    """Plays one."""
    match verb:
        case "ancestors":
            return [node async for node in client.ancestors(said["of"])]
        case "children":
            return [node async for node in client.children(said["of"])]
        case "common_ancestor":
            return await client.common_ancestor(said["of"])
        case "search":
            return [hit async for hit in client.search(said.get("text", ""), labels=said.get("labels"))]
        case "diff":
            return await client.diff(said["left"], said["right"])
        case "usage":
            return await client.usage(*said.get("of", ()), labels=said.get("labels"))
        case "explain":
            if "exchange" in said:
                return await client.explain_exchange(said["exchange"])
            return await client.explain(request(said), after=point(said["after"]) if "after" in said else None)
        case "prepare":
            after = point(said["after"]) if "after" in said else None
            return await client.prepare(request(said), after=after, capture=said.get("capture", False))
        case "execute":
            return await client.execute(said["prepared"])
        case "call_tools":
            return await client.call_tools(said["of"])
        case "tool_occurrences":
            return [found async for found in client.tool_occurrences(said["name"], kind=said.get("kind"))]
        case "tool_drifts":
            return [drift async for drift in client.tool_drifts(said["of"])]
        case "prompts":
            return [prompt async for prompt in client.prompts()]
        case "profiles":
            return [profile async for profile in client.profiles()]
        case "backends":
            return [backend async for backend in client.backends()]
        case _:
            raise AssertionError(f"there is no step `{verb}`")
