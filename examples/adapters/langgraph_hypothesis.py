"""A LangGraph agent whose guesses stay on a branch until they are checked.

Two conversations share one memory. A sub-task works under a hypothesis: it runs the same graph on
a branch of its own, and what it wrote is merged when the guess holds and dropped when it does not.
The model is scripted, so that this runs offline:

    pip install mnem-langgraph langgraph
    python examples/adapters/langgraph_hypothesis.py
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, TypedDict

import mnem
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore  # noqa: TC002 LangGraph reads it when the graph runs
from mnem_langgraph import MnemosyneStore

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

CUSTOMER = ("customers", "c7")


class Turn(TypedDict, total=False):
    says: str
    source: str
    answer: str


def model(says: str, known: dict[str, str]) -> tuple[str, dict[str, str]]:
    """A scripted model: what it answers, and what it learnt."""
    if says.startswith("I moved to "):
        return "Noted.", {"city": says.removeprefix("I moved to ").rstrip(".")}
    if says.startswith("suppose "):
        field, _, value = says.removeprefix("suppose ").partition(" is ")
        return f"I would then plan with {value}.", {field: value}
    return "; ".join(f"{field}: {value}" for field, value in sorted(known.items())), {}


def respond(turn: Turn, store: BaseStore) -> Turn:
    known = {item.key: item.value["is"] for item in store.search(CUSTOMER)}
    answer, learnt = model(turn["says"], known)
    for field, value in learnt.items():
        store.put(CUSTOMER, field, {"is": value, "_meta": {"source": turn["source"]}})
    return {"answer": answer}


def agent(store: BaseStore) -> CompiledStateGraph:
    graph = StateGraph(Turn)
    graph.add_node("respond", respond)
    graph.add_edge(START, "respond")
    graph.add_edge("respond", END)
    return graph.compile(checkpointer=InMemorySaver(), store=store)


def ask(graph: CompiledStateGraph, thread: str, says: str) -> str:
    turn = {"says": says, "source": thread}
    return graph.invoke(turn, {"configurable": {"thread_id": thread}})["answer"]


def try_out(memories: MnemosyneStore, path: str, name: str, guess: str, *, holds: bool) -> None:
    """A sub-task under a hypothesis, on a branch that nobody else is on."""
    memories.branch(name)
    with MnemosyneStore(path, branch=name, author="sub-task") as guessed:
        print(f"  on {name}:", ask(agent(guessed), name, guess))
    print("  meanwhile on main:", ask(agent(memories), "desk", "what do you know?"))
    if holds:
        print("  it holds:", memories.merge(name).status)
    else:
        with mnem.open(path) as store:
            store.delete_branch(name)
        print("  it does not hold: dropped")


def main() -> None:
    with tempfile.TemporaryDirectory() as path, MnemosyneStore.from_conn_string(path) as memories:
        graph = agent(memories)
        print("Two conversations, one memory")
        print("  chat-1:", ask(graph, "chat-1", "I moved to Lyon."))
        print("  chat-2:", ask(graph, "chat-2", "what do you know?"))

        print("A guess that holds")
        try_out(memories, path, "guess-carrier", "suppose carrier is rail", holds=True)
        print("A guess that does not")
        try_out(memories, path, "guess-city", "suppose city is Nice", holds=False)

        print("What is known, and from where")
        for item in memories.search(CUSTOMER):
            blame = memories.why(CUSTOMER, item.key)
            print(f"  {item.key}: {item.value['is']} ({blame.provenance.source})")
        for commit in memories.history():
            print(f"  {commit.author}: {commit.message}")


if __name__ == "__main__":
    main()
