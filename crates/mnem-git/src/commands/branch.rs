//! branch: list, create or delete branches.

use mnem_store::{BranchName, Error, Head, Hint};

use crate::context::Context;
use crate::error::Failure;
use crate::report::branch::{Branch, Listed};
use crate::report::shapes::Commit;
use crate::system;

/// List, create or delete branches
///
/// A branch is a name for a commit: making one copies nothing, deleting one loses nothing.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The branch to create; every branch is listed when it is left out
    name: Option<String>,
    /// The revision it starts at [default: HEAD]
    start: Option<String>,
    /// Delete a branch; its commits stay
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["name", "start"])]
    delete: Option<String>,
}

pub fn run(context: &Context, args: Args) -> Result<Branch, Failure> {
    let author = system::author(None);
    if let Some(name) = args.delete {
        let store = context.open()?;
        let branch = BranchName::from_stored(name.as_str());
        let tip = store.branches()?.get(&branch).copied();
        return match tip {
            Some(commit) if store.delete_branch(&branch, &author)? => {
                Ok(Branch::Deleted { name, commit })
            }
            _ => {
                let error = Error::not_found(format!("no branch named {name:?}"));
                Err(error.hint(Hint::ListBranches).into())
            }
        };
    }
    if let Some(name) = args.name {
        let branch = BranchName::new(name.as_str()).map_err(|error| Failure::argument(&error))?;
        let commit = context.open()?.create_branch(&branch, args.start.as_deref(), &author)?;
        return Ok(Branch::Created { name, commit });
    }
    let store = context.open()?;
    let head = store.head()?;
    let mut branches = Vec::new();
    for (name, id) in store.branches()? {
        let commit = Commit::new(id, &*store.commit_object(id)?);
        let current = head == Head::Attached(name.clone());
        branches.push(Listed { name: name.to_string(), current, commit });
    }
    Ok(Branch::List { branches })
}
