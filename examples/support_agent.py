"""The story of `mnem demo` in code: a wrong belief is found, traced and put right.

A company lets holiday homes, and an agent answers its guests. Run it with the `mnem` package
installed; its commits are those of the demo, id for id:

    python examples/support_agent.py
"""

from __future__ import annotations

import sys
import tempfile
from datetime import datetime

import mnem

DOG = "stay:H27:dog"
NOTE = {"source": "note 88", "observation": "H72: new carpet, no dogs"}


def at(text: str) -> int:
    """A time in June 2026, in Unix milliseconds."""
    return int(datetime.fromisoformat(f"2026-06-{text}:00+00:00").timestamp()) * 1000


def learn(store: mnem.Store) -> None:
    """What the agent hears, each fact with its source; one call is one commit."""
    mnem.agents.remember(
        store,
        DOG,
        "one dog may come",
        source="booking form",
        summary="read the booking form",
        author="intake",
        time_ms=at("01T09:05"),
    )
    # The phone desk writes to a branch of its own, through a handle that never moves HEAD.
    mnem.agents.remember(
        store.on("phone-desk"),
        DOG,
        "one dog may come, the owner agreed",
        source="call at 14:10",
        summary="asked the owner",
        author="phone-desk",
        time_ms=at("01T14:10"),
    )
    # A note about another house is taken for one about this one, twice; around it life goes on.
    for time, author, node, content, told in [
        ("01T23:30", "night-run", DOG, "no dogs", {**NOTE, "summary": "read the notes"}),
        ("02T08:15", "intake", "stay:H27:arrival", "after 18:00", {"source": "chat"}),
        (
            "02T10:40",
            "intake",
            DOG,
            "one dog may come",
            {"source": "booking form", "summary": "read the form again"},
        ),
        ("02T16:20", "intake", "stay:H27:cot", "in the small room", {"source": "chat"}),
        ("02T23:30", "night-run", DOG, "no dogs", {**NOTE, "summary": "read the notes again"}),
        ("03T09:00", "intake", "stay:H27:parking", "behind the barn", {"source": "chat"}),
    ]:
        mnem.agents.remember(store, node, content, author=author, time_ms=at(time), **told)


def trace(store: mnem.Store) -> None:
    """The guest disputes it: since when, by whom, and did it waver?"""
    belief = mnem.agents.recall(store, DOG)
    print("believed:", belief.content if belief else None)
    print("since when, and did it waver?")
    messages = {commit.id: commit.message for commit in store.log()}
    for flip in store.flips(DOG, equals="no dogs"):
        says = "believed" if flip.holds else "not believed"
        print(f"  {flip.commit[:12]} {says:<12} {messages[flip.commit]}")
    why = store.blame(DOG).provenance
    print("because of:", why.source, "-", why.observation)
    print("the phone desk has:", store.blame(DOG, "phone-desk").provenance.source)


def decide(conflict: mnem.Conflict) -> str:
    """A call with the owner outweighs what was read; a person decides the rest."""
    for side, node in (("ours", conflict.ours), ("theirs", conflict.theirs)):
        if node and (node.provenance.source or "").startswith("call"):
            return side
    raise LookupError(f"nobody called about {conflict.id}")


def settle(store: mnem.Store) -> None:
    """Merge, and answer each conflict by where its sides came from."""
    result = store.merge("phone-desk")
    for conflict in result.conflicts:
        print(f"conflict on {conflict.id} ({conflict.kind})")
        for node in (conflict.ours, conflict.theirs):
            if node:
                print(f"  {node.content!r}, from {node.provenance.source}")
    result = store.merge(
        "phone-desk",
        resolutions={conflict.id: decide(conflict) for conflict in result.conflicts},
        message="the owner outweighs a note about H72",
        author="guest-care",
        time_ms=at("05T09:05"),
    )
    belief = mnem.agents.recall(store, DOG)
    print(result.status, (result.commit or "")[:12], "-", belief.content if belief else None)
    # Blame goes through the merge to the call.
    print("because of:", store.blame(DOG).provenance.source)


def main() -> int:
    # Ids that depend on the content alone, so that everyone sees the same ones.
    with (
        tempfile.TemporaryDirectory() as directory,
        mnem.init(directory, reproducible=True) as store,
    ):
        learn(store)
        trace(store)
        settle(store)
        print("whole:", store.verify().ok)
    return 0


if __name__ == "__main__":
    sys.exit(main())
