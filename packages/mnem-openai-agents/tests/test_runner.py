"""The SDK's runner over a session, with a scripted model, and its wrappers over it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import mnem
import pytest
from agents import Agent, RunContextWrapper, Runner, function_tool, set_tracing_disabled
from agents.extensions.memory.encrypt_session import EncryptedSession
from agents.memory import OpenAIResponsesCompactionSession
from agents.testing import ScriptedModel, assistant_message, function_call
from mnem_openai_agents import MnemosyneSession

set_tracing_disabled(True)


@pytest.fixture
def store(tmp_path):
    with mnem.init(tmp_path / "store") as store:
        yield store


@pytest.fixture
def session(store):
    return MnemosyneSession(store, "u1")


@function_tool
def find_plan(customer: int) -> str:
    """The plan of a customer."""
    return f"enterprise since {customer}"


def go(*arguments, **options):
    return asyncio.run(Runner.run(*arguments, **options))


def agent_of(*steps):
    model = ScriptedModel(list(steps))
    return Agent(name="support", model=model, tools=[find_plan]), model


def calling(customer, call_id="c1"):
    return [function_call("find_plan", {"customer": customer}, call_id=call_id)]


def kinds(session):
    items = asyncio.run(session.get_items())
    return [item.get("role") or item.get("type") for item in items]


def test_a_run_with_a_tool_is_remembered(store, session):
    agent, model = agent_of(
        calling(4821), [assistant_message("Enterprise.")], [assistant_message("Yes.")]
    )
    assert go(agent, "Which plan?", session=session).final_output == "Enterprise."
    turn = ["user", "function_call", "function_call_output", "assistant"]
    assert kinds(session) == turn
    why = session.why(2)
    assert (why.provenance.source, why.provenance.observation) == (
        "find_plan",
        "enterprise since 4821",
    )
    again = MnemosyneSession("u1", store.root)
    assert go(agent, "Sure?", session=again).final_output == "Yes."
    assert [item.get("role") or item.get("type") for item in model.calls[-1].input] == [
        *turn,
        "user",
    ]
    assert kinds(session) == [*turn, "user", "assistant"]
    again.close()


def test_the_context_of_the_run_names_the_author(store):
    seen = []

    def author(wrapper):
        seen.append(wrapper)
        return "nobody" if wrapper is None else wrapper.context.name

    session = MnemosyneSession(store, "u1", author=author)
    agent, _ = agent_of(calling(1), [assistant_message("Done.")])
    go(agent, "Go", session=session, context=SimpleNamespace(name="ada"))
    assert {commit.author for commit in store.log()} == {"ada"}
    assert all(isinstance(wrapper, RunContextWrapper) for wrapper in seen)
    asyncio.run(session.pop_item())
    assert store.log()[0].author == "nobody"


@pytest.mark.parametrize("at", range(3))
def test_a_failed_write_leaves_whole_calls_and_the_next_run_goes_on(
    store, session, monkeypatch, at
):
    """Whichever of the run's writes fails, the history is a sound one to go on from."""
    agent, model = agent_of(calling(1), [assistant_message("One.")], [assistant_message("Two.")])
    update, writes = mnem.Store.update, []

    def failing(self, *arguments, **options):
        writes.append(options["message"])
        if len(writes) == at + 1:
            raise mnem.StoreIoError("no space left on device")
        return update(self, *arguments, **options)

    monkeypatch.setattr(mnem.Store, "update", failing)
    with pytest.raises(mnem.StoreIoError, match="no space left"):
        go(agent, "Go", session=session)
    commits, items = store.log(), kinds(session)
    assert len(commits) == len(writes) - 1
    assert items == ["user", "function_call", "function_call_output", "assistant"][: len(items)]
    monkeypatch.setattr(mnem.Store, "update", update)
    model.enqueue([assistant_message("Three.")])
    go(agent, "Again", session=session)
    assert kinds(session)[len(items) :] == ["user", *kinds(session)[len(items) + 1 :]]
    assert kinds(session)[-1] == "assistant"


def test_an_interrupted_run_resumes_on_its_session(store):
    @function_tool(needs_approval=True)
    def refund(order: int) -> str:
        return f"refunded {order}"

    model = ScriptedModel(
        [
            [function_call("refund", {"order": 7}, call_id="c7")],
            [assistant_message("It is refunded.")],
        ]
    )
    agent = Agent(name="support", model=model, tools=[refund])
    session = MnemosyneSession(store, "u1")
    paused = go(agent, "Refund order 7", session=session)
    assert len(paused.interruptions) == 1
    state = paused.to_state()
    state.approve(paused.interruptions[0])
    done = go(agent, state, session=MnemosyneSession(store, "u1"))
    assert done.final_output == "It is refunded."
    assert kinds(session) == ["user", "function_call", "function_call_output", "assistant"]
    # The output was written by another call than the one it answers.
    assert session.why(2).provenance.source == "refund"


def test_a_hypothesis_is_tried_and_dropped(store, session):
    agent, model = agent_of([assistant_message("Hello.")], [assistant_message("No.")])
    go(agent, "Hi", session=session)
    go(agent, "Cancel it", session=session)
    session.switch(session.branch_from_turn(2, "what-if"))
    model.enqueue([assistant_message("Kept.")])
    go(agent, "Keep it", session=session)
    assert [item["content"] for item in model.calls[-1].input if item.get("role") == "user"] == [
        "Hi",
        "Keep it",
    ]
    session.switch("main")
    assert kinds(session) == ["user", "assistant"] * 2
    assert store.delete_branch("what-if")


def test_the_encrypted_wrapper(store):
    inner = MnemosyneSession(store, "u1")
    session = EncryptedSession("u1", inner, encryption_key="a secret that is long enough")
    agent, model = agent_of(calling(1), [assistant_message("One.")], [assistant_message("Two.")])
    go(agent, "Go", session=session)
    go(agent, "Again", session=session)
    assert len(model.calls[-1].input) == 5
    assert kinds(session)[:2] == ["user", "function_call"]
    stored = [node.content for node in store.memory(prefix="u1:0").values()]
    assert all(item["__enc__"] == 1 for item in stored)
    assert "enterprise" not in repr(store.memory())
    last = asyncio.run(session.pop_item())
    assert last["content"][0]["text"] == "Two."
    assert len(asyncio.run(session.get_items(2))) == 2
    asyncio.run(session.clear_session())
    assert asyncio.run(inner.get_items()) == []


def test_the_compaction_wrapper(store):
    inner = MnemosyneSession(store, "u1")
    short = {"type": "compaction", "id": "k1", "encrypted_content": "short"}
    client = MagicMock()
    client.responses.compact = AsyncMock(return_value=MagicMock(output=[short]))
    session = OpenAIResponsesCompactionSession(
        "u1",
        inner,
        client=client,
        compaction_mode="input",
        should_trigger_compaction=lambda _: False,
    )
    agent, _ = agent_of(calling(1), [assistant_message("One.")])
    go(agent, "Go", session=session)
    before = store.head_commit()
    asyncio.run(session.run_compaction({"force": True}))
    client.responses.compact.assert_awaited_once()
    assert asyncio.run(inner.get_items()) == [short]
    # What was compacted away is history, and its numbers are not given again.
    assert len(store.state_at(before, prefix="u1:0")) == 4
    assert inner.item_ids() == ["u1:0000000004"]
    assert inner.why("u1:0000000002").removed
