"""Bad input: its class, its sentence, and that the store's bytes are as before.

Content has its own table in ``test_content.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import mnem
import pytest
from mnem import agents

LONGEST_ID = 1024

IDS = {
    "empty": ("", "a node id must not be empty"),
    "too long": ("é" * 513, f'the node id "{"é" * 40}"… has 1026 bytes, more than 1024'),
    "nul": ("a\0b", r'the node id "a\0b" contains a NUL character'),
}

BRANCHES = {
    "": "must not be empty",
    "HEAD": "is reserved",
    "a b": "must not contain whitespace or control characters",
    "a\nb": "must not contain whitespace or control characters",
    "a~1": "may contain letters, digits, '-', '_', '.' and '/' only",
    "a@{0}": "may contain letters, digits, '-', '_', '.' and '/' only",
    "/a": "must not begin or end with '/' or '.'",
    "a/": "must not begin or end with '/' or '.'",
    ".a": "must not begin or end with '/' or '.'",
    "a..b": "must not contain '..'",
    "0" * 64: "must not look like a commit id",
}


@pytest.fixture
def filled(store):
    agents.remember(store, "a", 1, time_ms=1)
    return store


@pytest.mark.parametrize("name", IDS)
def test_node_ids(filled, bytes_of, raised, name):
    id, sentence = IDS[name]
    before = bytes_of(filled)
    for write in (
        lambda: filled.add(id, 1),
        lambda: filled.write({"b": 1, id: 1}, message="m"),
        lambda: filled.update(lambda _: {"b": 1, id: 1}, message="m"),
        lambda: agents.remember(filled, id, 1),
        lambda: agents.remember_many(filled, [{"id": "b", "content": 1}, {"id": id, "content": 1}]),
    ):
        error = raised(write)
        assert type(error) is mnem.InvalidRefError
        assert str(error) == sentence
    assert filled.get(id) is None
    assert not filled.exists(id)
    assert bytes_of(filled) == before


def test_the_longest_node_id(filled):
    id = "é" * (LONGEST_ID // 2)
    agents.remember(filled, id, 1)
    assert filled.get(id).id == id


@pytest.mark.parametrize("name", BRANCHES)
def test_branch_names(filled, bytes_of, raised, name):
    before = bytes_of(filled)
    for make in (
        lambda: filled.new_branch(name),
        lambda: filled.branch(name),
        lambda: filled.checkout(create=name),
        lambda: filled.on(name),
    ):
        error = raised(make)
        assert type(error) is mnem.InvalidRefError
        assert str(error).endswith(BRANCHES[name])
        assert str(error).startswith("the branch name ")
    assert filled.delete_branch(name) is False
    assert bytes_of(filled) == before
    with pytest.raises(mnem.InvalidRefError, match="the branch name "):
        mnem.init(filled.root.parent / "another", default_branch=name)
    assert not (filled.root.parent / "another").exists()


REVISIONS = {
    "nope": 'no branch named "nope", and it is not a commit id prefix (4 to 64 lowercase hex)',
    "": 'no branch named "", and it is not a commit id prefix (4 to 64 lowercase hex)',
    "abc": 'no branch named "abc", and it is not a commit id prefix (4 to 64 lowercase hex)',
    "0"
    * 65: f'no branch named "{"0" * 65}", and it is not a commit id prefix (4 to 64 lowercase hex)',
    "00000": 'no commit matching "00000"',
    "main~9": '"main~9" goes back beyond the first commit',
    "main^2": '"main^2": ',
    "main~0x": '"main~0x" is not a revision: ',
    "main@{never}": '"never" in "main@{never}" is no ISO 8601 time and no Unix milliseconds',
    "@{": '"@{" is not a revision: ',
    "main~99999999999999999999": '"main~99999999999999999999" is not a revision: ',
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_revisions(filled, bytes_of, raised, revision):
    before = bytes_of(filled)
    for use in (
        lambda: filled.resolve(revision),
        lambda: filled.state_at(revision),
        lambda: filled.blame("a", revision),
        lambda: filled.diff(revision),
        lambda: filled.changed_by(revision),
        lambda: filled.checkout(revision),
        lambda: filled.merge(revision),
        lambda: filled.new_branch("b", start=revision),
        lambda: filled.bisect(lambda _: True, bad=revision),
        lambda: filled.write({"a": 2}, message="m", base=revision),
        lambda: agents.recall(filled, at=revision),
    ):
        error = raised(use)
        assert type(error) is mnem.InvalidRefError
        assert str(error).startswith(REVISIONS[revision])
    assert bytes_of(filled) == before


def test_an_ambiguous_prefix_lists_what_it_may_be(tmp_path):
    """Commits of a reproducible store at fixed times; enough that a prefix of four meets."""
    with mnem.init(tmp_path, reproducible=True) as store:
        by_prefix: dict[str, list[str]] = {}
        for number in range(1500):
            commit = store.write({"a": number}, message="m", author="x", time_ms=number)
            by_prefix.setdefault(commit[:4], []).append(commit)
        prefix, commits = next((p, c) for p, c in by_prefix.items() if len(c) > 1)
        names = ", ".join(sorted(commit[:12] for commit in commits))
        with pytest.raises(mnem.InvalidRefError) as caught:
            store.resolve(prefix)
        assert str(caught.value) == f'"{prefix}" is ambiguous: {names}'


def test_deleting_branches(filled, bytes_of, raised):
    before = bytes_of(filled)
    assert str(raised(lambda: filled.delete_branch("main"))) == (
        "cannot delete main: it is the current branch"
    )
    filled.checkout(filled.head_commit())
    error = raised(lambda: filled.delete_branch("main"))
    assert (type(error), str(error)) == (
        mnem.InvalidRefError,
        "cannot delete main: it is the last branch",
    )
    filled.checkout("main")
    assert bytes_of(filled) == before


def test_types_of_arguments(filled, bytes_of, raised):
    before = bytes_of(filled)
    for call in (
        lambda: filled.write([("a", 1)], message="m"),
        lambda: filled.write({1: 1}, message="m"),
        lambda: filled.write({"a": 2}, message=None),
        lambda: filled.write({"a": 2}, message="m", time_ms="now"),
        lambda: filled.add_node({"id": "a"}),
        lambda: filled.add("a", 1, provenance={"source": "x"}),
        lambda: filled.merge("main", resolutions=[1]),
        lambda: filled.merge("main", resolutions={"a": 1}),
        lambda: filled.get(b"a"),
        lambda: filled.bisect("no callable"),
        lambda: filled.update("no callable", message="m"),
        lambda: mnem.open(5),
    ):
        assert isinstance(raised(call), TypeError)
    assert bytes_of(filled) == before


# ---- damaged and foreign stores ----


def edit_config(change):
    def damage(directory):
        path = directory / ".mnem" / "config"
        path.write_text(change(path.read_text()))

    return damage


def without(key):
    def change(text):
        kept = [line for line in text.splitlines(keepends=True) if not line.startswith(key)]
        assert len(kept) + 1 == len(text.splitlines())
        return "".join(kept)

    return edit_config(change)


def replaced(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)

    return edit_config(change)


def data_file(change):
    def damage(directory):
        path = directory / ".mnem" / "store.redb"
        bytes_ = change(path.read_bytes())
        path.unlink()
        if bytes_ is not None:
            path.write_bytes(bytes_)

    return damage


CORRUPT = mnem.CorruptStoreError
DAMAGED = {
    "no format_version": (without("format_version"), CORRUPT, "has no format_version"),
    "no hash_algo": (without("hash_algo"), CORRUPT, "has no hash_algo"),
    "no engine": (without("engine"), CORRUPT, "has no engine"),
    "unknown hash": (replaced("blake3", "md5"), CORRUPT, 'names the hash "md5", not "blake3"'),
    "version no number": (
        replaced("format_version = 2", "format_version = two"),
        CORRUPT,
        'has the format_version "two", which is no number',
    ),
    "newer format": (
        replaced("format_version = 2", "format_version = 3"),
        mnem.FormatVersionError,
        "format version 3",
    ),
    "format 1": (
        replaced("format_version = 2", "format_version = 1"),
        CORRUPT,
        "the file is not one of format version 1",
    ),
    "foreign": (
        edit_config(lambda _: "[core]\n\tbare = true\n"),
        CORRUPT,
        "config does not say what the store is, and the rest of a store is there",
    ),
    "no config": (
        lambda directory: (directory / ".mnem" / "config").unlink(),
        CORRUPT,
        "config is missing, and the rest of a store is there",
    ),
    "no data": (data_file(lambda _: None), CORRUPT, ""),
    "empty data": (data_file(lambda _: b""), CORRUPT, ""),
    "short data": (data_file(lambda data: data[: len(data) // 2]), CORRUPT, ""),
    "a few bytes": (data_file(lambda data: data[:100]), CORRUPT, ""),
    "other data": (data_file(lambda _: b"SQLite format 3\0" * 4096), CORRUPT, ""),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_stores(filled, bytes_of, raised, name):
    damage, kind, sentence = DAMAGED[name]
    filled.close()
    damage(filled.root)
    before = bytes_of(filled)
    for _ in range(2):
        error = raised(lambda: mnem.open(filled.root, busy_timeout=0))
        assert type(error) is kind, repr(error)
        assert sentence in str(error)
        assert "\n" not in str(error)
    if kind is not mnem.NoStoreError:
        assert isinstance(raised(lambda: mnem.init(filled.root)), mnem.StoreExistsError)
    assert bytes_of(filled) == before


HEADS = ["", "\n", "junk\n", "ref: \n", "ref: a\nb\n", "0" * 63 + "\n", "\udcff\n"]


@pytest.mark.parametrize("text", HEADS)
def test_head_with_junk(filled, bytes_of, raised, text):
    (filled.root / ".mnem" / "HEAD").write_bytes(text.encode(errors="surrogateescape"))
    before = bytes_of(filled)
    for use in (
        filled.head,
        filled.memory,
        filled.log,
        lambda: agents.remember(filled, "b", 1),
    ):
        error = raised(use)
        assert type(error) is CORRUPT
        assert "HEAD" in str(error)
    assert bytes_of(filled) == before


def flip(store, text):
    """Change a byte of a text where it stands in the closed store's file."""
    path = store.root / ".mnem" / "store.redb"
    data = path.read_bytes()
    at = data.index(text)
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def test_an_altered_object_is_never_served(filled):
    """Among rows that are indexed: it is found when it is read, and blocks no other."""
    agents.remember(filled, "b", "a text that is easy to find")
    object = filled.add("b", "a text that is easy to find")
    filled.unstage("b")
    for number in range(300):
        agents.remember(filled, "n", number)
    filled.close()
    flip(filled, b"easy to find")
    with mnem.open(filled.root) as store:
        for read in (lambda: store.get("b"), store.memory, lambda: store.blame("b")):
            with pytest.raises(mnem.CorruptStoreError, match=object):
                read()
        assert store.get("n").content == 299
        verified = store.verify()
        assert not verified.ok
        assert any(object in problem for problem in verified.problems)
        found = store.fsck()
        assert not found.ok
        named = [finding for finding in found.findings if object in finding.message]
        assert [(finding.kind, finding.warning) for finding in named] == [("object", False)]
        assert '"b"' in named[0].message
        assert "mnem fsck --repair" in named[0].hint


def test_an_altered_newest_row_is_found_at_open(filled):
    agents.remember(filled, "b", "a text that is easy to find")
    filled.close()
    flip(filled, b"easy to find")
    with pytest.raises(mnem.CorruptStoreError, match="damaged"):
        mnem.open(filled.root)


def test_a_repair_saves_the_rest_and_names_what_is_lost(filled, bytes_of):
    kept = filled.get("a")
    agents.remember(filled, "b", "a text that is easy to find")
    with pytest.raises(mnem.ConflictError, match="is open in this process"):
        mnem.repair(filled.root)
    filled.close()
    flip(filled, b"easy to find")
    before = bytes_of(filled)
    found = mnem.repair(filled.root, dry_run=True)
    assert bytes_of(filled) == before
    assert any("b" in finding.message for finding in found.findings)
    assert (found.losses, found.data_file, found.kept) == ((), None, None)
    repaired = mnem.repair(filled.root)
    assert repaired.findings == found.findings
    assert any('"b"' in loss.message for loss in repaired.losses)
    assert repaired.objects > 0
    assert repaired.kept != repaired.data_file
    with mnem.open(filled.root) as store:
        assert store.get("a") == kept
        agents.remember(store, "b", "again")
        assert store.get("b").content == "again"
    # What its commit remembered stays lost.
    left = mnem.repair(filled.root, dry_run=True).findings
    assert left
    assert all(finding in repaired.losses for finding in left)


READ_ONLY = """
import os, sys
directory, uid = sys.argv[1], int(sys.argv[2])
import mnem
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
try:
    open(os.path.join(directory, "probe"), "w")
    print("the directory can be written")
except PermissionError:
    print("refused")
for use in (mnem.init, mnem.open):
    try:
        use(os.path.join(directory, "new") if use is mnem.init else directory)
        print("done")
    except mnem.MnemError as error:
        print(type(error).__name__, error.code, isinstance(error, OSError))
"""

READ_AND_WRITE = """
with mnem.open(directory) as store:
    print(sorted(store.memory()) == sorted(sys.argv[3:]))
    try:
        store.write({"new": 1}, message="learn")
    except mnem.StoreIoError as error:
        print(str(error).startswith(f"the store at {directory} can only be read"))
"""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users and their permissions")
def test_a_directory_that_cannot_be_written(filled, tmp_path_factory):
    """It is read. Root may write anywhere, so it is tried as another user."""
    nodes = sorted(filled.memory())
    filled.close()
    directory = tmp_path_factory.mktemp("read-only") / "agent"
    shutil.copytree(filled.root, directory)
    paths = [directory, *directory.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for above in directory.parents:
        if above.stat().st_uid == os.getuid() and above != above.parent:
            above.chmod(above.stat().st_mode | 0o055)
    plain = directory.parent / "nobody"
    plain.mkdir()
    before = {path: path.read_bytes() for path in paths if path.is_file()}
    readable = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(plain), "65534"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert readable.stdout.splitlines()[:2] == [
        "refused" if os.getuid() == 0 else "the directory can be written",
        "StoreIoError store_io True" if os.getuid() == 0 else "done",
    ], readable.stderr
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY + READ_AND_WRITE, str(directory), "65534", *nodes],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[0] == "refused", done.stderr
    assert done.stdout.splitlines()[2:] == ["done", "True", "True"], done.stdout + done.stderr
    assert {path: path.read_bytes() for path in paths if path.is_file()} == before
