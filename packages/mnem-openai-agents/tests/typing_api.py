"""Uses of the package that a strict type checker passes; never run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents import Agent, RunContextWrapper, Runner
from mnem_openai_agents import MnemosyneSession

if TYPE_CHECKING:
    import mnem
    from agents import TResponseInputItem
    from agents.memory import Session


def author(wrapper: RunContextWrapper[Any] | None) -> str:
    """The author of a commit, by the context of the run."""
    return "nobody" if wrapper is None else str(wrapper.context)


async def use(store: mnem.Store, agent: Agent[None]) -> None:
    """Every way to make one, and every method."""
    session = MnemosyneSession(store, "u1", branch="main", author=author)
    protocol: Session = session
    MnemosyneSession("u1").close()
    MnemosyneSession("u1", "sessions", session_settings={"limit": 5}).close()
    MnemosyneSession("u1", path=Path("sessions")).close()
    MnemosyneSession("u1", db_path="sessions").close()
    MnemosyneSession(session_id="u1", store=store).close()

    await Runner.run(agent, "Hello", session=protocol)
    items: list[TResponseInputItem] = await session.get_items(limit=5)
    await session.add_items(items)
    popped: TResponseInputItem | None = await session.pop_item()
    await session.clear_session()

    session.switch(session.branch("guess", start="HEAD~1"))
    name: str = session.branch_from_turn(1, "other")
    merged: mnem.MergeResult = session.merge(name, strategy="ours", resolutions={"u1:_seq": "ours"})
    blame: mnem.Blame = session.why(-1, at="HEAD")
    commit: str = session.bisect(lambda some: len(some) > 1, good="HEAD~2", bad="HEAD")
    commits: list[mnem.Commit] = session.history(limit=5)
    ids: list[str] = session.item_ids()
    head: str = session.store.head()
    del popped, merged, blame, commit, commits, ids, head
