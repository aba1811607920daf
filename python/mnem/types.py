"""The dataclasses: what a store holds and what its verbs answer.

Times are Unix milliseconds; ids of commits, states and node versions are 64 lowercase
hexadecimal digits. ``to_dict`` gives plain values that ``json.dumps`` takes.

Long: small classes of one kind, with an example each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Blame",
    "Carried",
    "ChatReport",
    "Commit",
    "Conflict",
    "Finding",
    "Flip",
    "Fsck",
    "ImportReport",
    "MemoryNode",
    "MergeResult",
    "Migration",
    "Move",
    "NodeChange",
    "Provenance",
    "Repair",
    "UndoResult",
    "Verified",
]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a belief came from. Every field may be unset.

    >>> Provenance(source="ticket-4821").to_dict()["source"]
    'ticket-4821'
    """

    agent_step: str | None = None
    observation: str | None = None
    tool_call: str | None = None
    source: str | None = None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """All five fields, also those that are unset.

        >>> list(Provenance(source="ticket-4821", note="by phone").to_dict().values())
        [None, None, None, 'ticket-4821', 'by phone']
        """
        return {
            "agent_step": self.agent_step,
            "observation": self.observation,
            "tool_call": self.tool_call,
            "source": self.source,
            "note": self.note,
        }


# Of every node that came from nowhere, told by identity.
_NOWHERE = Provenance()


@dataclass(slots=True)
class MemoryNode:
    """One version of one memory.

    ``content`` is any JSON value: ``None``, ``bool``, ``int`` from -2**63 to 2**64-1, finite
    ``float``, ``str``, ``list`` (or ``tuple``) and ``dict``, at most 128 deep and 64 MiB
    encoded. ``content_kind`` is ``"note"`` or ``"claim"``. ``event_time``, ``valid_from`` and
    ``valid_to`` are Unix milliseconds. ``derived_from`` names the versions it was derived
    from, each ``{"id": node id, "object": version}``; no verb reads the last three yet.

    >>> MemoryNode("customer-4821", {"plan": "enterprise"}).content_kind
    'note'
    """

    id: str
    content: Any
    content_kind: str = "note"
    provenance: Provenance = field(default_factory=lambda: _NOWHERE)
    event_time: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    derived_from: list[dict[str, str]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``provenance`` as a dict; the last three only where they are set.

        >>> list(MemoryNode("plan", "basic", valid_to=1_700_000_000_000).to_dict())
        ['id', 'content', 'content_kind', 'provenance', 'event_time', 'valid_to']
        """
        whole: dict[str, Any] = {
            "id": self.id,
            "content": self.content,
            "content_kind": self.content_kind,
            "provenance": self.provenance.to_dict(),
            "event_time": self.event_time,
        }
        for name in ("valid_from", "valid_to", "derived_from"):
            if (value := getattr(self, name)) is not None:
                whole[name] = value
        return whole


def _node_dict(node: MemoryNode | None) -> dict[str, Any] | None:
    return None if node is None else node.to_dict()


@dataclass(frozen=True, slots=True)
class Commit:
    """A point in history. A root has no parents; a merge has two, ours first.

    ``id``, ``state`` and each of ``parents`` are ids, ``time`` is Unix milliseconds.
    """

    id: str
    parents: tuple[str, ...]
    state: str
    message: str
    author: str
    time: int

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``parents`` as a list.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic", time_ms=1_700_000_000_000)
        >>> root = store.log()[0].to_dict()
        >>> root["parents"], root["message"], root["author"], root["time"]
        ([], 'remember plan', 'agent', 1700000000000)
        """
        return {
            "id": self.id,
            "parents": list(self.parents),
            "state": self.state,
            "message": self.message,
            "author": self.author,
            "time": self.time,
        }


@dataclass(frozen=True, slots=True)
class Blame:
    """Which commit set what a node says.

    ``node`` is the node as that commit set it, ``time`` its event time or else the commit's.
    Of a node that is gone, ``removed`` is true, ``commit`` removed it, ``node`` is what it
    removed and ``time`` the commit's.
    """

    commit: str
    node: MemoryNode
    time: int
    removed: bool = False

    @property
    def provenance(self) -> Provenance:
        """Where the belief came from."""
        return self.node.provenance

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``node`` as a dict; ``removed`` only where it is true.

        >>> store = mnem.open(":memory:")
        >>> commit = mnem.agents.remember(store, "plan", "basic", event_time=5)
        >>> blame = store.blame("plan").to_dict()
        >>> blame == {"commit": commit, "node": store.get("plan").to_dict(), "time": 5}
        True
        """
        whole = {"commit": self.commit, "node": self.node.to_dict(), "time": self.time}
        return whole | {"removed": True} if self.removed else whole


@dataclass(frozen=True, slots=True)
class Flip:
    """A commit at which the answer to a question about a node changed.

    ``holds`` is the answer from there on, ``node`` the node there.
    """

    commit: str
    holds: bool
    node: MemoryNode | None

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``node`` as a dict or ``None``.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> commit = mnem.agents.forget(store, "plan")
        >>> last = store.flips("plan", present=True)[-1].to_dict()
        >>> last == {"commit": commit, "holds": False, "node": None}
        True
        """
        return {"commit": self.commit, "holds": self.holds, "node": _node_dict(self.node)}


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A change of one node; ``kind`` is ``"added"``, ``"modified"`` or ``"removed"``.

    An added node has no ``old``, a removed one no ``new``.
    """

    id: str
    kind: str
    old: MemoryNode | None
    new: MemoryNode | None

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``old`` and ``new`` as dicts or ``None``.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> store.rm("plan")
        >>> change = store.diff()[0].to_dict()
        >>> change["kind"], change["old"]["content"], change["new"]
        ('removed', 'basic', None)
        """
        return {
            "id": self.id,
            "kind": self.kind,
            "old": _node_dict(self.old),
            "new": _node_dict(self.new),
        }


@dataclass(frozen=True, slots=True)
class Conflict:
    """A node that both sides of a merge changed, apart.

    ``kind`` says what each side did, ours first: ``"edit/edit"``, ``"delete/edit"``,
    ``"edit/delete"`` or ``"add/add"``. A side that removed the node is ``None``, and so is a
    base that had none, or the base of sides that last agreed in several places which disagree.
    """

    id: str
    kind: str
    base: MemoryNode | None
    ours: MemoryNode | None
    theirs: MemoryNode | None

    def to_dict(self) -> dict[str, Any]:
        """The fields, each side as a dict or ``None``.

        >>> ours, theirs = MemoryNode("plan", "basic"), MemoryNode("plan", "enterprise")
        >>> conflict = Conflict("plan", "add/add", None, ours, theirs).to_dict()
        >>> conflict["base"], conflict["ours"]["content"], conflict["theirs"]["content"]
        (None, 'basic', 'enterprise')
        """
        return {
            "id": self.id,
            "kind": self.kind,
            "base": _node_dict(self.base),
            "ours": _node_dict(self.ours),
            "theirs": _node_dict(self.theirs),
        }


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge or a revert came to.

    ``status`` is ``"up-to-date"``, ``"fast-forwarded"``, ``"merged"`` or ``"conflicts"``; of a
    revert ``"reverted"``, ``"unchanged"`` or ``"conflicts"``. With conflicts nothing was
    written; ``commit`` is where the branch moved to, if it moved.
    """

    status: str
    commit: str | None
    conflicts: tuple[Conflict, ...]

    @property
    def ok(self) -> bool:
        """Whether there was no conflict."""
        return not self.conflicts

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``conflicts`` as a list of dicts.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> store.merge("HEAD").to_dict()
        {'status': 'up-to-date', 'commit': None, 'conflicts': []}
        """
        return {
            "status": self.status,
            "commit": self.commit,
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
        }


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a branch, as the reflog keeps it.

    ``old`` and ``new`` are the commits before and after, ``None`` where there was no branch;
    ``operation`` is the verb, ``time`` the store's own.
    """

    old: str | None
    new: str | None
    operation: str
    author: str
    time: int

    def to_dict(self) -> dict[str, Any]:
        """The fields.

        >>> store = mnem.open(":memory:")
        >>> commit = mnem.agents.remember(store, "plan", "basic", author="ada")
        >>> move = store.reflog()[0].to_dict()
        >>> move["old"], move["new"] == commit, move["author"]
        (None, True, 'ada')
        """
        return {
            "old": self.old,
            "new": self.new,
            "operation": self.operation,
            "author": self.author,
            "time": self.time,
        }


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What an undo came to.

    ``status`` is ``"moved-back"``, ``"reverted"`` or ``"conflicts"``. With conflicts nothing was
    written; else ``commit`` is where the branch is now, ``None`` when it points nowhere.
    ``undone`` is the move that was meant.
    """

    status: str
    commit: str | None
    conflicts: tuple[Conflict, ...]
    undone: Move

    @property
    def ok(self) -> bool:
        """Whether there was no conflict."""
        return not self.conflicts

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``conflicts`` as a list of dicts and ``undone`` as a dict.

        >>> store = mnem.open(":memory:")
        >>> commit = mnem.agents.remember(store, "plan", "basic")
        >>> _ = mnem.agents.remember(store, "plan", "enterprise")
        >>> undone = store.undo().to_dict()
        >>> undone["status"], undone["commit"] == commit, undone["undone"]["old"] == commit
        ('moved-back', True, True)
        """
        return {
            "status": self.status,
            "commit": self.commit,
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "undone": self.undone.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Verified:
    """What a verification read, and what is wrong, a sentence each."""

    nodes: int
    states: int
    commits: int
    branches: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``problems`` as a list.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> store.verify().to_dict()
        {'nodes': 1, 'states': 1, 'commits': 1, 'branches': 1, 'problems': []}
        """
        return {
            "nodes": self.nodes,
            "states": self.states,
            "commits": self.commits,
            "branches": self.branches,
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class Migration:
    """What a migration did, or would do.

    ``changed`` is false after a dry run, and where the store had this format already; then the
    rest is 0. ``trees`` counts state objects that are new, ``staged`` staged nodes and removals.
    ``old_bytes`` is the length of the old data file, ``new_bytes`` what the new one takes on the
    disk: after a dry run, what it would take at most.
    """

    changed: bool
    from_version: int
    to_version: int
    commits: int
    states: int
    nodes: int
    trees: int
    branches: int
    staged: int
    old_bytes: int
    new_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The fields.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     mnem.init(directory).close()
        ...     migration = mnem.migrate(directory, dry_run=True).to_dict()
        >>> migration["changed"], migration["from_version"], migration["to_version"]
        (False, 2, 2)
        """
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a store, in a sentence, and what helps.

    ``kind`` is one of ``file``, ``config``, ``entries``, ``row``, ``index``, ``object``, ``lost``,
    ``no_record``, ``derived``, ``branch``, ``tip``, ``head``, ``staged``, ``lease``, ``twice``,
    ``ahead``, ``leftover``, ``unused``, ``room`` and ``killed``. What is ``lost`` is nowhere in the
    store, and no repair brings it back. A ``warning`` harms nothing.
    """

    kind: str
    message: str
    hint: str
    warning: bool

    def to_dict(self) -> dict[str, Any]:
        """The fields.

        >>> mnem.Finding("head", "HEAD holds 'junk'", "check out a branch", False).to_dict()["kind"]
        'head'
        """
        return {
            "kind": self.kind,
            "message": self.message,
            "hint": self.hint,
            "warning": self.warning,
        }


@dataclass(frozen=True, slots=True)
class Fsck:
    """What a check read, and what does not agree."""

    nodes: int
    states: int
    commits: int
    records: int
    branches: int
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is damaged."""
        return all(finding.warning for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``findings`` as a list of dictionaries.

        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> found = store.fsck().to_dict()
        >>> found["commits"], found["records"], found["findings"]
        (1, 1, [])
        """
        return {
            "nodes": self.nodes,
            "states": self.states,
            "commits": self.commits,
            "records": self.records,
            "branches": self.branches,
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Repair:
    """What was wrong with a store, and what a repair of it did.

    ``losses`` is what could not be saved, now or before, and so is still wrong. ``objects`` counts
    what was saved. ``moved`` has a pair for each branch that was put elsewhere: its name, and its
    commit or None where it is gone. ``head`` is the branch HEAD was put on, None where it was
    right. ``data_file`` is the new data file and ``kept`` the damaged one, None where the data was
    whole or nothing more could be saved. ``removed`` is what ended processes had left.
    """

    findings: tuple[Finding, ...]
    losses: tuple[Finding, ...]
    objects: int
    moved: tuple[tuple[str, str | None], ...]
    head: str | None
    data_file: str | None
    kept: str | None
    removed: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The fields, findings and losses as lists of dictionaries, ``moved`` as one.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     mnem.init(directory).close()
        ...     repair = mnem.repair(directory).to_dict()
        >>> repair["findings"], repair["moved"], repair["kept"]
        ([], {}, None)
        """
        return {
            "findings": [finding.to_dict() for finding in self.findings],
            "losses": [finding.to_dict() for finding in self.losses],
            "objects": self.objects,
            "moved": dict(self.moved),
            "head": self.head,
            "data_file": self.data_file,
            "kept": self.kept,
            "removed": list(self.removed),
        }


@dataclass(frozen=True, slots=True)
class Carried:
    """What an export holds: memory node versions, state objects, commits and branches."""

    nodes: int
    states: int
    commits: int
    branches: int

    def to_dict(self) -> dict[str, Any]:
        """The fields.

        >>> import tempfile, pathlib
        >>> store = mnem.open(":memory:")
        >>> _ = mnem.agents.remember(store, "plan", "basic")
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     store.export(pathlib.Path(directory) / "memory.jsonl").to_dict()
        {'nodes': 1, 'states': 1, 'commits': 1, 'branches': 1}
        """
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What reading memories from elsewhere came to.

    ``read`` counts memories, ``written`` those of them that were new or changed. ``skipped`` has
    a pair for each record that was not read: which it was, a line or an id, and why. ``head`` is
    the branch's commit afterwards.
    """

    read: int
    written: int
    skipped: tuple[tuple[str, str], ...]
    head: str | None

    def to_dict(self) -> dict[str, Any]:
        """The fields, ``skipped`` as a list of lists.

        >>> mnem.types.ImportReport(2, 1, (("line 3", "it is not an object"),), None).to_dict()
        {'read': 2, 'written': 1, 'skipped': [['line 3', 'it is not an object']], 'head': None}
        """
        return {
            "read": self.read,
            "written": self.written,
            "skipped": [list(pair) for pair in self.skipped],
            "head": self.head,
        }


@dataclass(frozen=True, slots=True)
class ChatReport:
    """What reading a transcript into memory came to.

    ``messages`` is its length, ``before`` how many of them were read earlier, ``results`` the
    tool results among the others. ``written`` counts node versions, ``unchanged`` entities that
    said what was known, ``passed_over`` results that named none and were not kept. ``head`` is
    the branch's commit afterwards.
    """

    transcript: str
    messages: int
    before: int
    results: int
    commits: int
    written: int
    unchanged: int
    passed_over: int
    head: str | None

    def to_dict(self) -> dict[str, Any]:
        """The fields.

        >>> store = mnem.open(":memory:")
        >>> messages = [{"role": "user", "content": "Which plan am I on?"}]
        >>> report = mnem.agents.import_chat(store, messages, transcript="run-1").to_dict()
        >>> report["transcript"], report["messages"], report["written"]
        ('run-1', 1, 0)
        """
        return {name: getattr(self, name) for name in self.__slots__}
