"""Sessions of the OpenAI Agents SDK under version control.

>>> import asyncio
>>> session = MnemosyneSession("customer-4821")
>>> asyncio.run(session.add_items([{"role": "user", "content": "Which plan am I on?"}]))
>>> session.why(-1).node.content
{'role': 'user', 'content': 'Which plan am I on?'}
"""

from .session import MnemosyneSession

__all__ = ["MnemosyneSession"]
