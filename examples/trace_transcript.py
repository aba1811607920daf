"""A support agent tells a customer something wrong: since when did it believe that, and why?

Replays the transcript beside this file into a fresh store, one commit for each tool result that
taught something, and traces the belief in it. Run it with the `mnem` package installed:

    python examples/trace_transcript.py
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import mnem

TRANSCRIPT = Path(__file__).parent / "transcripts" / "refund-dispute.json"
BOOKING = "reservation:K4T9WD"


def say(title: str) -> None:
    print(f"\n== {title}")


def short(commit: str) -> str:
    return commit[:12]


def refundable(memory: dict[str, mnem.MemoryNode]) -> bool | None:
    node = memory.get(BOOKING)
    return node.content["refundable"] if node else None


def trace(store: mnem.Store) -> None:
    messages = json.loads(TRANSCRIPT.read_text(encoding="utf-8"))

    say("A recorded run becomes memory: mnem import-chat")
    report = mnem.agents.import_chat(
        store, messages, transcript="refund-dispute", time_ms=1_781_254_800_000
    )
    print(f"{report.messages} messages, {report.results} tool results, {report.commits} commits")

    say("What happened: mnem log --oneline")
    for commit in store.log():
        print(short(commit.id), commit.message)

    say(f"What the agent believes: mnem get {BOOKING}")
    belief = store.get(BOOKING)
    assert belief is not None
    print(json.dumps(belief.content))
    print("The customer was told 'flexible', and now 'basic': which call changed that?")

    say("When it went wrong: mnem bisect")
    wrong = store.bisect(lambda memory: refundable(memory) is False)
    commit = next(commit for commit in store.log() if commit.id == wrong)
    print(short(wrong), commit.message)

    say(f"Where it came from: mnem blame {BOOKING}")
    why = store.blame(BOOKING)
    assert why.commit == wrong
    print("step:   ", why.provenance.agent_step)
    print("call:   ", why.provenance.tool_call)
    print("result: ", why.provenance.observation)

    say("What it believed before: mnem show HEAD~N, mnem diff")
    before = commit.parents[0]
    for change in store.diff(before, wrong):
        if change.id == BOOKING and change.old and change.new:
            for key, value in change.old.content.items():
                if change.new.content[key] != value:
                    print(f"{key}: {value!r} -> {change.new.content[key]!r}")

    say("Put right, with the reason: mnem remember")
    was = store.state_at(before)[BOOKING].content
    fixed = mnem.agents.remember(
        store,
        BOOKING,
        was,
        source="ticket receipt, read by a person",
        note=f"the partner's feed confused two bookings, see {short(wrong)}",
        summary="the fare is flexible after all",
        author="support",
        time_ms=1_781_258_400_000,
    )
    print(short(fixed), "the fare is flexible after all")

    say("Nothing is lost: every flip of the belief")
    for flip in store.flips(BOOKING, equals=was):
        print(short(flip.commit), "holds" if flip.holds else "does not hold")


def main() -> int:
    # Ids that depend on the content alone, so that this prints the same ones each time.
    with (
        tempfile.TemporaryDirectory() as directory,
        mnem.init(directory, reproducible=True) as store,
    ):
        trace(store)
    return 0


if __name__ == "__main__":
    sys.exit(main())
