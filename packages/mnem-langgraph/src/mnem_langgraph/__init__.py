"""LangGraph's long-term memory under version control: :class:`MnemosyneStore`.

>>> from mnem_langgraph import MnemosyneStore
>>> with MnemosyneStore(":memory:") as memories:
...     value = {"tier": "enterprise", "_meta": {"source": "ticket-4821"}}
...     memories.put(("memories", "u1"), "plan", value)
...     item = memories.get(("memories", "u1"), "plan")
...     blame = memories.why(("memories", "u1"), "plan")
>>> item.value, blame.provenance.source
({'tier': 'enterprise'}, 'ticket-4821')
"""

from mnem_langgraph.store import MnemosyneStore

__all__ = ["MnemosyneStore"]
