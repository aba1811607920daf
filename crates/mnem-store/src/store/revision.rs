//! Revisions: the ways to name a commit.
//!
//! In this order: a full id, a branch, a prefix of an id; `HEAD`; then, after any of them,
//! `~N` (N first parents back), `^N` (the N-th parent) and `@{TIME}` (where the branch was; of
//! `HEAD`, or with nothing before it, the branch HEAD is on).

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

use super::Store;
use super::engine::Engine;
use super::head::Head;
use crate::error::{Error, Hint};
use crate::graph::FirstParents;
use crate::id::{BranchName, CommitId, MIN_PREFIX_DIGITS, ObjectId};
use crate::index::{at_height, position};
use crate::object::Kind;

/// How many candidates an ambiguous prefix lists.
const CANDIDATES: usize = 10;

impl Store {
    /// The commit that a revision names.
    ///
    /// ```
    /// # use mnem_store::{BranchName, Content, Environment, Error, InitOptions, MemoryNode, NodeId, Store};
    /// # use mnem_store::ops::{Changes, Meta};
    /// # let store = Store::in_memory(&InitOptions::default(), Environment::fixed())?;
    /// # let put = |store: &Store, name: &str, text: &str| {
    /// #     let id = NodeId::new(name)?;
    /// #     let node = MemoryNode::note(id.clone(), Content::text(text));
    /// #     store.write(Changes::from([(id, Some(node))]), &Meta::new(text, "agent"))
    /// # };
    /// let first = put(&store, "a", "1")?;
    /// put(&store, "a", "2")?;
    /// for revision in ["HEAD~1", "main^", &first.to_string(), &first.to_string()[..12]] {
    ///     assert_eq!(store.resolve(revision)?, first);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn resolve(&self, revision: &str) -> Result<CommitId, Error> {
        let engine = self.engine()?;
        let steps_at = revision.find(['~', '^', '@']).unwrap_or(revision.len());
        let (start, mut steps) = revision.split_at(steps_at);
        let mut commit = if steps.starts_with("@{") {
            let (time, rest) = braces(revision, steps)?;
            steps = rest;
            let branch = if start.is_empty() || start == "HEAD" {
                self.current_branch(&engine, revision)?
            } else {
                start.into()
            };
            engine.branch_at(&BranchName::from_stored(branch), time, revision)?
        } else {
            self.start_of(&engine, start, revision)?
        };
        while !steps.is_empty() {
            let Some(counted) = steps.strip_prefix(['~', '^']) else {
                return Err(malformed(revision));
            };
            let end = counted.find(|c: char| !c.is_ascii_digit()).unwrap_or(counted.len());
            let (digits, rest) = counted.split_at(end);
            let number = match digits {
                "" => 1,
                digits => digits.parse::<u64>().map_err(|_| malformed(revision))?,
            };
            commit = if steps.starts_with('~') {
                engine.back(commit, number, revision)?
            } else {
                engine.parent(commit, number, revision)?
            };
            steps = rest;
        }
        Ok(commit)
    }

    /// The commit that a revision names, or where this handle is.
    pub fn resolve_or_head(&self, revision: Option<&str>) -> Result<CommitId, Error> {
        match revision {
            Some(revision) => self.resolve(revision),
            None => self.resolve("HEAD"),
        }
    }

    fn current_branch(&self, engine: &Engine, revision: &str) -> Result<String, Error> {
        match self.head_of(engine)? {
            Head::Attached(branch) => Ok(branch.to_string()),
            Head::Detached(_) => {
                Err(Error::invalid(format!("{revision:?} needs a branch: HEAD is detached"))
                    .hint(Hint::ListBranches))
            }
        }
    }

    fn start_of(&self, engine: &Engine, start: &str, revision: &str) -> Result<CommitId, Error> {
        let view = engine.objects.view()?;
        if let Ok(id) = start.parse::<CommitId>()
            && engine.objects.find_commit(id)?.is_some()
        {
            return Ok(id);
        }
        if let Some(tip) = view.reference(&BranchName::from_stored(start))? {
            return Ok(tip);
        }
        if start == "HEAD" {
            return self.tip_of(engine)?.ok_or_else(|| {
                let branch = self.head_of(engine).map(|head| head.render()).unwrap_or_default();
                Error::invalid(format!("HEAD ({branch}) has no commit yet")).hint(Hint::FirstCommit)
            });
        }
        let range =
            (start.len() >= MIN_PREFIX_DIGITS).then(|| ObjectId::prefix_range(start)).flatten();
        let Some(range) = range else {
            let what = if revision == start {
                format!("{start:?}")
            } else {
                format!("{start:?} in {revision:?}")
            };
            return Err(Error::invalid(format!(
                "no branch named {what}, and it is not a commit id prefix ({MIN_PREFIX_DIGITS} to 64 lowercase hex)"
            ))
            .hint(Hint::ListBranches));
        };
        let found: Vec<CommitId> = view
            .ids(range, usize::MAX)?
            .into_iter()
            .filter(|(_, kind)| *kind == Kind::Commit)
            .map(|(id, _)| id.into())
            .take(CANDIDATES + 1)
            .collect();
        match found.as_slice() {
            [] => Err(Error::invalid(format!("no commit matching {start:?}")).hint(Hint::ListLog)),
            [commit] => Ok(*commit),
            _ => {
                let mut names: Vec<_> =
                    found.iter().take(CANDIDATES).map(CommitId::short).collect();
                if found.len() > CANDIDATES {
                    names.push("more".into());
                }
                Err(Error::invalid(format!("{start:?} is ambiguous: {}", names.join(", ")))
                    .hint(Hint::ListLog))
            }
        }
    }
}

impl Engine {
    fn back(&self, start: CommitId, steps: u64, revision: &str) -> Result<CommitId, Error> {
        let height = position(&self.objects, start)?.height.checked_sub(steps);
        let found = height.map(|height| at_height(&self.objects, start, height)).transpose()?;
        match found.flatten() {
            Some(commit) => Ok(commit),
            None => Err(Error::invalid(format!("{revision:?} goes back beyond the first commit"))
                .hint(Hint::ListLog)),
        }
    }

    fn parent(&self, commit: CommitId, number: u64, revision: &str) -> Result<CommitId, Error> {
        if number == 0 {
            return Ok(commit);
        }
        let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
        self.objects.commit(commit)?.parents.get(place).copied().ok_or_else(|| {
            let message = format!("{revision:?}: {} has no parent number {number}", commit.short());
            Error::invalid(message).hint(Hint::ListLog)
        })
    }

    /// What a branch pointed at: `new` of the record that counts then ([`View::move_at`]); before
    /// its first record, the first-parent chain by commit time.
    ///
    /// [`View::move_at`]: crate::backend::View::move_at
    fn branch_at(&self, branch: &BranchName, time: i64, revision: &str) -> Result<CommitId, Error> {
        let view = self.objects.view()?;
        let unknown = || {
            Error::not_found(format!("{revision:?}: the branch {branch} pointed at nothing then"))
                .hint(Hint::ListMoves)
        };
        let start = match view.move_at(branch, time)? {
            Some((_, record)) if record.time <= time => return record.new.ok_or_else(unknown),
            // History that came without records stands where the first record moved from.
            Some((_, first)) => first.old.or(first.new),
            None => view.reference(branch)?,
        };
        if start.is_none() {
            return Err(Error::invalid(format!("no branch named {branch:?} in {revision:?}"))
                .hint(Hint::ListBranches));
        }
        for step in FirstParents::new(&self.objects, start) {
            let (id, commit) = step?;
            if commit.time <= time {
                return Ok(id);
            }
        }
        Err(unknown())
    }
}

/// The time in `@{TIME}`, and what follows it.
fn braces<'r>(revision: &str, steps: &'r str) -> Result<(i64, &'r str), Error> {
    let (time, rest) = steps
        .strip_prefix("@{")
        .and_then(|s| s.split_once('}'))
        .ok_or_else(|| malformed(revision))?;
    let millis = parse_time(time).ok_or_else(|| {
        Error::invalid(format!(
            "{time:?} in {revision:?} is no ISO 8601 time and no Unix milliseconds"
        ))
        .hint(Hint::TimeForm)
    })?;
    Ok((millis, rest))
}

/// Unix milliseconds, or ISO 8601: UTC without an offset, midnight without a time. The name of a
/// time zone, as in `[Europe/Berlin]`, is no offset: it may stand beside one, and not in its place.
pub fn parse_time(text: &str) -> Option<i64> {
    if let Ok(millis) = text.parse::<i64>() {
        return Some(millis);
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    if text.contains('[') {
        return None;
    }
    let civil = text
        .parse::<DateTime>()
        .or_else(|_| text.parse::<Date>().map(|date| date.to_datetime(civil::Time::midnight())))
        .ok()?;
    Some(TimeZone::UTC.to_timestamp(civil).ok()?.as_millisecond())
}

fn malformed(revision: &str) -> Error {
    Error::invalid(format!(
        "{revision:?} is not a revision: after a branch or commit id come ~N, ^N or @{{TIME}}"
    ))
    .hint(Hint::ListLog)
}
