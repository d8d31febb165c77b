# Made from ../_async by `generate`; not to be edited.
"""The client for asyncio; `_sync` is made from it by rule."""
