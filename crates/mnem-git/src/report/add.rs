//! A memory that was staged.

use mnem_store::{NodeId, NodeVersionId};
use serde::Serialize;

use super::Report;
use super::shapes::text;
use crate::output::{Page, Shade};

/// A memory that was staged.
#[derive(Clone, Debug, Serialize)]
pub struct Add {
    /// The node.
    #[serde(serialize_with = "text")]
    pub id: NodeId,
    /// The node object's id.
    #[serde(serialize_with = "text")]
    pub object: NodeVersionId,
}

impl Report for Add {
    const COMMAND: &'static str = "add";

    fn human(&self, page: &mut Page) {
        page.say(format!("Staged {} as ", self.id)).shade(Shade::Id, self.object.short()).end();
    }
}
