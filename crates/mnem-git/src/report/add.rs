//! A memory that was staged.

use mnem_store::{NodeId, NodeVersionId};
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::text;
use crate::output::{Page, Shade};

/// A memory that was staged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Add {
    /// The node.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub id: NodeId,
    /// The node object's id.
    #[serde(serialize_with = "text")]
    #[schemars(with = "String")]
    pub object: NodeVersionId,
}

impl Report for Add {
    const COMMAND: &'static str = "add";

    fn human(&self, page: &mut Page) {
        page.say(format!("Staged {} as ", self.id)).shade(Shade::Id, self.object.short()).end();
    }
}
