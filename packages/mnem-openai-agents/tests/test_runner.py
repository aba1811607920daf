"""The SDK's runner over a session, with a scripted model, and its wrappers over it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock

import mnem
import pytest
from agents import (
    Agent,
    AgentsException,
    GuardrailFunctionOutput,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    function_tool,
    input_guardrail,
    output_guardrail,
    set_tracing_disabled,
)
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


@function_tool
def broken(x: int) -> str:
    raise RuntimeError("no")


@input_guardrail
async def refuses_the_question(context, agent, question):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)


@output_guardrail
async def refuses_the_answer(context, agent, answer):
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)


async def streamed(agent, session, *, leave_after=None):
    stream = Runner.run_streamed(agent, "Go", session=session)
    seen = 0
    async for _ in stream.stream_events():
        seen += 1
        if seen == leave_after:
            stream.cancel()


def agent_with(*steps, **options):
    return Agent(
        name="front", model=ScriptedModel(list(steps)), tools=[find_plan, broken], **options
    )


def handed_over(session):
    billing = Agent(name="billing", model=ScriptedModel([[assistant_message("Billing.")]]))
    call = [function_call("transfer_to_billing", {}, call_id="h1")]
    go(agent_with(call, handoffs=[billing]), "Go", session=session)


def asked_another(session):
    """An agent that is a tool, on the session of the one that asks."""
    inner = Agent(name="inner", model=ScriptedModel([[assistant_message("Inner.")]]))
    outer = agent_with([function_call("ask", {"input": "?"}, call_id="a1")], SAID)
    outer.tools = [inner.as_tool("ask", "asks", session=session)]
    go(outer, "Go", session=session)


def rejected(session):
    @function_tool(needs_approval=True)
    def refund(order: int) -> str:
        return f"refunded {order}"

    agent = agent_with([function_call("refund", {"order": 7}, call_id="r1"), *calling(1)], SAID)
    agent.tools = [refund, find_plan]
    paused = go(agent, "Go", session=session)
    state = paused.to_state()
    state.reject(paused.interruptions[0])
    go(agent, state, session=session)


def chosen(session):
    config = RunConfig(session_input_callback=lambda history, new: [*new, *history[-1:]])
    agent = agent_with(SAID, SAID)
    for _ in range(2):
        go(agent, [{"role": "user", "content": "Go"}], session=session, run_config=config)


SAID = [assistant_message("Done.")]
RUNS = {
    "streamed": (lambda s: asyncio.run(streamed(agent_with(calling(1), SAID), s)), [1, 2, 1]),
    "streamed and left": (
        lambda s: asyncio.run(streamed(agent_with(calling(1), SAID), s, leave_after=2)),
        [1],
    ),
    "handed over": (handed_over, [1, 2, 1]),
    "asked another": (asked_another, [1, 1, 1, 2, 1]),
    "rejected": (rejected, [1, 3, 1, 1]),
    "chosen": (chosen, [1, 1, 1, 1]),
    "a broken tool beside others": (
        lambda s: go(
            agent_with(
                [*calling(1), *calling(2, "c2"), function_call("broken", {"x": 1}, call_id="c3")],
                SAID,
            ),
            "Go",
            session=s,
        ),
        [1, 6, 1],
    ),
    "too many turns": (
        lambda s: go(agent_with(calling(1), calling(2, "c2")), "Go", session=s, max_turns=1),
        [1, 2],
    ),
    "question refused": (
        lambda s: go(agent_with(SAID, input_guardrails=[refuses_the_question]), "Go", session=s),
        [1],
    ),
    "answer refused": (
        lambda s: go(
            agent_with(calling(1), SAID, output_guardrails=[refuses_the_answer]), "Go", session=s
        ),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_whatever_becomes_of_a_run_is_kept_as_by_sqlite(store, name):
    """The same items, however it ended, and each write of the runner is a commit."""
    work, sizes = RUNS[name]
    ended, items = [], []
    theirs = SQLiteSession("u1")
    for session in (theirs, MnemosyneSession(store, "u1")):
        try:
            work(session)
            ended.append(None)
        except AgentsException as error:
            ended.append(type(error))
        items.append(asyncio.run(session.get_items()))
    theirs.close()
    assert ended[0] is ended[1]
    assert items[0] == items[1]
    messages = [commit.message for commit in reversed(store.log())]
    assert messages == [f"add {size} item{'s' * (size > 1)} to u1" for size in sizes]


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


def test_a_pop_with_a_wrong_key_is_history(store):
    inner = MnemosyneSession(store, "u1")
    right, wrong = (EncryptedSession("u1", inner, encryption_key=key * 32) for key in "rw")
    asyncio.run(right.add_items([{"role": "user", "content": text} for text in "ab"]))
    before = store.head_commit()
    assert asyncio.run(wrong.pop_item()) is None
    assert [commit.message for commit in store.log()[:2]] == ["pop from u1"] * 2
    inner.switch(inner.branch("before", start=before))
    assert [item["content"] for item in asyncio.run(right.get_items())] == ["a", "b"]


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
