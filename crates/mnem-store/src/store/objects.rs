//! Objects of any kind, named by a prefix of their id.

use super::Store;
use crate::codec::Encoded;
use crate::error::{Error, Hint};
use crate::id::{MIN_PREFIX_DIGITS, ObjectId};
use crate::object::Object;

/// How many candidates an ambiguous prefix lists.
const CANDIDATES: usize = 10;

impl Store {
    /// The object, of any kind, whose id begins with these hexadecimal digits: at least
    /// [`MIN_PREFIX_DIGITS`], odd in number or even. `InvalidRef` when none does, or several.
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
    /// use mnem_store::object::Kind;
    /// let commit = put(&store, "plan", "pro")?;
    /// let (encoded, object) = store.find_object(&commit.to_string()[..13])?;
    /// assert_eq!((encoded.id(), object.kind()), (commit.into(), Kind::Commit));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn find_object(&self, prefix: &str) -> Result<(Encoded, Object), Error> {
        let range =
            (prefix.len() >= MIN_PREFIX_DIGITS).then(|| ObjectId::prefix_range(prefix)).flatten();
        let range = range.ok_or_else(|| {
            Error::invalid(format!(
                "{prefix:?} is not an object id prefix ({MIN_PREFIX_DIGITS} to 64 lowercase hex)"
            ))
            .hint(Hint::ListLog)
        })?;
        let engine = self.engine()?;
        let found = engine.objects.view()?.ids(range, CANDIDATES + 1)?;
        match found.as_slice() {
            [] => Err(Error::invalid(format!("no object matching {prefix:?}")).hint(Hint::ListLog)),
            [(id, _)] => engine
                .objects
                .encoded(*id)?
                .ok_or_else(|| Error::corrupt(format!("the object {id} is listed but missing"))),
            _ => {
                let mut candidates: Vec<_> = found
                    .iter()
                    .take(CANDIDATES)
                    .map(|(id, kind)| format!("{} ({})", id.short(), kind.as_str()))
                    .collect();
                if found.len() > CANDIDATES {
                    candidates.push("more".into());
                }
                let message = format!("{prefix:?} is ambiguous: {}", candidates.join(", "));
                Err(Error::invalid(message).hint(Hint::ListLog))
            }
        }
    }
}
