"""Sessions beside plain lists: random calls through several handles, on branches of one store."""

from __future__ import annotations

import asyncio
from typing import Any

import mnem
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from mnem import keys
from mnem_openai_agents import MnemosyneSession

NAMES = ["u1", "u1:x", "x" * 1100]
STRATEGIES = ["ours", "theirs"]


def run(coroutine):
    return asyncio.run(coroutine)


def numbered(memory: dict[str, mnem.MemoryNode], name: str) -> dict[int, Any]:
    """A session's items by their numbers, read without the adapter."""
    found = {}
    for id, node in memory.items():
        content = dict(node.content) if isinstance(node.content, dict) else {}
        of, number = keys.split(id) or content.pop(keys.FULL)
        if of == name and number.isdigit():
            found[int(number)] = content
    return found


class Sessions(RuleBasedStateMachine):
    """``items`` is what each branch holds of each session, ``given`` the next number there."""

    branches: Bundle[str] = Bundle("branches")
    sessions: Bundle[MnemosyneSession] = Bundle("sessions")

    @initialize(target=branches)
    def make(self):
        self.store = mnem.open(":memory:")
        self.store.write({"plan:a": "basic"}, message="other memory")
        self.items: dict[tuple[str, str], dict[int, Any]] = {("main", name): {} for name in NAMES}
        self.given = dict.fromkeys(self.items, 0)
        self.count = 0
        self.set_back = False
        return "main"

    def teardown(self):
        if hasattr(self, "store"):
            assert self.store.verify().ok
            self.store.close()

    def place(self, session):
        return session.store.head().removeprefix("ref: "), session.session_id

    def of(self, session):
        return self.items[self.place(session)]

    def read_again(self, branch):
        """Whatever stands there is the model."""
        memory = self.store.on(branch).memory()
        for name in NAMES:
            self.items[branch, name] = numbered(memory, name)
            self.given[branch, name] = max(self.items[branch, name], default=-1) + 1

    def text(self, role="user"):
        self.count += 1
        return {"role": role, "content": str(self.count)}

    @rule(target=sessions, at=some.integers(0, 2), branch=branches)
    def open(self, at, branch):
        return MnemosyneSession(self.store, NAMES[at], branch=branch)

    @rule(target=branches, session=sessions, number=some.integers(0, 3))
    def branch(self, session, number):
        name = f"b{number}"
        if any(name == branch for branch, _ in self.items):
            return name
        here, _ = self.place(session)
        assert session.branch(name) == name
        for of in NAMES:
            self.items[name, of] = dict(self.items[here, of])
            self.given[name, of] = self.given[here, of]
        return name

    @rule(target=branches, session=sessions, turn=some.integers(1, 4))
    def go_back(self, session, turn):
        here, name = self.place(session)
        users = [at for at, item in sorted(self.of(session).items()) if item["role"] == "user"]
        if turn > len(users):
            return here
        new = session.branch_from_turn(turn)
        for of in NAMES:
            self.items[new, of] = dict(self.items[here, of])
            self.given[new, of] = self.given[here, of]
        kept = {at: item for at, item in self.of(session).items() if at < users[turn - 1]}
        self.items[new, name] = kept
        return new

    @rule(session=sessions, branch=branches)
    def switch(self, session, branch):
        session.switch(branch)

    @rule(session=sessions, roles=some.lists(some.sampled_from(["user", "assistant"]), max_size=13))
    def add(self, session, roles):
        place, items = self.place(session), [self.text(role) for role in roles]
        run(session.add_items(items))
        if items:
            ids = self.store.on(place[0]).memory()
            numbers = [at for at in sorted(numbered(ids, place[1])) if at not in self.items[place]]
            assert len(numbers) == len(items)
            assert numbers == list(range(numbers[0], numbers[0] + len(items)))
            # No number is given again, unless somebody set a counter back.
            assert self.set_back or numbers[0] >= self.given[place]
            self.items[place] |= dict(zip(numbers, items, strict=True))
            self.given[place] = numbers[-1] + 1

    @rule(session=sessions)
    def pop(self, session):
        items = self.of(session)
        expected = items.pop(max(items)) if items else None
        assert run(session.pop_item()) == expected

    @rule(session=sessions)
    def clear(self, session):
        run(session.clear_session())
        self.of(session).clear()

    @rule(session=sessions, limit=some.integers(0, 30))
    def read(self, session, limit):
        items = [item for _, item in sorted(self.of(session).items())]
        assert run(session.get_items(limit)) == (items[-limit:] if limit else [])

    @rule(session=sessions, theirs=branches, strategy=some.sampled_from(STRATEGIES))
    def merge(self, session, theirs, strategy):
        here, _ = self.place(session)
        given = {name: max(self.given[here, name], self.given[theirs, name]) for name in NAMES}
        assert session.merge(theirs, strategy=strategy).ok
        self.read_again(here)
        for name in NAMES:
            self.given[here, name] = given[name]

    @rule(here=branches, theirs=branches, strategy=some.sampled_from(STRATEGIES))
    def merge_past_the_session(self, here, theirs, strategy):
        self.set_back = True
        assert self.store.on(here).merge(theirs, strategy=strategy).ok
        self.read_again(here)

    @rule(here=branches, back=some.integers(0, 6), strategy=some.sampled_from(STRATEGIES))
    def revert(self, here, back, strategy):
        store = self.store.on(here)
        log = store.log(limit=back + 1)
        self.set_back = True
        if log[-1].parents:
            store.revert(log[-1].id, strategy=strategy)
        self.read_again(here)

    @rule(session=sessions, limit=some.integers(0, 4))
    def history(self, session, limit):
        """Beside a plain reading of the whole history."""
        name = session.session_id
        whole = session.store.log()
        prefix = keys.prefix(name)
        states = {commit.id: session.store.state_at(commit.id, prefix=prefix) for commit in whole}
        expected = [
            commit
            for commit in whole
            if any(
                all(
                    states[parent].get(id) != states[commit.id].get(id) for parent in commit.parents
                )
                for id in {id for each in (commit.id, *commit.parents) for id in states[each]}
            )
        ]
        assert session.history() == expected
        assert session.history(limit) == expected[:limit]

    @rule(session=sessions, at=some.integers(0, 30))
    def why(self, session, at):
        items = [item for _, item in sorted(self.of(session).items())]
        if at < len(items):
            why = session.why(at)
            assert (why.removed, why.node.content) == (False, items[at])
            began = session.bisect(lambda found: items[at] in found)
            parents = next(c.parents for c in session.store.log() if c.id == began)
            for commit, there in [(began, True), *((parent, False) for parent in parents[:1])]:
                found = numbered(session.store.state_at(commit), session.session_id)
                assert (items[at] in found.values()) == there

    @invariant()
    def nothing_else_moved(self):
        if hasattr(self, "store"):
            assert self.store.get("plan:a").content == "basic"


Sessions.TestCase.settings = settings(
    deadline=None, max_examples=15, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
TestSessions = Sessions.TestCase


@pytest.mark.parametrize("name", ["u1", "x" * 1100], ids=["short", "cut"])
def test_a_number_that_was_taken_back_has_a_history(name):
    with mnem.open(":memory:") as store:
        session = MnemosyneSession(store, name)
        run(session.add_items([{"role": "user", "content": "Hello"}]))
        added = store.head_commit()
        run(session.pop_item())
        store.write({"plan:a": "basic"}, message="other memory")
        store.revert(added, message="take back")
        expected = ["take back", "pop", "add"]
        for told in [session.history(), session.history(3), session.history(200)]:
            messages = [commit.message for commit in told]
            assert [message.split(" from ")[0].split(" 1 ")[0] for message in messages] == expected
