//! Where a belief came from.

use mnem_store::Provenance;
use schemars::JsonSchema;
use serde::Serialize;

use super::Report;
use super::shapes::{Origin, first_line};
use crate::output::{Page, Shade};

/// Where a belief came from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Blame(pub Origin);

impl Report for Blame {
    const COMMAND: &'static str = "blame";

    fn human(&self, page: &mut Page) {
        let Self(origin) = self;
        let node = &origin.node.0;
        page.shade(Shade::Id, origin.commit.short()).say("  ").time(origin.time).end();
        page.line(format!("  commit:  {}", first_line(&origin.message)));
        page.line(format!("  author:  {}", origin.author));
        let label = if origin.removed { "removed" } else { "content" };
        page.line(format!("  {label}: {}", node.content));
        let Provenance { agent_step, observation, tool_call, source, note } = &node.provenance;
        for (label, value) in [
            ("step:    ", agent_step),
            ("source:  ", source),
            ("tool call: ", tool_call),
            ("observation: ", observation),
            ("note:    ", note),
        ] {
            if let Some(value) = value {
                page.line(format!("  {label}{value}"));
            }
        }
        if node.provenance.is_empty() {
            page.line("  (no provenance recorded)");
        }
    }
}
