"""The client for asyncio; `_sync` is made from it by rule."""
