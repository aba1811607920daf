//! What is beside the history, beside what the model makes of it: local rows, files that are read,
//! and the store as a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mnem_store::ops::Meta;
use mnem_store::portable::import;
use mnem_store::portable::plain::{JsonForm, import_json};
use mnem_store::store::FormatVersion;
use mnem_store::store::local::LocalEdit;
use mnem_store::{Head, Store};

use super::steps::Edits;
use super::{Pair, name, refused};

const OWNERS: [&str; 2] = ["beside", "b"];

impl Pair {
    pub(super) fn edit_local(&mut self, owner: u8, key: u8, value: Option<u8>) {
        let (owner, key) = (OWNERS[usize::from(owner)].to_owned(), vec![key]);
        let value = value.map(|value| vec![value; 2]);
        let edit = LocalEdit { owner: owner.clone(), key: key.clone(), value: value.clone() };
        self.store.local_edit(&[edit]).unwrap();
        match value {
            Some(value) => self.local.insert((owner, key), value),
            None => self.local.remove(&(owner, key)),
        };
    }

    pub fn check_local(&self) {
        for owner in OWNERS {
            let expected: BTreeMap<_, _> = self
                .local
                .iter()
                .filter(|((of, _), _)| of == owner)
                .map(|((_, key), value)| (key.clone(), value.clone()))
                .collect();
            let found: BTreeMap<_, _> =
                self.store.local_rows(owner, b"").unwrap().into_iter().collect();
            assert_eq!(found, expected, "rows of {owner}");
            let key = vec![u8::try_from(self.steps % 4).unwrap()];
            let one = self.store.local_get(owner, &key).unwrap();
            assert_eq!(one.as_ref(), expected.get(&key));
        }
    }

    /// A file of memories is one write of those that say something else.
    pub(super) fn import_json(&mut self, on: Option<u8>, edits: &Edits, source: u8) {
        let handle = self.handle(on);
        let contents: BTreeMap<_, _> =
            edits.iter().filter_map(|(node, value)| Some((name(*node), (*value)?.0))).collect();
        let json: BTreeMap<_, _> =
            contents.iter().map(|(name, content)| (name, content.to_string())).collect();
        let bytes = serde_json::to_vec(&json).unwrap();
        let meta: Meta = self.meta(false, None);
        let store = handle.as_deref().unwrap_or(&self.store);
        let result = import_json(store, &bytes, &source.to_string(), &meta);
        if on.is_none() && matches!(self.model.head, Head::Detached(_)) {
            return refused(result);
        }
        let report = result.unwrap();
        let now = self.model.memory(self.start(on));
        let changes: BTreeMap<_, _> = contents
            .iter()
            .map(|(name, content)| (name.clone(), Some((*content, source))))
            .filter(|(name, value)| now.get(name) != value.as_ref())
            .collect();
        assert_eq!((report.form, report.skipped.len()), (JsonForm::Plain, 0));
        let counts = [contents.len(), changes.len()].map(|count| count as u64);
        assert_eq!([report.read, report.written], counts);
        if changes.is_empty() {
            assert_eq!(report.head, self.start(on));
        } else {
            self.wrote(on, handle.as_deref(), Ok(report.head.unwrap()), changes, false);
        }
    }

    /// Another handle of the same store, or the store opened anew once all are closed.
    pub(super) fn reopen(&mut self, all: bool) {
        let Some(place) = &self.place else { return };
        if all {
            self.kept.values().for_each(|kept| kept.close());
            self.kept.clear();
            self.store.close();
        }
        let found = Store::discover(&place.join(".mnem")).unwrap();
        let again = Store::open(&found, self.environment.clone()).unwrap();
        std::mem::replace(&mut self.store, again).close();
    }

    /// Goes on in a store that an export of this one was imported into: what nothing reaches, the
    /// moves, what is staged and the local rows stay behind.
    pub(super) fn carry(&mut self) {
        let Some(place) = &self.place else { return };
        let mut stream = Vec::new();
        self.store.export(&mut stream, |_| ()).unwrap();
        let place = place.with_file_name(format!("copy-{}", self.steps));
        let (copy, _) = import(&mut &*stream, &place, self.environment.clone(), |_| ()).unwrap();
        self.kept.clear();
        std::mem::replace(&mut self.store, copy).close();
        self.place = Some(place);
        let detached = match self.model.head {
            Head::Detached(commit) => Some(commit),
            Head::Attached(_) => None,
        };
        let tips: Vec<_> = self.model.branches.values().copied().chain(detached).collect();
        let reached: BTreeSet<_> =
            tips.into_iter().flat_map(|tip| self.model.ancestors(tip)).collect();
        self.model.commits.retain(|commit, _| reached.contains(commit));
        self.model.order.retain(|commit| reached.contains(commit));
        self.model.staged.clear();
        self.model.moves.clear();
        self.local.clear();
    }

    /// A store that is left on disk is sound, and there is nothing to repair or to migrate.
    pub(super) fn leave(&self) {
        let Some(place) = &self.place else { return };
        self.kept.values().for_each(|kept| kept.close());
        self.store.close();
        let sound = |place: &Path| Store::fsck_at(place, self.environment.clone(), |_| ()).unwrap();
        assert!(sound(place).is_sound());
        let repair = Store::repair(place, self.environment.clone(), |_| ()).unwrap();
        assert_eq!((repair.data_file, repair.moved, repair.losses), (None, vec![], vec![]));
        let migrated = Store::migrate(place, &self.environment, false, |_, _| ()).unwrap();
        assert_eq!((migrated.from, migrated.changed), (FormatVersion::CURRENT, false));
    }
}
