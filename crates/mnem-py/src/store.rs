//! The open store: each method converts in, calls the core without the GIL, converts out.
//!
//! Long: one class of Python, whose methods stand in one block.

#![allow(clippy::needless_pass_by_value)] // Python hands arguments over by value

use std::path::PathBuf;

use mnem_git::system;
use mnem_store::ops::log::LogOptions;
use mnem_store::ops::{Changes, DiffTarget, MergeOptions, Meta, NodeTest};
use mnem_store::portable::chat::{self, ChatOptions, Rule};
use mnem_store::portable::plain::import_json;
use mnem_store::store::local::LocalEdit;
use mnem_store::{BranchName, Error, NodeId, Snapshot, Store};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::convert::{Bytes, Callable, Flag, Limit, Place, Text, Time, content_from_python};
use crate::errors::{Failure, guarded};
use crate::open::cannot_read;
use crate::snapshot::{Asked, PySnapshot, exists, get, memory};
use crate::types;

/// Names, each with the object id it stands for.
type NamesAndIds = Vec<(String, String)>;

/// A handle of an open store.
#[pyclass(frozen, name = "Store", module = "mnem._mnem")]
pub struct PyStore(pub Store);

impl Drop for PyStore {
    /// The last handle closes the files of its store, which may wait for the disk.
    fn drop(&mut self) {
        let _ = Python::try_attach(|py| py.detach(|| self.0.close()));
    }
}

fn meta(message: Text, author: Option<Text>, time: Option<Time>, allow_empty: Flag) -> Meta {
    Meta {
        time: time.map(|time| time.0),
        allow_empty: allow_empty.0,
        ..Meta::new(message.into_string(), system::author(author.as_deref()))
    }
}

/// The options of a merge, or of what is taken back.
fn answers(
    resolutions: Option<&Bound<'_, PyAny>>,
    strategy: Option<Text>,
    message: Option<Text>,
    author: Option<Text>,
    time_ms: Option<Time>,
) -> Result<MergeOptions, Failure> {
    Ok(MergeOptions {
        resolutions: types::resolutions_from_python(resolutions)?,
        strategy: types::strategy(strategy.as_deref())?,
        message: message.map(Text::into_string),
        author: system::author(author.as_deref()),
        time: time_ms.map(|time| time.0),
        ..MergeOptions::default()
    })
}

impl PyStore {
    /// A write that was refused over its base says what it would have overwritten.
    fn refused(&self, py: Python<'_>, error: Error, changes: Option<Changes>) -> Failure {
        let conflicts = changes.map_or(Ok(Vec::new()), |changes| {
            py.detach(|| self.0.stale_conflicts(&error, &changes))
        });
        let raised = PyErr::from(Failure::from(error));
        // What cannot be read any more is no reason to hide why the write was refused.
        if let Ok(conflicts) = conflicts
            && !conflicts.is_empty()
            && let Ok(conflicts) = types::conflicts_to_python(py, &conflicts)
        {
            let _ = raised.value(py).setattr("conflicts", conflicts);
        }
        raised.into()
    }
}

#[pymethods]
impl PyStore {
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            py.detach(|| self.0.close());
            Ok(())
        })
    }

    #[getter]
    fn root(&self) -> Option<PathBuf> {
        self.0.root().map(ToOwned::to_owned)
    }

    #[getter]
    fn bound(&self) -> Option<&str> {
        self.0.bound().map(BranchName::as_str)
    }

    #[getter]
    fn format_version(&self) -> PyResult<u64> {
        guarded(|| Ok(self.0.format_version()?.number()))
    }

    fn head(&self, py: Python<'_>) -> PyResult<String> {
        guarded(|| Ok(py.detach(|| self.0.head())?.render()))
    }

    fn head_commit(&self, py: Python<'_>) -> PyResult<Option<String>> {
        guarded(|| Ok(py.detach(|| self.0.head_commit())?.map(|commit| commit.to_string())))
    }

    fn resolve(&self, py: Python<'_>, spec: Text) -> PyResult<String> {
        guarded(|| Ok(py.detach(|| self.0.resolve(&spec))?.to_string()))
    }

    // ---- branches ----

    fn branches(&self, py: Python<'_>) -> PyResult<NamesAndIds> {
        guarded(|| {
            let branches = py.detach(|| self.0.branches())?;
            Ok(branches
                .into_iter()
                .map(|(name, tip)| (name.to_string(), tip.to_string()))
                .collect())
        })
    }

    fn new_branch(&self, py: Python<'_>, name: Text, start: Option<Text>) -> PyResult<()> {
        guarded(|| {
            let (name, author) = (BranchName::new(name.into_string())?, system::author(None));
            py.detach(|| self.0.create_branch(&name, start.as_deref(), &author))?;
            Ok(())
        })
    }

    fn delete_branch(&self, py: Python<'_>, name: Text) -> PyResult<bool> {
        guarded(|| {
            let (name, author) =
                (BranchName::from_stored(name.into_string()), system::author(None));
            Ok(py.detach(|| self.0.delete_branch(&name, &author))?)
        })
    }

    fn checkout(&self, py: Python<'_>, target: Text, discard: Flag) -> PyResult<()> {
        guarded(|| {
            py.detach(|| self.0.checkout(&target, discard.0))?;
            Ok(())
        })
    }

    fn checkout_new(
        &self,
        py: Python<'_>,
        create: Text,
        target: Option<Text>,
        discard: Flag,
    ) -> PyResult<()> {
        guarded(|| {
            let (name, author) = (BranchName::new(create.into_string())?, system::author(None));
            py.detach(|| self.0.checkout_new(&name, target.as_deref(), discard.0, &author))?;
            Ok(())
        })
    }

    fn on(&self, py: Python<'_>, branch: Text) -> PyResult<Self> {
        guarded(|| {
            let (branch, author) =
                (BranchName::from_stored(branch.into_string()), system::author(None));
            Ok(Self(py.detach(|| self.0.on(&branch, &author))?))
        })
    }

    // ---- staging ----

    fn stage(&self, py: Python<'_>, node: &Bound<'_, PyAny>) -> PyResult<String> {
        guarded(|| {
            let node = types::node_from_python(node)?;
            Ok(py.detach(|| self.0.stage(node))?.to_string())
        })
    }

    fn unstage(&self, py: Python<'_>, node_id: Text) -> PyResult<bool> {
        guarded(|| {
            let id = NodeId::from_stored(node_id.into_string());
            Ok(py.detach(|| self.0.unstage(&id))?)
        })
    }

    fn remove(&self, py: Python<'_>, node_id: Text) -> PyResult<()> {
        guarded(|| {
            let id = NodeId::from_stored(node_id.into_string());
            Ok(py.detach(|| self.0.remove(&id))?)
        })
    }

    fn staged(&self, py: Python<'_>) -> PyResult<(NamesAndIds, Vec<String>)> {
        guarded(|| {
            let staged = py.detach(|| self.0.staged())?;
            let nodes = staged.nodes.iter().map(|(id, node)| (id.to_string(), node.to_string()));
            let deletions = staged.deletions.iter().map(ToString::to_string);
            Ok((nodes.collect(), deletions.collect()))
        })
    }

    // ---- reading ----

    fn get<'py>(&self, py: Python<'py>, id: Text) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| get(py, id, self.0.snapshot_at_hand(), || self.0.snapshot()))
    }

    fn exists(&self, py: Python<'_>, id: Text) -> PyResult<bool> {
        guarded(|| exists(py, id, self.0.snapshot_at_hand(), || self.0.snapshot()))
    }

    fn memory<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<Text>,
        after: Option<Text>,
        limit: Option<Limit>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let asked = Asked::new(prefix, after, limit);
        guarded(|| memory(py, || asked.of(&self.0.snapshot()?)))
    }

    fn memory_at<'py>(
        &self,
        py: Python<'py>,
        commit: Text,
        prefix: Option<Text>,
        after: Option<Text>,
        limit: Option<Limit>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let asked = Asked::new(prefix, after, limit);
        guarded(|| memory(py, || asked.of(&self.0.snapshot_at(&commit)?)))
    }

    fn ids(
        &self,
        py: Python<'_>,
        at: Option<Text>,
        prefix: Option<Text>,
        after: Option<Text>,
        limit: Option<Limit>,
    ) -> PyResult<Vec<String>> {
        let asked = Asked::new(prefix, after, limit);
        guarded(|| {
            Ok(py.detach(|| match &at {
                Some(at) => asked.ids_of(&self.0.snapshot_at(at)?),
                None => asked.ids_of(&self.0.snapshot()?),
            })?)
        })
    }

    fn working_node<'py>(&self, py: Python<'py>, node_id: Text) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let id = NodeId::from_stored(node_id.into_string());
            let node = py.detach(|| self.0.working_node(&id))?;
            Ok(types::node_to_python(py, node.as_ref())?)
        })
    }

    fn working_memory<'py>(
        &self,
        py: Python<'py>,
        prefix: Option<Text>,
        after: Option<Text>,
        limit: Option<Limit>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let asked = Asked::new(prefix, after, limit);
        guarded(|| memory(py, || asked.of_working_memory(&self.0)))
    }

    // ---- writing ----

    fn commit(
        &self,
        py: Python<'_>,
        message: Text,
        author: Option<Text>,
        time_ms: Option<Time>,
        allow_empty: Flag,
    ) -> PyResult<String> {
        guarded(|| {
            let meta = meta(message, author, time_ms, allow_empty);
            Ok(py.detach(|| self.0.commit(&meta))?.commit.to_string())
        })
    }

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn write(
        &self,
        py: Python<'_>,
        changes: &Bound<'_, PyAny>,
        message: Text,
        author: Option<Text>,
        time_ms: Option<Time>,
        base: Option<Text>,
        allow_empty: Flag,
        local: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        guarded(|| {
            let changes = types::changes_from_python("changes ", changes)?;
            let mut meta = meta(message, author, time_ms, allow_empty);
            meta.local = types::local_from_python(local)?;
            let asked = base.is_some().then(|| changes.clone());
            let written = py.detach(|| {
                meta.base = base.map(|revision| self.0.resolve(&revision)).transpose()?;
                self.0.write(changes, &meta)
            });
            Ok(written.map_err(|error| self.refused(py, error, asked))?.to_string())
        })
    }

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn update(
        &self,
        py: Python<'_>,
        r#fn: Callable,
        message: Text,
        author: Option<Text>,
        time_ms: Option<Time>,
        base: Option<Text>,
        allow_empty: Flag,
        local: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        guarded(|| {
            let mut meta = meta(message, author, time_ms, allow_empty);
            meta.local = types::local_from_python(local)?;
            // What the callable raises goes around the core, which has no room for it.
            let (mut raised, mut asked) = (None, None);
            let is_based = base.is_some();
            let written = py.detach(|| {
                meta.base = base.map(|revision| self.0.resolve(&revision)).transpose()?;
                self.0.update(&meta, |snapshot| {
                    Python::attach(|py| {
                        let changes = r#fn.bind(py).call1((PySnapshot(snapshot.clone()),))?;
                        let changes = types::changes_from_python("what fn returns ", &changes)?;
                        asked = is_based.then(|| changes.clone());
                        Ok(changes)
                    })
                    .map_err(|failure| match failure {
                        Failure::Core(error) => error,
                        Failure::Python(error) => {
                            raised = Some(error);
                            Error::invalid("the callable of update raised")
                        }
                    })
                })
            });
            match raised {
                Some(error) => Err(error.into()),
                None => Ok(written.map_err(|error| self.refused(py, error, asked))?.to_string()),
            }
        })
    }

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn merge<'py>(
        &self,
        py: Python<'py>,
        theirs: Text,
        resolutions: Option<&Bound<'py, PyAny>>,
        strategy: Option<Text>,
        message: Option<Text>,
        author: Option<Text>,
        time_ms: Option<Time>,
        allow_unrelated: Flag,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let answers = answers(resolutions, strategy, message, author, time_ms)?;
            let options = MergeOptions { allow_unrelated: allow_unrelated.0, ..answers };
            let outcome = py.detach(|| self.0.merge(&theirs, &options))?;
            Ok(types::merge_to_python(py, &outcome)?)
        })
    }

    // ---- a way back ----

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn revert<'py>(
        &self,
        py: Python<'py>,
        commit: Text,
        resolutions: Option<&Bound<'py, PyAny>>,
        strategy: Option<Text>,
        message: Option<Text>,
        author: Option<Text>,
        time_ms: Option<Time>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let options = answers(resolutions, strategy, message, author, time_ms)?;
            let outcome = py.detach(|| self.0.revert(&commit, &options))?;
            Ok(types::revert_to_python(py, &outcome)?)
        })
    }

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn undo<'py>(
        &self,
        py: Python<'py>,
        by: Option<Text>,
        resolutions: Option<&Bound<'py, PyAny>>,
        strategy: Option<Text>,
        message: Option<Text>,
        author: Option<Text>,
        time_ms: Option<Time>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let options = answers(resolutions, strategy, message, author, time_ms)?;
            let done = py.detach(|| self.0.undo(by.as_deref(), &options))?;
            Ok(types::undone_to_python(py, &done)?)
        })
    }

    fn restore(
        &self,
        py: Python<'_>,
        id: Text,
        at: Text,
        message: Option<Text>,
        author: Option<Text>,
        time_ms: Option<Time>,
    ) -> PyResult<String> {
        guarded(|| {
            let id = NodeId::from_stored(id.into_string());
            let message =
                message.map_or_else(|| format!("restore {id} from {}", &*at), Text::into_string);
            let meta = Meta {
                time: time_ms.map(|time| time.0),
                ..Meta::new(message, system::author(author.as_deref()))
            };
            let done = py.detach(|| self.0.restore(&id, &at, &meta))?;
            Ok(done.commit.to_string())
        })
    }

    fn reflog<'py>(
        &self,
        py: Python<'py>,
        branch: Option<Text>,
        limit: Option<Limit>,
    ) -> PyResult<Bound<'py, PyList>> {
        guarded(|| {
            let branch = branch.map(|name| BranchName::from_stored(name.into_string()));
            let moves = py.detach(|| self.0.reflog(branch.as_ref(), limit.map(|limit| limit.0)))?;
            Ok(types::moves_to_python(py, &moves)?)
        })
    }

    // ---- history ----

    fn log<'py>(
        &self,
        py: Python<'py>,
        first_parent: Flag,
        limit: Option<Limit>,
        node: Option<Vec<Text>>,
        at: Option<Vec<Text>>,
    ) -> PyResult<Bound<'py, PyList>> {
        guarded(|| {
            let id = |id: Text| NodeId::from_stored(id.into_string());
            let nodes: Option<Vec<_>> = node.map(|ids| ids.into_iter().map(id).collect());
            let commits = py.detach(|| {
                let resolve = |revision: Text| self.0.resolve(&revision);
                let start =
                    at.unwrap_or_default().into_iter().map(resolve).collect::<Result<_, _>>()?;
                let options = LogOptions {
                    start,
                    first_parent: first_parent.0,
                    limit: limit.map(|limit| limit.0),
                };
                let Some(nodes) = nodes else { return self.0.log(&options) };
                let events = self.0.nodes_log(&nodes, &options)?;
                Ok(events.into_iter().map(|event| (event.id, event.commit)).collect())
            })?;
            let list = PyList::empty(py);
            for (id, commit) in commits {
                list.append(types::commit_to_python(py, id, &commit)?)?;
            }
            Ok(list)
        })
    }

    fn diff<'py>(
        &self,
        py: Python<'py>,
        frm: Option<Text>,
        to: Option<Text>,
    ) -> PyResult<Bound<'py, PyList>> {
        guarded(|| {
            let changes = py.detach(|| {
                let before = match frm {
                    Some(revision) => DiffTarget::Commit(self.0.resolve(&revision)?),
                    None => self.0.head_commit()?.map_or(DiffTarget::Nothing, DiffTarget::Commit),
                };
                let after = match to {
                    Some(revision) => DiffTarget::Commit(self.0.resolve(&revision)?),
                    None => DiffTarget::Working,
                };
                self.0.diff(before, after)
            })?;
            Ok(types::changes_to_python(py, &changes)?)
        })
    }

    fn changed_by<'py>(&self, py: Python<'py>, commit: Text) -> PyResult<Bound<'py, PyDict>> {
        guarded(|| {
            let changed = py.detach(|| self.0.changed_by(self.0.resolve(&commit)?))?;
            let dict = PyDict::new(py);
            for (id, kind) in changed {
                dict.set_item(id.as_str(), kind.as_str())?;
            }
            Ok(dict)
        })
    }

    fn blame<'py>(
        &self,
        py: Python<'py>,
        node_id: Text,
        at: Option<Text>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let id = NodeId::from_stored(node_id.into_string());
            let blame = py.detach(|| self.0.blame(&id, at.as_deref()))?;
            Ok(types::blame_to_python(py, &blame)?)
        })
    }

    fn bisect(
        &self,
        py: Python<'_>,
        predicate: Callable,
        bad: Option<Text>,
        good: Option<Text>,
    ) -> PyResult<String> {
        guarded(|| {
            let holds = |snapshot: &Snapshot| -> Result<bool, Failure> {
                Python::attach(|py| {
                    let memory = memory(py, || snapshot.scan("", None, None))?;
                    Ok(predicate.bind(py).call1((memory,))?.is_truthy()?)
                })
            };
            let commit = py.detach(|| self.0.bisect(bad.as_deref(), good.as_deref(), holds))?;
            Ok(commit.to_string())
        })
    }

    /// `test` is `"present"`, `"absent"` or `"equals"`; the last takes `content`.
    fn flips<'py>(
        &self,
        py: Python<'py>,
        node_id: Text,
        test: &str,
        content: &Bound<'py, PyAny>,
        bad: Option<Text>,
        good: Option<Text>,
    ) -> PyResult<Bound<'py, PyList>> {
        guarded(|| {
            let id = NodeId::from_stored(node_id.into_string());
            let test = match test {
                "present" => NodeTest::Present,
                "absent" => NodeTest::Absent,
                _ => NodeTest::Equals(content_from_python(content)?),
            };
            let flips = py.detach(|| self.0.flips(&id, &test, bad.as_deref(), good.as_deref()))?;
            Ok(types::flips_to_python(py, &flips)?)
        })
    }

    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let verified = py.detach(|| self.0.verify(|_| {}))?;
            Ok(types::verified_to_python(py, &verified)?)
        })
    }

    fn fsck<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let found = py.detach(|| self.0.fsck(|_| {}))?;
            Ok(types::fsck_to_python(py, &found)?)
        })
    }

    // ---- beside memory ----

    fn local_get<'py>(
        &self,
        py: Python<'py>,
        name: Text,
        key: Bytes,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        guarded(|| {
            let value = py.detach(|| self.0.local_get(&name, &key))?;
            Ok(value.map(|value| PyBytes::new(py, &value)))
        })
    }

    fn local_set(
        &self,
        py: Python<'_>,
        name: Text,
        key: Bytes,
        value: Option<Bytes>,
    ) -> PyResult<()> {
        guarded(|| {
            let edit = LocalEdit {
                owner: name.into_string(),
                key: key.to_vec(),
                value: value.map(|value| value.to_vec()),
            };
            Ok(py.detach(|| self.0.local_edit(&[edit]))?)
        })
    }

    fn local_rows<'py>(
        &self,
        py: Python<'py>,
        name: Text,
        prefix: Bytes,
    ) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
        guarded(|| {
            let rows = py.detach(|| self.0.local_rows(&name, &prefix))?;
            Ok(rows
                .iter()
                .map(|(key, value)| (PyBytes::new(py, key), PyBytes::new(py, value)))
                .collect())
        })
    }

    // ---- in and out ----

    fn export<'py>(&self, py: Python<'py>, path: Place) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let carried = py.detach(|| self.0.export_to(&path.0, |_| ()))?;
            Ok(types::carried_to_python(py, &carried)?)
        })
    }

    fn import_json<'py>(
        &self,
        py: Python<'py>,
        path: Place,
        source: Text,
        message: Text,
        author: Text,
        time_ms: Option<Time>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let meta = meta(message, Some(author), time_ms, Flag(false));
            let report = py.detach(|| {
                let bytes = std::fs::read(&path.0).map_err(|error| cannot_read(&path.0, error))?;
                import_json(&self.0, &bytes, &source, &meta)
            })?;
            Ok(types::json_report_to_python(py, &report)?)
        })
    }

    #[allow(clippy::too_many_arguments)] // the keywords of the SDK
    fn import_chat<'py>(
        &self,
        py: Python<'py>,
        messages: &Bound<'py, PyAny>,
        transcript: Text,
        rules: Option<&Bound<'py, PyAny>>,
        keep_all: Flag,
        author: Text,
        time_ms: Option<Time>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let messages = types::list_from_python("messages", messages)?;
            let rules = rules.map(|rules| types::list_from_python("rules", rules)).transpose()?;
            let options = ChatOptions {
                transcript: transcript.into_string(),
                rules: rules.as_ref().map(Rule::table).transpose()?,
                keep_all: keep_all.0,
                author: author.into_string(),
                time: time_ms.map(|time| time.0),
            };
            let report = py.detach(|| chat::import_chat(&self.0, &messages, &options))?;
            Ok(types::chat_report_to_python(py, &report)?)
        })
    }
}
