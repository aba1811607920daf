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


def talk(graph: CompiledStateGraph, thread: str, says: str) -> None:
    turn = {"says": says, "source": thread}
    answer = graph.invoke(turn, {"configurable": {"thread_id": thread}})["answer"]
    print(f"  {thread}> {says}\n    agent> {answer}")


def try_out(memories: MnemosyneStore, path: str, name: str, guess: str, *, holds: bool) -> None:
    """A sub-task under a hypothesis, on a branch that nobody else is on."""
    memories.branch(name)
    with MnemosyneStore(path, branch=name, author="sub-task") as guessed:
        talk(agent(guessed), name, guess)
        print(f"  known on the branch {name}: {known(guessed)}")
    print(f"  known on the branch main, meanwhile: {known(memories)}")
    if holds:
        print(f"  The guess holds: {name} is merged into main ({memories.merge(name).status}).")
    else:
        print(f"  The guess does not hold: {name} is dropped.")
    memories.delete_branch(name)


def known(memories: MnemosyneStore) -> str:
    items = {item.key: item.value["is"] for item in memories.search(CUSTOMER)}
    return "; ".join(f"{field}: {value}" for field, value in sorted(items.items()))


def main() -> None:
    with tempfile.TemporaryDirectory() as path, MnemosyneStore.from_conn_string(path) as memories:
        graph = agent(memories)
        print("Two conversations share one memory")
        talk(graph, "chat-1", "I moved to Lyon.")
        talk(graph, "chat-2", "what do you know?")

        print("\nA guess that will hold")
        try_out(memories, path, "guess-carrier", "suppose carrier is rail", holds=True)
        print("\nA guess that will not")
        try_out(memories, path, "guess-city", "suppose city is Nice", holds=False)

        print("\nWhat is known on main in the end, and in which conversation it was learnt")
        for item in memories.search(CUSTOMER):
            blame = memories.why(CUSTOMER, item.key)
            print(f"  {item.key}: {item.value['is']} (from {blame.provenance.source})")
        print("\nThe commits that made it, newest first: author, message")
        for commit in memories.history():
            print(f"  {commit.author}: {commit.message}")


if __name__ == "__main__":
    main()
