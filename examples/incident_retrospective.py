"""Four agents look into one incident, each on a branch of its own; their findings are merged.

What only one of them saw simply arrives. Where two of them disagree the merge stops with a
typed conflict, and the finding that says more of where it came from wins. Afterwards every
sentence of the retrospective can be traced to whoever wrote it, and the wrong first guess is
still in the history. Run it with the `mnem` package installed:

    python examples/incident_retrospective.py
"""

from __future__ import annotations

import sys
import tempfile

import mnem

START = 1_780_300_800_000  # 2026-06-01T08:00:00Z
MINUTE = 60_000

# Minute, node, content, and where it came from.
Finding = tuple[int, str, object, dict[str, str]]

FINDINGS: dict[str, list[Finding]] = {
    "metrics": [
        (2, "incident:impact", {"failed": 4120, "of": 90311}, {"source": "checkout dashboard"}),
        (3, "incident:window", "07:12 to 07:49", {"source": "checkout dashboard"}),
        (4, "incident:cause", "the database was slow", {"source": "latency chart"}),
    ],
    "logs": [
        (
            5,
            "incident:cause",
            "the connection pool was cut to 5",
            {
                "tool_call": 'search_logs({"query": "pool exhausted"})',
                "observation": "pool exhausted (size 5)",
                "source": "api logs",
            },
        ),
    ],
    "deploys": [
        (
            6,
            "incident:cause",
            "release 318 cut the connection pool to 5",
            {
                "tool_call": 'diff_release({"from": 317, "to": 318})',
                "observation": "- pool_size: 50 / + pool_size: 5",
                "source": "deploy log",
                "note": "the change itself, not a symptom of it",
            },
        ),
        (7, "incident:fix", "rolled back to release 317 at 07:49", {"source": "deploy log"}),
    ],
    "support": [
        (8, "incident:reports", 37, {"source": "ticket queue"}),
        (9, "incident:impact", {"failed": 37, "of": None}, {"source": "ticket queue"}),
    ],
}


def weight(node: mnem.MemoryNode | None) -> int:
    """How much a finding says of where it came from."""
    return sum(bool(value) for value in node.provenance.to_dict().values()) if node else -1


def decide(conflict: mnem.Conflict) -> str:
    """The side that says more of where it came from; on equal grounds what stands already."""
    return "theirs" if weight(conflict.theirs) > weight(conflict.ours) else "ours"


def investigate(store: mnem.Store) -> None:
    """Each agent writes to its own branch; they share the empty question they start from."""
    print("Each agent looks on a branch of its own")
    mnem.agents.remember(
        store, "incident:cause", None, summary="open the incident", author="lead", time_ms=START
    )
    for agent, findings in FINDINGS.items():
        branch = store.on(agent)
        for minute, node, content, provenance in findings:
            mnem.agents.remember(
                branch, node, content, author=agent, time_ms=START + minute * MINUTE, **provenance
            )
        print(f"  {agent}: {', '.join(node for _, node, _, _ in findings)}")


def join(store: mnem.Store) -> None:
    """Merges the branches one after the other, answering what they disagree on."""
    print("The branches are merged, one after the other")
    for number, agent in enumerate(FINDINGS):
        time_ms = START + (20 + number) * MINUTE
        result = store.merge(agent, author="lead", time_ms=time_ms)
        answers: dict[str, str | mnem.MemoryNode] = {}
        for conflict in result.conflicts:
            answers[conflict.id] = decide(conflict)
            print(f"  {agent}: a conflict on {conflict.id} ({conflict.kind})")
            for side, node in (("ours", conflict.ours), ("theirs", conflict.theirs)):
                if node:
                    mark = "*" if side == answers[conflict.id] else " "
                    print(f"    {mark} {side:<6} {node.content} ({node.provenance.source})")
        if answers:
            result = store.merge(agent, resolutions=answers, author="lead", time_ms=time_ms)
        print(f"  {agent}: {result.status} {(result.commit or '')[:12]}")


def report(store: mnem.Store) -> None:
    """The retrospective, each sentence with its author, and what was believed on the way."""
    print("The retrospective, each line with who found it and where")
    commits = {commit.id: commit for commit in store.log()}
    for node in mnem.agents.recall(store).values():
        why = store.blame(node.id)
        found = f"{commits[why.commit].author}, {why.provenance.source}"
        print(f"  {node.id}: {node.content} ({found})")
    print("The cause, as it was believed")
    believed = None
    for commit in reversed(store.log(first_parent=True)):
        cause = store.state_at(commit.id)["incident:cause"].content
        if cause != believed:
            print(f"  {commit.id[:12]} {cause}")
        believed = cause


def main() -> int:
    # Ids that depend on the content alone, so that everyone sees the same ones.
    with (
        tempfile.TemporaryDirectory() as directory,
        mnem.init(directory, reproducible=True) as store,
    ):
        investigate(store)
        join(store)
        report(store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
