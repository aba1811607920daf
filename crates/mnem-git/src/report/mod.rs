//! What each command answers: the same struct as JSON and in words.

pub mod add;
pub mod approve;
pub mod bisect;
pub mod blame;
pub mod branch;
pub mod cat_object;
pub mod changelog;
pub mod checkout;
pub mod commit;
pub mod completions;
pub mod demo;
pub mod diff;
pub mod export;
pub mod fsck;
pub mod get;
pub mod import;
pub mod import_chat;
pub mod import_json;
pub mod inbox;
pub mod init;
pub mod log;
pub mod merge;
pub mod merge_page;
pub mod migrate;
pub mod reflog;
pub mod reject;
pub mod rm;
pub mod shapes;
pub mod show;
pub mod stats;
pub mod status;
pub mod take_back;
pub mod unstage;
pub mod verify;
pub mod version;
pub mod write;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::error::Failure;
use crate::output::Page;

/// The answer of a command.
pub trait Report: Serialize {
    /// The command, as the schema names it.
    const COMMAND: &'static str;
    /// The version of the schema: raised when a field changes its meaning or goes.
    const VERSION: u32 = 1;

    /// The answer in words.
    fn human(&self, page: &mut Page);

    /// Why the answer is no, when it is.
    fn refusal(&self) -> Option<Failure> {
        None
    }
}

/// The JSON schema of one command's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The command, as the answer names it.
    pub command: &'static str,
    /// The version of the schema.
    pub version: u32,
    /// The fields beside `schema`.
    pub schema: Schema,
}

/// The JSON schema of every answer, and the shapes they refer to by their names.
pub fn schemas() -> (Vec<Answer>, serde_json::Map<String, serde_json::Value>) {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let answers = vec![
        answer::<init::Init>(&mut generator),
        answer::<write::Remember>(&mut generator),
        answer::<write::Forget>(&mut generator),
        answer::<get::Get>(&mut generator),
        answer::<add::Add>(&mut generator),
        answer::<rm::Rm>(&mut generator),
        answer::<commit::Commit>(&mut generator),
        answer::<status::Status>(&mut generator),
        answer::<log::Log>(&mut generator),
        answer::<show::Show>(&mut generator),
        answer::<diff::Diff>(&mut generator),
        answer::<changelog::Changelog>(&mut generator),
        answer::<blame::Blame>(&mut generator),
        answer::<bisect::Bisect>(&mut generator),
        answer::<branch::Branch>(&mut generator),
        answer::<inbox::Inbox>(&mut generator),
        answer::<checkout::Checkout>(&mut generator),
        answer::<merge::Merge>(&mut generator),
        answer::<approve::Approve>(&mut generator),
        answer::<reject::Reject>(&mut generator),
        answer::<unstage::Unstage>(&mut generator),
        answer::<take_back::Revert>(&mut generator),
        answer::<take_back::Restore>(&mut generator),
        answer::<take_back::Undo>(&mut generator),
        answer::<reflog::Reflog>(&mut generator),
        answer::<verify::Verify>(&mut generator),
        answer::<fsck::Fsck>(&mut generator),
        answer::<stats::Stats>(&mut generator),
        answer::<migrate::Migrate>(&mut generator),
        answer::<cat_object::CatObject>(&mut generator),
        answer::<export::Export>(&mut generator),
        answer::<import::Import>(&mut generator),
        answer::<import_json::ImportJson>(&mut generator),
        answer::<import_chat::ImportChat>(&mut generator),
        answer::<demo::Demo>(&mut generator),
        answer::<completions::Completions>(&mut generator),
        answer::<version::Version>(&mut generator),
    ];
    (answers, generator.take_definitions(true))
}

fn answer<R: Report + JsonSchema>(generator: &mut SchemaGenerator) -> Answer {
    Answer { command: R::COMMAND, version: R::VERSION, schema: R::json_schema(generator) }
}
