//! Records: one per move of a branch, in no hash, with what is derived from the commit beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::codec::canonical::Writer;
use crate::codec::strict::{DecodeError, Reader, Refusal};
use crate::id::{BranchName, CommitId, NodeId, NodeVersionId};
use crate::object::Commit;

/// What happened to a branch, when and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The branch; none for a commit that came without a move.
    pub branch: Option<BranchName>,
    /// Where it pointed before.
    pub old: Option<CommitId>,
    /// Where it points since.
    pub new: Option<CommitId>,
    /// The verb that moved it.
    pub operation: Operation,
    /// Who moved it.
    pub author: String,
    /// The store's own time of the move, in Unix milliseconds.
    pub time: i64,
    /// What follows from the commit that came with the move; none for a move to a commit that
    /// was there before. May be rebuilt at any time.
    pub derived: Option<Derived>,
}

/// The verb that moved a branch, as `mnem reflog` spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation(Cow<'static, str>);

impl Operation {
    /// One write, not through staging.
    pub const WRITE: Self = Self::named("write");
    /// A commit of what was staged.
    pub const COMMIT: Self = Self::named("commit");
    /// A merge commit.
    pub const MERGE: Self = Self::named("merge");
    /// A merge that only moved the branch forward.
    pub const FAST_FORWARD: Self = Self::named("fast-forward");
    /// A commit taken back by a new one.
    pub const REVERT: Self = Self::named("revert");
    /// A node as it was before.
    pub const RESTORE: Self = Self::named("restore");
    /// The last move taken back, or one by a new commit.
    pub const UNDO: Self = Self::named("undo");
    /// A new branch.
    pub const BRANCH: Self = Self::named("branch");
    /// A commit that came with an import.
    pub const IMPORT: Self = Self::named("import");
    /// A branch put where it belongs, or a commit whose record was lost.
    pub const REPAIR: Self = Self::named("repair");
    /// A deleted branch.
    pub const DELETE: Self = Self::named("delete");
    /// A commit that came with the store's old format, and moved no branch here.
    pub const MIGRATE: Self = Self::named("migrate");

    const fn named(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The verb's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What follows from a commit and its first parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// 0 for a root, else one more than the largest of its parents.
    pub generation: u64,
    /// How many first parents it has behind it.
    pub height: u64,
    /// A first-parent ancestor to jump to; none for a root.
    pub skip: Option<Skip>,
    /// What changed against the first parent.
    pub changes: ChangeSet,
}

/// Where a commit stands in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// 0 for a root, else one more than the largest of its parents.
    pub generation: u64,
    /// How many first parents it has behind it.
    pub height: u64,
    /// A first-parent ancestor to jump to; none for a root.
    pub skip: Option<Skip>,
}

/// A jump to a first-parent ancestor, chosen by the skew-binary rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The ancestor's height.
    pub height: u64,
    /// The ancestor.
    pub commit: CommitId,
}

/// The nodes that a commit changed against its first parent.
pub type ChangeSet = BTreeMap<NodeId, Change>;

/// The version of a node before and after; at least one is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Before; none when the node was added.
    pub old: Option<NodeVersionId>,
    /// After; none when the node was removed.
    pub new: Option<NodeVersionId>,
}

impl Derived {
    /// Where the commit stands.
    pub fn position(&self) -> Position {
        let Self { generation, height, skip, .. } = *self;
        Position { generation, height, skip }
    }
}

/// A change set whose encoding is longer than this, in bytes, is stored beside its record and
/// takes a number of its own.
pub const MAX_INLINE_CHANGES: usize = 4_096;

impl Record {
    /// What changed against the first parent of the commit that came with the move.
    pub fn changes(&self) -> &ChangeSet {
        static NOTHING: ChangeSet = ChangeSet::new();
        self.derived.as_ref().map_or(&NOTHING, |derived| &derived.changes)
    }

    /// The commit that came with the move, and where it stands.
    pub fn stands(&self) -> Option<(CommitId, Position)> {
        Some((self.new?, self.derived.as_ref()?.position()))
    }

    /// The record of a commit that came without a move: its time and its author are the commit's.
    pub fn without_a_move(
        id: CommitId,
        commit: &Commit,
        operation: Operation,
        derived: Derived,
    ) -> Self {
        Self {
            branch: None,
            old: None,
            new: Some(id),
            operation,
            author: commit.author.clone(),
            time: commit.time,
            derived: Some(derived),
        }
    }

    /// How many numbers the record takes: one, or two with a large change set.
    pub fn numbers(&self) -> u64 {
        if encode_changes(self.changes()).len() > MAX_INLINE_CHANGES { 2 } else { 1 }
    }

    /// The record without its change set, which [`encode_changes`] encodes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::new();
        out.array(7);
        optional(&mut out, self.branch.as_ref(), |out, name| out.text(name.as_str()));
        for commit in [&self.old, &self.new] {
            optional(&mut out, commit.as_ref(), |out, id| out.bytes(id.as_bytes()));
        }
        out.text(self.operation.as_str());
        out.text(&self.author);
        out.integer(self.time.into());
        optional(&mut out, self.derived.as_ref(), |out, derived| {
            out.array(3);
            out.integer(derived.generation.into());
            out.integer(derived.height.into());
            optional(out, derived.skip.as_ref(), |out, skip| {
                out.array(2);
                out.integer(skip.height.into());
                out.bytes(skip.commit.as_bytes());
            });
        });
        out.finish()
    }

    /// Reads what [`Record::encode`] wrote; the change set comes back empty.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        exactly(&mut reader, 7)?;
        let record = Self {
            branch: nullable(&mut reader, |r| r.text().map(BranchName::from_stored))?,
            old: nullable(&mut reader, |r| r.bytes().map(CommitId::from_bytes))?,
            new: nullable(&mut reader, |r| r.bytes().map(CommitId::from_bytes))?,
            operation: Operation(Cow::Owned(reader.text()?.to_owned())),
            author: reader.text()?.to_owned(),
            time: reader.integer()?,
            derived: nullable(&mut reader, |r| {
                exactly(r, 3)?;
                Ok(Derived {
                    generation: r.integer()?,
                    height: r.integer()?,
                    skip: nullable(r, |r| {
                        exactly(r, 2)?;
                        Ok(Skip { height: r.integer()?, commit: CommitId::from_bytes(r.bytes()?) })
                    })?,
                    changes: ChangeSet::new(),
                })
            })?,
        };
        reader.end()?;
        Ok(record)
    }
}

/// Encodes a change set: an array of node id, old, new in the order of the ids.
pub fn encode_changes(changes: &ChangeSet) -> Vec<u8> {
    let mut out = Writer::new();
    out.array(changes.len());
    for (id, change) in changes {
        out.array(3);
        out.text(id.as_str());
        for version in [&change.old, &change.new] {
            optional(&mut out, version.as_ref(), |out, id| out.bytes(id.as_bytes()));
        }
    }
    out.finish()
}

/// Reads what [`encode_changes`] wrote.
pub fn decode_changes(bytes: &[u8]) -> Result<ChangeSet, DecodeError> {
    let mut reader = Reader::new(bytes);
    let mut changes = ChangeSet::new();
    for _ in 0..reader.array()? {
        exactly(&mut reader, 3)?;
        let id = NodeId::from_stored(reader.text()?);
        let old = nullable(&mut reader, |r| r.bytes().map(NodeVersionId::from_bytes))?;
        let new = nullable(&mut reader, |r| r.bytes().map(NodeVersionId::from_bytes))?;
        changes.insert(id, Change { old, new });
    }
    reader.end()?;
    Ok(changes)
}

fn optional<T>(out: &mut Writer, value: Option<&T>, write: impl FnOnce(&mut Writer, &T)) {
    match value {
        Some(value) => write(out, value),
        None => out.null(),
    }
}

fn nullable<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, DecodeError>,
) -> Result<Option<T>, DecodeError> {
    if reader.null() { Ok(None) } else { read(reader).map(Some) }
}

fn exactly(reader: &mut Reader<'_>, count: usize) -> Result<(), DecodeError> {
    if reader.array()? == count {
        Ok(())
    } else {
        Err(DecodeError { at: 0, refusal: Refusal::WrongType })
    }
}
