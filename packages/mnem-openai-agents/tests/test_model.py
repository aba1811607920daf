"""Sessions beside plain dicts: random calls through several handles, on branches of one store."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import mnem
import pytest
from mnem import keys
from mnem_openai_agents import MnemosyneSession

# Two handles of one session, one of a session whose name begins alike, and one whose ids are cut.
NAMES = ["u1", "u1", "u1:x", "x" * 1100]
# What is done, the frequent more than once.
STEPS = [
    *["add", "add", "add", "pop", "pop", "clear", "read", "read", "read"],
    *["branch", "branch_from_turn", "switch", "switch", "merge", "merge_past_the_session"],
    *["revert", "history", "why_and_bisect"],
]


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


class Sessions:
    """``items`` is what each branch holds of each session, ``given`` the next number there."""

    def __init__(self, choose):
        self.choose = choose
        self.store = mnem.open(":memory:")
        self.store.write({"plan:a": "basic"}, message="other memory")
        self.sessions = [MnemosyneSession(self.store, name) for name in NAMES]
        self.at = ["main" for _ in NAMES]
        self.items: dict[tuple[str, str], dict[int, Any]] = {("main", name): {} for name in NAMES}
        self.given = dict.fromkeys(self.items, 0)
        self.count = 0

    def done(self):
        assert self.store.get("plan:a").content == "basic"
        assert self.store.verify().ok
        self.store.close()

    def place(self, handle):
        return self.at[handle], NAMES[handle]

    def inorder(self, handle):
        return [item for _, item in sorted(self.items[self.place(handle)].items())]

    def any_handle(self):
        return self.choose.randrange(len(NAMES))

    def any_branch(self):
        # Of many the older ones, so that they meet again.
        return self.choose.choice(list(dict.fromkeys(name for name, _ in self.items))[:5])

    def any_strategy(self):
        return self.choose.choice(["ours", "theirs"])

    def copy(self, branch, to):
        for name in NAMES:
            self.items[to, name] = dict(self.items[branch, name])
            self.given[to, name] = self.given[branch, name]

    def read_again(self, branch, merged):
        """Whatever stands there is the model."""
        memory = self.store.on(branch).memory()
        for name in NAMES:
            self.items[branch, name] = numbered(memory, name)
            self.given[branch, name] = max(self.given[branch, name], self.given[merged, name])

    def go_on_at(self, branch, merged):
        """After what went past the sessions."""
        self.read_again(branch, merged)
        for handle, session in enumerate(self.sessions):
            if self.choose.random() < 0.5:
                self.at[handle] = branch
                session.switch(branch)
                self.history(handle)
                self.add(handle)

    # ---- the SDK's methods ----

    def add(self, handle=None):
        handle = self.any_handle() if handle is None else handle
        place, items = self.place(handle), []
        for _ in range(self.choose.choice([1, 1, 2, 3, 13])):
            self.count += 1
            role = self.choose.choice(["user", "assistant"])
            items.append({"role": role, "content": str(self.count)})
        run(self.sessions[handle].add_items(items))
        found = numbered(self.store.on(place[0]).memory(), place[1])
        first = next(number for number, item in found.items() if item == items[0])
        # No number is given again.
        assert first >= self.given[place]
        self.items[place] |= dict(enumerate(items, first))
        self.given[place] = first + len(items)
        assert found == self.items[place]

    def pop(self):
        handle = self.any_handle()
        items = self.items[self.place(handle)]
        expected = items.pop(max(items)) if items else None
        assert run(self.sessions[handle].pop_item()) == expected

    def clear(self):
        handle = self.any_handle()
        run(self.sessions[handle].clear_session())
        self.items[self.place(handle)].clear()

    def read(self):
        handle, limit = self.any_handle(), self.choose.choice([1, 2, 3, 7, 30])
        expected = self.inorder(handle)
        assert run(self.sessions[handle].get_items()) == expected
        assert run(self.sessions[handle].get_items(limit)) == expected[-limit:]

    # ---- branches ----

    def branch(self):
        handle, name = self.any_handle(), f"b{self.choose.randrange(4)}"
        if (name, "u1") not in self.items:
            assert self.sessions[handle].branch(name) == name
            self.copy(self.at[handle], name)

    def branch_from_turn(self):
        handle, back = self.any_handle(), self.choose.randrange(3)
        here, name = self.place(handle)
        items = self.items[here, name]
        turns = [number for number, item in sorted(items.items()) if item["role"] == "user"]
        if len(turns) > back:
            turn = len(turns) - back
            new = self.sessions[handle].branch_from_turn(turn)
            self.copy(here, new)
            kept = {number: item for number, item in items.items() if number < turns[turn - 1]}
            self.items[new, name] = kept

    def switch(self):
        handle = self.any_handle()
        self.at[handle] = self.any_branch()
        self.sessions[handle].switch(self.at[handle])

    def merge(self):
        handle, theirs = self.any_handle(), self.any_branch()
        here = self.at[handle]
        assert self.sessions[handle].merge(theirs, strategy=self.any_strategy()).ok
        self.read_again(here, theirs)

    def merge_past_the_session(self):
        here, theirs = self.any_branch(), self.any_branch()
        assert self.store.on(here).merge(theirs, strategy=self.any_strategy()).ok
        self.go_on_at(here, theirs)

    def revert(self):
        here = self.any_branch()
        commit = self.choose.choice(self.store.on(here).log(limit=6))
        if commit.parents:
            strategy = self.any_strategy()
            assert self.store.on(here).revert(commit.id, strategy=strategy).ok
            self.go_on_at(here, here)

    # ---- history ----

    def history(self, handle=None):
        """Beside a plain reading of the whole history."""
        handle = self.any_handle() if handle is None else handle
        limit = self.choose.randrange(5)
        here, name = self.place(handle)
        whole = self.store.on(here).log()
        prefix = keys.prefix(name)
        states = {commit.id: self.store.state_at(commit.id, prefix=prefix) for commit in whole}

        def touches(commit):
            parents = [states[parent] for parent in commit.parents]
            ids = {id for state in (states[commit.id], *parents) for id in state}
            says = states[commit.id]
            return any(all(told.get(id) != says.get(id) for told in parents) for id in ids)

        expected = [commit for commit in whole if touches(commit)]
        assert self.sessions[handle].history() == expected
        assert self.sessions[handle].history(limit) == expected[:limit]

    def why_and_bisect(self):
        handle = self.any_handle()
        session, items = self.sessions[handle], self.inorder(handle)
        if items:
            place = self.choose.randrange(len(items))
            why = session.why(place)
            assert (why.removed, why.node.content) == (False, items[place])
            began = session.bisect(lambda found: items[place] in found)
            (commit,) = session.store.log(at=began, limit=1)
            befores = [(parent, False) for parent in commit.parents[:1]]
            for at, holds in [(began, True), *befores]:
                found = numbered(self.store.state_at(at), NAMES[handle])
                assert (items[place] in found.values()) == holds


@pytest.mark.parametrize("seed", range(30))
def test_random_calls(seed):
    sessions = Sessions(random.Random(seed))
    for _ in range(80):
        getattr(sessions, sessions.choose.choice(STEPS))()
    sessions.done()


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
