"""Two agents of two frameworks on one store, each on a branch of its own.

A LangGraph agent reads notes into the memory of a company that lets holiday homes; an agent of
the OpenAI Agents SDK answers the phone. Both learn something about one house, and they disagree.
The disagreement comes up when their branches meet, and is settled by where each side got it from.
The models are scripted, so that nothing leaves the machine. Run it with both adapters installed,
from a checkout:

    pip install . ./packages/mnem-langgraph ./packages/mnem-openai-agents
    python examples/adapters/shared_memory.py
"""

from __future__ import annotations

import asyncio
import tempfile
from typing import TYPE_CHECKING, TypedDict

import mnem
from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore  # noqa: TC002 LangGraph reads it when the graph runs
from mnem_langgraph import MnemosyneStore
from mnem_openai_agents import MnemosyneSession

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

# LangGraph's namespace; a key below it is the node houses:H27:{key}, for whoever writes it.
HOUSE = ("houses", "H27")
DOGS = mnem.keys.join(*HOUSE, "dogs")


class Note(TypedDict):
    key: str
    text: str
    source: str


def note_reader(memories: MnemosyneStore) -> CompiledStateGraph:
    """A graph that puts what a note says where the notes of its house are."""

    def learn(note: Note, store: BaseStore) -> dict[str, str]:
        store.put(HOUSE, note["key"], {"is": note["text"], "_meta": {"source": note["source"]}})
        return {}

    graph = StateGraph(Note)
    graph.add_node("learn", learn)
    graph.add_edge(START, "learn")
    graph.add_edge("learn", END)
    return graph.compile(store=memories)


def phone_desk(store: mnem.Store) -> Agent[None]:
    """An agent that writes down what a caller says, in the same place."""

    @function_tool
    def write_down(key: str, text: str) -> str:
        """Remember what a caller said about the house."""
        mnem.agents.remember(
            store,
            mnem.keys.join(*HOUSE, key),
            {"is": text},
            source="call at 14:10",
            author="phone-desk",
        )
        return "written down"

    call = {"key": "dogs", "text": "one dog may come"}
    script = [function_call("write_down", call, call_id="call-1")]
    model = ScriptedModel([script, [assistant_message("Thank you, I wrote it down.")]])
    return Agent[None](name="phone-desk", model=model, tools=[write_down])


def decide(conflict: mnem.Conflict) -> str:
    """What the owner said on the phone outweighs what was read; a person decides the rest."""
    for side, node in (("ours", conflict.ours), ("theirs", conflict.theirs)):
        if node is not None and (node.provenance.source or "").startswith("call"):
            return side
    raise LookupError(f"nobody called about {conflict.id}")


def main() -> None:
    set_tracing_disabled(disabled=True)
    with tempfile.TemporaryDirectory() as directory, mnem.init(directory) as store:
        mnem.agents.remember(store, DOGS, {"is": "ask the owner"}, source="booking form")

        print("Each on a branch of its own")
        with MnemosyneStore(store, branch="notes", author="note-reader") as memories:
            reader = note_reader(memories)
            reader.invoke({"key": "dogs", "text": "no dogs", "source": "note 88"})
            reader.invoke({"key": "parking", "text": "behind the barn", "source": "note 89"})
            for item in sorted(memories.search(HOUSE), key=lambda item: item.key):
                print(f"  the notes say of {item.key}: {item.value['is']}")

            session = MnemosyneSession(store, "call-4821", branch="phone", author="phone-desk")
            question = "The owner of H27 here: one dog may come."
            answer = asyncio.run(Runner.run(phone_desk(session.store), question, session=session))
            print("  the phone desk:", answer.final_output)
            print("  main still says:", mnem.agents.recall(store, DOGS).content["is"])

            print("They meet")
            print("  notes into main:", store.merge("notes").status)
            result = store.merge("phone")
            for conflict in result.conflicts:
                print(f"  {result.status}: {conflict.id} ({conflict.kind})")
                for side in (conflict.ours, conflict.theirs):
                    print(f"    {side.content['is']!r}, from {side.provenance.source}")
            answers = {conflict.id: decide(conflict) for conflict in result.conflicts}
            result = store.merge("phone", resolutions=answers, author="guest-care")
            print("  settled:", result.status)

            print("Both see it")
            memories.switch("main")
            session.switch("main")
            item = memories.get(HOUSE, "dogs")
            why = memories.why(HOUSE, "dogs")
            print(f"  the graph: {item.value['is']}, from {why.provenance.source}")
            print("  the conversation:", session.why(2).provenance.tool_call)
            for commit in store.log(first_parent=True):
                print(f"  {commit.author}: {commit.message}")
        print("whole:", store.verify().ok)


if __name__ == "__main__":
    main()
