"""A conversation of the OpenAI Agents SDK under version control.

A company lets holiday homes, and an agent answers its guests. One answer rests on a note about
another house; the call that taught it is found, and another answer is tried on a branch before
it becomes what the agent remembers. The model is scripted, so that nothing leaves the machine.
Run it with the `mnem-openai-agents` package installed:

    python examples/adapters/openai_agents_session.py
"""

from __future__ import annotations

import asyncio
import sys
import tempfile

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call
from mnem_openai_agents import MnemosyneSession

NOTES = {"H27": "no dogs, new carpet (note 88)"}


@function_tool
def house_rules(house: str) -> str:
    """What the notes say about a house."""
    return NOTES[house]


def told(answer: str) -> list[list[object]]:
    """What the model does with a question: look the house up, then answer."""
    look_up = function_call("house_rules", {"house": "H27"}, call_id=f"call-{len(answer)}")
    return [[look_up], [assistant_message(answer)]]


def show(title: str, session: MnemosyneSession) -> None:
    items = asyncio.run(session.get_items())
    answers = [item["content"][0]["text"] for item in items if item.get("role") == "assistant"]
    print(f"{title}: {len(items)} items; the agent said {answers}")


async def ask(agent: Agent[None], question: str, session: MnemosyneSession) -> None:
    result = await Runner.run(agent, question, session=session)
    print(f"> {question}\n  {result.final_output}")


def main() -> int:
    set_tracing_disabled(disabled=True)
    model = ScriptedModel(
        [
            [assistant_message("Welcome! What would you like to know?")],
            *told("I am sorry, no dogs in H27."),
            [assistant_message("The notes say so.")],
            *told("One dog may come to H27."),
        ]
    )
    agent = Agent[None](name="guest-care", model=model, tools=[house_rules])
    with tempfile.TemporaryDirectory() as directory:
        session = MnemosyneSession("guest-4821", directory, author="guest-care")
        for question in ("Hello", "May I bring my dog to H27?", "Are you sure?"):
            asyncio.run(ask(agent, question, session))
        show("main", session)

        # Since when does the agent believe it, and which call taught it?
        commit = session.bisect(lambda items: any("no dogs" in str(item) for item in items))
        learnt = next(
            id for id in session.item_ids() if "no dogs" in str(session.why(id).node.content)
        )
        why = session.why(learnt)
        print(f"learnt in {learnt}, by {why.provenance.tool_call}: {why.provenance.observation}")
        print("bisect finds the same commit:", commit == why.commit)

        # The note was about H72. Ask again from before that turn, on a branch.
        NOTES["H27"] = "one dog may come, the owner agreed (call at 14:10)"
        session.switch(session.branch_from_turn(2, "without-note-88"))
        asyncio.run(ask(agent, "May I bring my dog to H27?", session))
        show("without-note-88", session)
        session.switch("main")
        show("main", session)

        # It is right, so it becomes what the agent remembers. What it said before is history.
        print("merge:", session.merge("without-note-88").status)
        show("main", session)
        gone = session.why(learnt)
        print("removed:", gone.removed, "-", gone.provenance.observation)
        for entry in session.history():
            print(f"  {entry.author}: {entry.message}")
        session.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
