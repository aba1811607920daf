//! The dataclasses of `mnem.types`, made of what the core answers and read into what it takes.
//!
//! Long: each dataclass has its functions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use mnem_store::backend::Record;
use mnem_store::object::Lineage;
use mnem_store::ops::{
    Blame, Changes, Conflict, Finding, Flip, Fsck, MergeOutcome, Migrated, NodeChange, Repair,
    Resolution, RevertOutcome, Strategy, UndoOutcome, Undone, Verified,
};
use mnem_store::portable::Carried;
use mnem_store::portable::chat::ChatReport;
use mnem_store::portable::plain::JsonReport;
use mnem_store::store::FormatVersion;
use mnem_store::store::local::LocalEdit;
use mnem_store::{
    BranchName, Commit, CommitId, Content, ContentKind, Error, MemoryNode, NodeId, NodeVersionId,
    Provenance,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyMapping, PyNone, PyString, PyTuple};

use crate::convert::{Keys, Text, Time, content_from_python, content_to_python};
use crate::errors::{Failure, wrong_type};

type Made<'py> = PyResult<Bound<'py, PyAny>>;

/// A class of `mnem.types`.
fn class<'py>(py: Python<'py>, name: &str) -> Made<'py> {
    py.import(intern!(py, "mnem.types"))?.getattr(name)
}

/// `None`, or what `make` makes of the value.
fn optional<'py, T>(
    py: Python<'py>,
    value: Option<&T>,
    make: impl FnOnce(&T) -> Made<'py>,
) -> Made<'py> {
    value.map_or_else(|| Ok(PyNone::get(py).to_owned().into_any()), make)
}

/// The classes of nodes, looked up once.
struct NodeClasses {
    node: Py<PyAny>,
    /// `object.__new__`
    new: Py<PyAny>,
    provenance: Py<PyAny>,
    /// Frozen, so one serves every node without provenance.
    nowhere: Py<PyAny>,
}

static CLASSES: PyOnceLock<NodeClasses> = PyOnceLock::new();

/// Makes nodes.
pub struct Nodes<'py> {
    node: &'py Bound<'py, PyAny>,
    new: &'py Bound<'py, PyAny>,
    provenance: &'py Bound<'py, PyAny>,
    nowhere: &'py Bound<'py, PyAny>,
    keys: Keys<'py>,
    /// Frozen, so one serves all nodes in a row that have it.
    last: RefCell<Option<(Provenance, Bound<'py, PyAny>)>>,
}

impl<'py> Nodes<'py> {
    fn new(py: Python<'py>) -> PyResult<Self> {
        let NodeClasses { node, new, provenance, nowhere } = CLASSES.get_or_try_init(py, || {
            let class = |name| class(py, name).map(Bound::unbind);
            let (node, provenance) = (class("MemoryNode")?, class("Provenance")?);
            let new = node.getattr(py, "__new__")?;
            Ok::<_, PyErr>(NodeClasses { node, new, provenance, nowhere: class("_NOWHERE")? })
        })?;
        Ok(Self {
            node: node.bind(py),
            new: new.bind(py),
            provenance: provenance.bind(py),
            nowhere: nowhere.bind(py),
            keys: Keys::default(),
            last: RefCell::default(),
        })
    }

    /// For many nodes, which then share what cannot be changed.
    pub fn of_many(py: Python<'py>) -> PyResult<Self> {
        Ok(Self { keys: Keys::of_many(), ..Self::new(py)? })
    }

    /// Puts a node into a `dict`, under its id.
    pub fn put(&self, memory: &Bound<'py, PyDict>, node: &MemoryNode) -> PyResult<()> {
        let id = PyString::new(memory.py(), node.id.as_str());
        memory.set_item(&id, self.make_with(&id, node)?)
    }

    fn make(&self, node: &MemoryNode) -> Made<'py> {
        self.make_with(&PyString::new(self.node.py(), node.id.as_str()), node)
    }

    /// Sets every field, which takes half the time of a call of the class.
    fn make_with(&self, id: &Bound<'py, PyString>, node: &MemoryNode) -> Made<'py> {
        let py = self.node.py();
        let made = self.new.call1((self.node,))?;
        made.setattr(intern!(py, "id"), id)?;
        made.setattr(intern!(py, "content"), content_to_python(py, &node.content, &self.keys)?)?;
        let kind = match node.content_kind {
            ContentKind::Note => intern!(py, "note"),
            ContentKind::Claim => intern!(py, "claim"),
        };
        made.setattr(intern!(py, "content_kind"), kind)?;
        made.setattr(intern!(py, "provenance"), self.provenance(&node.provenance)?)?;
        made.setattr(intern!(py, "event_time"), node.event_time)?;
        made.setattr(intern!(py, "valid_from"), node.valid_from)?;
        made.setattr(intern!(py, "valid_to"), node.valid_to)?;
        let lineage = (!node.derived_from.is_empty()).then_some(&node.derived_from);
        let lineage = optional(py, lineage, |lineage| lineage_to_python(py, lineage))?;
        made.setattr(intern!(py, "derived_from"), lineage)?;
        Ok(made)
    }

    fn provenance(&self, provenance: &Provenance) -> Made<'py> {
        if provenance.is_empty() {
            return Ok(self.nowhere.clone());
        }
        if let Some((last, made)) = &*self.last.borrow()
            && last == provenance
        {
            return Ok(made.clone());
        }
        let Provenance { agent_step, observation, tool_call, source, note } = provenance;
        let made = self.provenance.call1((agent_step, observation, tool_call, source, note))?;
        *self.last.borrow_mut() = Some((provenance.clone(), made.clone()));
        Ok(made)
    }

    fn optional(&self, node: Option<&Arc<MemoryNode>>) -> Made<'py> {
        optional(self.node.py(), node, |node| self.make(node))
    }

    fn read_provenance(&self, object: &Bound<'py, PyAny>) -> Result<Provenance, Failure> {
        if object.is(self.nowhere) || object.is_none() {
            return Ok(Provenance::default());
        }
        expect_instance(object, self.provenance)?;
        let py = object.py();
        Ok(Provenance {
            agent_step: optional_text(object, intern!(py, "agent_step"))?,
            observation: optional_text(object, intern!(py, "observation"))?,
            tool_call: optional_text(object, intern!(py, "tool_call"))?,
            source: optional_text(object, intern!(py, "source"))?,
            note: optional_text(object, intern!(py, "note"))?,
        })
    }
}

fn lineage_to_python<'py>(py: Python<'py>, lineage: &[Lineage]) -> Made<'py> {
    let list = PyList::empty(py);
    for parent in lineage {
        let entry = PyDict::new(py);
        entry.set_item("id", parent.id.as_str())?;
        entry.set_item("object", parent.object.to_string())?;
        list.append(entry)?;
    }
    Ok(list.into_any())
}

/// A `MemoryNode`, or `None`.
pub fn node_to_python<'py>(py: Python<'py>, node: Option<&Arc<MemoryNode>>) -> Made<'py> {
    Nodes::new(py)?.optional(node)
}

/// A `Commit`.
pub fn commit_to_python<'py>(py: Python<'py>, id: CommitId, commit: &Commit) -> Made<'py> {
    class(py, "Commit")?.call1((
        id.to_string(),
        PyTuple::new(py, commit.parents.iter().map(CommitId::to_string))?,
        commit.state.to_string(),
        &commit.message,
        &commit.author,
        commit.time,
    ))
}

/// A `Blame`.
pub fn blame_to_python<'py>(py: Python<'py>, blame: &Blame) -> Made<'py> {
    let node = Nodes::new(py)?.make(&blame.node)?;
    class(py, "Blame")?.call1((blame.commit.to_string(), node, blame.time, blame.removed))
}

/// A list of `Flip`.
pub fn flips_to_python<'py>(py: Python<'py>, flips: &[Flip]) -> PyResult<Bound<'py, PyList>> {
    let (nodes, flip_class) = (Nodes::new(py)?, class(py, "Flip")?);
    let list = PyList::empty(py);
    for flip in flips {
        let node = nodes.optional(flip.node.as_ref())?;
        list.append(flip_class.call1((flip.commit.to_string(), flip.holds, node))?)?;
    }
    Ok(list)
}

/// A list of `NodeChange`.
pub fn changes_to_python<'py>(
    py: Python<'py>,
    changes: &[NodeChange],
) -> PyResult<Bound<'py, PyList>> {
    let (nodes, change_class) = (Nodes::new(py)?, class(py, "NodeChange")?);
    let list = PyList::empty(py);
    for change in changes {
        let (old, new) =
            (nodes.optional(change.old.as_ref())?, nodes.optional(change.new.as_ref())?);
        list.append(change_class.call1((change.id.as_str(), change.kind.as_str(), old, new))?)?;
    }
    Ok(list)
}

/// A `MergeResult`.
pub fn merge_to_python<'py>(py: Python<'py>, outcome: &MergeOutcome) -> Made<'py> {
    let (status, commit, conflicts) = match outcome {
        MergeOutcome::UpToDate => ("up-to-date", None, [].as_slice()),
        MergeOutcome::FastForwarded(commit) => ("fast-forwarded", Some(commit), [].as_slice()),
        MergeOutcome::Merged(commit) => ("merged", Some(commit), [].as_slice()),
        MergeOutcome::Conflicts(conflicts) => ("conflicts", None, conflicts.as_slice()),
    };
    let conflicts = conflicts_to_python(py, conflicts)?;
    class(py, "MergeResult")?.call1((status, commit.map(CommitId::to_string), conflicts))
}

/// A `MergeResult` of a revert.
pub fn revert_to_python<'py>(py: Python<'py>, outcome: &RevertOutcome) -> Made<'py> {
    let (status, commit, conflicts) = match outcome {
        RevertOutcome::Unchanged => ("unchanged", None, [].as_slice()),
        RevertOutcome::Reverted(commit) => ("reverted", Some(commit), [].as_slice()),
        RevertOutcome::Conflicts(conflicts) => ("conflicts", None, conflicts.as_slice()),
    };
    let conflicts = conflicts_to_python(py, conflicts)?;
    class(py, "MergeResult")?.call1((status, commit.map(CommitId::to_string), conflicts))
}

/// An `UndoResult`.
pub fn undone_to_python<'py>(py: Python<'py>, done: &Undone) -> Made<'py> {
    let (status, commit, conflicts) = match &done.outcome {
        UndoOutcome::MovedBack(to) => ("moved-back", to.as_ref(), [].as_slice()),
        UndoOutcome::Reverted(commit) => ("reverted", Some(commit), [].as_slice()),
        UndoOutcome::Conflicts(conflicts) => ("conflicts", None, conflicts.as_slice()),
    };
    let conflicts = conflicts_to_python(py, conflicts)?;
    let undone = move_to_python(py, &done.undone)?;
    let commit = commit.map(CommitId::to_string);
    class(py, "UndoResult")?.call1((status, commit, conflicts, undone))
}

/// A `Move`.
fn move_to_python<'py>(py: Python<'py>, record: &Record) -> Made<'py> {
    class(py, "Move")?.call1((
        record.old.as_ref().map(CommitId::to_string),
        record.new.as_ref().map(CommitId::to_string),
        record.operation.as_str(),
        &record.author,
        record.time,
    ))
}

/// A list of `Move`.
pub fn moves_to_python<'py>(py: Python<'py>, records: &[Record]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for record in records {
        list.append(move_to_python(py, record)?)?;
    }
    Ok(list)
}

/// A tuple of `Conflict`.
pub fn conflicts_to_python<'py>(
    py: Python<'py>,
    conflicts: &[Conflict],
) -> PyResult<Bound<'py, PyTuple>> {
    let (nodes, conflict_class) = (Nodes::new(py)?, class(py, "Conflict")?);
    let conflict = |conflict: &Conflict| {
        conflict_class.call1((
            conflict.id.as_str(),
            conflict.kind.as_str(),
            nodes.optional(conflict.base.as_ref())?,
            nodes.optional(conflict.ours.as_ref())?,
            nodes.optional(conflict.theirs.as_ref())?,
        ))
    };
    let conflicts = conflicts.iter().map(conflict).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, conflicts)
}

/// An `Fsck`.
pub fn fsck_to_python<'py>(py: Python<'py>, found: &Fsck) -> Made<'py> {
    let Fsck { nodes, states, commits, records, branches, findings, .. } = found;
    let findings = findings_to_python(py, findings)?;
    class(py, "Fsck")?.call1((nodes, states, commits, records, branches, findings))
}

/// A tuple of `Finding`.
fn findings_to_python<'py>(py: Python<'py>, findings: &[Finding]) -> PyResult<Bound<'py, PyTuple>> {
    let finding_class = class(py, "Finding")?;
    let finding = |finding: &Finding| {
        let hint = finding.hint().text();
        finding_class.call1((finding.kind(), finding.to_string(), hint, finding.is_warning()))
    };
    PyTuple::new(py, findings.iter().map(finding).collect::<PyResult<Vec<_>>>()?)
}

/// A `Repair`.
pub fn repaired_to_python<'py>(py: Python<'py>, repair: &Repair) -> Made<'py> {
    let moved = repair.moved.iter();
    let moved = moved.map(|(name, commit)| (name.as_str(), commit.map(|id| id.to_string())));
    class(py, "Repair")?.call1((
        findings_to_python(py, &repair.findings)?,
        findings_to_python(py, &repair.losses)?,
        repair.objects,
        PyTuple::new(py, moved.collect::<Vec<_>>())?,
        repair.head.as_ref().map(BranchName::as_str),
        repair.data_file.as_ref().map(|path| path.display().to_string()),
        repair.kept.as_ref().map(|path| path.display().to_string()),
        PyTuple::new(py, repair.removed.iter().map(|path| path.display().to_string()))?,
    ))
}

/// A `Verified`.
pub fn verified_to_python<'py>(py: Python<'py>, verified: &Verified) -> Made<'py> {
    let Verified { nodes, states, commits, branches, problems } = verified;
    class(py, "Verified")?.call1((nodes, states, commits, branches, PyTuple::new(py, problems)?))
}

/// A `Migration`.
pub fn migrated_to_python<'py>(py: Python<'py>, migrated: &Migrated) -> Made<'py> {
    class(py, "Migration")?.call1((
        migrated.changed,
        migrated.from.number(),
        FormatVersion::CURRENT.number(),
        migrated.commits,
        migrated.states,
        migrated.nodes,
        migrated.trees,
        migrated.branches,
        migrated.staged,
        migrated.old_bytes,
        migrated.new_bytes,
    ))
}

/// A `Carried`.
pub fn carried_to_python<'py>(py: Python<'py>, carried: &Carried) -> Made<'py> {
    let Carried { nodes, states, commits, branches } = carried;
    class(py, "Carried")?.call1((nodes, states, commits, branches))
}

/// An `ImportReport`.
pub fn json_report_to_python<'py>(py: Python<'py>, report: &JsonReport) -> Made<'py> {
    let skipped = report.skipped.iter().map(|it| (format!("line {}", it.line), &it.reason));
    class(py, "ImportReport")?.call1((
        report.read,
        report.written,
        PyTuple::new(py, skipped.collect::<Vec<_>>())?,
        report.head.map(|commit| commit.to_string()),
    ))
}

/// A `ChatReport`.
pub fn chat_report_to_python<'py>(py: Python<'py>, report: &ChatReport) -> Made<'py> {
    class(py, "ChatReport")?.call1((
        &report.transcript,
        report.messages,
        report.before,
        report.results,
        report.commits,
        report.written,
        report.unchanged,
        report.passed_over,
        report.head.map(|commit| commit.to_string()),
    ))
}

/// Reads a `MemoryNode`.
pub fn node_from_python(object: &Bound<'_, PyAny>) -> Result<MemoryNode, Failure> {
    let py = object.py();
    let classes = Nodes::new(py)?;
    expect_instance(object, classes.node)?;
    let time = |name: &Bound<'_, PyString>| {
        let time = object.getattr(name)?;
        let time = time.extract::<Option<Time>>().map_err(|error| named(name, error))?;
        Ok::<_, PyErr>(time.map(|time| time.0))
    };
    Ok(MemoryNode {
        id: NodeId::from_stored(text(object, intern!(py, "id"))?),
        content: content_from_python(&object.getattr(intern!(py, "content"))?)?,
        content_kind: content_kind(&text(object, intern!(py, "content_kind"))?)?,
        provenance: classes.read_provenance(&object.getattr(intern!(py, "provenance"))?)?,
        event_time: time(intern!(py, "event_time"))?,
        valid_from: time(intern!(py, "valid_from"))?,
        valid_to: time(intern!(py, "valid_to"))?,
        derived_from: lineage_from_python(&object.getattr(intern!(py, "derived_from"))?)?,
        salt: None,
    })
}

fn lineage_from_python<'py>(object: &Bound<'py, PyAny>) -> Result<Vec<Lineage>, Failure> {
    if object.is_none() {
        return Ok(Vec::new());
    }
    let mut lineage = Vec::new();
    let refused = |found: &Bound<'py, PyAny>| {
        wrong_type("derived_from ", "a list of {\"id\": ..., \"object\": ...}", found, None)
    };
    for parent in object.try_iter().map_err(|_| refused(object))? {
        let parent = parent?;
        let part = |name| {
            let part = parent.get_item(name).map_err(|_| refused(&parent))?;
            Ok::<_, PyErr>(part.extract::<Text>()?.into_string())
        };
        let object: NodeVersionId = part("object")?.parse()?;
        lineage.push(Lineage { id: NodeId::new(part("id")?)?, object });
    }
    Ok(lineage)
}

/// Reads a mapping from node id to content, a `MemoryNode`, or `None`, which removes the node.
/// `whose` says in an error what was read.
pub fn changes_from_python(whose: &str, object: &Bound<'_, PyAny>) -> Result<Changes, Failure> {
    let mapping = object.cast::<PyMapping>().map_err(|_| {
        let hint = "`store.write({\"plan\": \"basic\"}, message=\"learn\")` writes one memory";
        wrong_type(whose, "a mapping from node ids to content", object, Some(hint))
    })?;
    let node_class = Nodes::new(object.py())?.node;
    let mut changes = Changes::new();
    for item in mapping.items()? {
        let (id, value) = entry(&item)?;
        let id = NodeId::from_stored(id.into_string());
        let node = if value.is_none() {
            None
        } else if value.is_instance(node_class)? {
            Some(node_from_python(&value)?)
        } else {
            Some(MemoryNode::note(id.clone(), content_from_python(&value)?))
        };
        changes.insert(id, node);
    }
    Ok(changes)
}

/// An entry of a mapping whose keys are node ids.
fn entry<'py>(item: &Bound<'py, PyAny>) -> Result<(Text, Bound<'py, PyAny>), Failure> {
    let (id, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
    if !id.is_instance_of::<PyString>() {
        return Err(wrong_type("a node id ", "a str", &id, None).into());
    }
    Ok((id.extract::<Text>()?, value))
}

/// Tells an error which part of an argument it is about, as the binding tells it which argument.
fn named(name: &Bound<'_, PyString>, error: PyErr) -> PyErr {
    let note = format!("while processing '{name}'");
    let _ = error.value(name.py()).call_method1("add_note", (note,));
    error
}

/// Reads edits of local rows: owner, key and value, or `None`, which deletes the row.
pub fn local_from_python(object: &Bound<'_, PyAny>) -> Result<Vec<LocalEdit>, Failure> {
    let refused = |what: &str, found: &Bound<'_, PyAny>| {
        wrong_type(
            what,
            "a tuple of a name, a key in bytes, and a value in bytes or None",
            found,
            None,
        )
    };
    let edit = |edit: PyResult<Bound<'_, PyAny>>| {
        let edit = edit?;
        let (owner, key, value) = edit
            .extract::<(Text, PyBackedBytes, Option<PyBackedBytes>)>()
            .map_err(|_| refused("each row of local ", &edit))?;
        Ok(LocalEdit {
            owner: owner.into_string(),
            key: key.to_vec(),
            value: value.map(|value| value.to_vec()),
        })
    };
    let rows = object.try_iter().map_err(|_| {
        wrong_type("local ", "rows, each its owner's name, a key and a value", object, None)
    })?;
    rows.map(edit).collect()
}

/// Reads a mapping from node id to `"ours"`, `"theirs"`, `"base"`, `"delete"` or a `MemoryNode`.
pub fn resolutions_from_python(
    object: Option<&Bound<'_, PyAny>>,
) -> Result<BTreeMap<NodeId, Resolution>, Failure> {
    let mut resolutions = BTreeMap::new();
    let Some(object) = object else { return Ok(resolutions) };
    let mapping = object.cast::<PyMapping>().map_err(|_| {
        let hint =
            "`store.merge(\"agent-a\", resolutions={\"plan\": \"ours\"})` answers one conflict";
        wrong_type("resolutions ", "a mapping from node ids to answers", object, Some(hint))
    })?;
    for item in mapping.items()? {
        let (id, value) = entry(&item)?;
        let resolution = if value.is_instance_of::<PyString>() {
            match &*value.extract::<Text>()? {
                "ours" => Resolution::Ours,
                "theirs" => Resolution::Theirs,
                "base" => Resolution::Base,
                "delete" => Resolution::Delete,
                other => {
                    return Err(Error::invalid(format!(
                        "the resolution of {:?} must be \"ours\", \"theirs\", \"base\", \"delete\" or a MemoryNode, not {other:?}",
                        &*id
                    ))
                    .into());
                }
            }
        } else if value.is_instance(Nodes::new(object.py())?.node)? {
            Resolution::Set(Box::new(node_from_python(&value)?))
        } else {
            let whose = format!("the resolution of {:?} ", &*id);
            let expected = "\"ours\", \"theirs\", \"base\", \"delete\" or a MemoryNode";
            return Err(wrong_type(&whose, expected, &value, None).into());
        };
        resolutions.insert(NodeId::from_stored(id.into_string()), resolution);
    }
    Ok(resolutions)
}

/// Reads `"ours"` or `"theirs"`.
pub fn strategy(name: Option<&str>) -> Result<Option<Strategy>, Error> {
    match name {
        None => Ok(None),
        Some("ours") => Ok(Some(Strategy::Ours)),
        Some("theirs") => Ok(Some(Strategy::Theirs)),
        Some(other) => {
            Err(Error::invalid(format!("strategy must be \"ours\" or \"theirs\", not {other:?}")))
        }
    }
}

fn content_kind(name: &str) -> Result<ContentKind, Error> {
    ContentKind::from_name(name).ok_or_else(|| {
        Error::invalid(format!("content_kind must be \"note\" or \"claim\", not {name:?}"))
    })
}

fn expect_instance<'py>(object: &Bound<'py, PyAny>, class: &Bound<'py, PyAny>) -> PyResult<()> {
    if object.is_instance(class)? {
        Ok(())
    } else {
        let name = class.getattr("__name__")?;
        let (what, expected) = match name.to_string().as_str() {
            "Provenance" => ("provenance ", "a mnem.Provenance"),
            _ => ("node ", "a mnem.MemoryNode"),
        };
        Err(wrong_type(what, expected, object, None))
    }
}

fn text<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Result<String, Failure> {
    optional_text(object, name)?.ok_or_else(|| {
        wrong_type(
            &format!("{name} "),
            "a str",
            &PyNone::get(name.py()).to_owned().into_any(),
            None,
        )
        .into()
    })
}

fn optional_text<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> Result<Option<String>, Failure> {
    let value = object.getattr(name)?;
    if value.is_none() {
        return Ok(None);
    }
    if !value.is_instance_of::<PyString>() {
        return Err(wrong_type(&format!("{name} "), "a str", &value, None).into());
    }
    Ok(Some(value.extract::<Text>()?.into_string()))
}

/// A list or another iterable of JSON-like objects as one content.
pub fn list_from_python(name: &str, object: &Bound<'_, PyAny>) -> Result<Content, Failure> {
    let items = object
        .try_iter()
        .map_err(|_| wrong_type(&format!("{name} "), "a list of maps", object, None))?
        .collect::<PyResult<Vec<_>>>()?;
    content_from_python(&PyList::new(object.py(), items)?.into_any())
}
