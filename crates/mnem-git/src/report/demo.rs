//! The demo: what is said around its commands, and what was run.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use textwrap::Options;

use super::Report;
use crate::output::{Page, Shade};

/// No line that the demo writes of its own is longer.
const WIDTH: usize = 78;

/// What was run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Demo {
    /// The commands, in order.
    pub commands: Vec<Ran>,
    /// The directory that the store was left in; null when it is gone.
    pub store: Option<PathBuf>,
}

/// A command that was run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ran {
    /// As it is typed.
    pub command: String,
    /// The exit code it ended with.
    pub exit: u8,
}

impl Report for Demo {
    const COMMAND: &'static str = "demo";

    /// Everything was said as it happened.
    fn human(&self, _: &mut Page) {}
}

/// How a scene begins.
pub fn opening(number: usize, of: usize, title: &str, says: &str) -> Page {
    let mut page = Page::new(TimeZone::UTC);
    if number > 1 {
        page.end();
    }
    page.shade(Shade::Strong, format!("{number}/{of} {title}")).end();
    paragraph(&mut page, says, "");
    page
}

/// A command as it is typed.
pub fn typed(line: &str) -> Page {
    let mut page = Page::new(TimeZone::UTC);
    page.end();
    for (number, part) in line.lines().enumerate() {
        page.say(if number == 0 { "$ " } else { "" }).shade(Shade::Strong, part).end();
    }
    page
}

/// What each command was, and where to go on.
pub fn closing(kept: Option<&Path>) -> Page {
    let mut page = Page::new(TimeZone::UTC);
    page.end();
    page.shade(Shade::Strong, "What you saw").end();
    for (command, what) in [
        ("remember", "writes one memory, with its source, as a commit"),
        ("--branch", "writes to another line and leaves this one alone"),
        ("bisect", "finds when a belief began, and lists every flip of it"),
        ("blame", "names the commit and the source behind a belief, through merges"),
        ("merge", "joins two lines; what both changed is a conflict with a type"),
        ("log", "lists the history, and draws it"),
        ("verify", "hashes every object again"),
    ] {
        paragraph(&mut page, &format!("{command:<9} {what}"), "            ");
    }
    page.end();
    match kept {
        Some(directory) => {
            paragraph(&mut page, &format!("The store is in {}.", directory.display()), "");
        }
        None => paragraph(
            &mut page,
            "`mnem demo --keep DIR` leaves the store to play with; `mnem init` makes one of yours.",
            "",
        ),
    }
    page
}

fn paragraph(page: &mut Page, text: &str, indent: &str) {
    let width = textwrap::termwidth().min(WIDTH);
    let first = if indent.is_empty() { "" } else { "  " };
    let options = Options::new(width).initial_indent(first).subsequent_indent(indent);
    for line in textwrap::wrap(text, options) {
        page.line(line);
    }
}
