//! demo: a story that runs the real commands.

mod story;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mnem_store::{Error, ErrorKind, Hint, Store};

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, has_keys, key, named};
use crate::report::demo::{self as told, Demo, Ran};
use crate::run::within;
use story::STORY;

/// Watch a wrong belief being found, traced and put right, in real commands
///
/// Nothing of yours is touched. Times are fixed, so everyone sees the same ids.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Wait for a key after each scene; q ends the demo
    #[arg(long, conflicts_with = "json")]
    step: bool,
    /// Leave the store in DIR, to play with [default: it is gone at the end]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// A part of the story.
struct Scene {
    title: &'static str,
    /// What happens, before the commands.
    says: &'static str,
    commands: &'static [Typed],
}

/// A command as it is typed.
struct Typed {
    line: &'static str,
    /// When, in ISO 8601.
    time: &'static str,
    /// The exit code it ends with.
    exit: u8,
}

pub fn run(context: &Context, args: &Args) -> Result<Demo, Failure> {
    if args.step && !has_keys() {
        return Err(Failure::usage("--step waits for a key, and there is no terminal"));
    }
    let temporary = match &args.keep {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(|e| refused("make a temporary directory", &e))?),
    };
    let directory = match (&args.keep, &temporary) {
        (Some(directory), _) => {
            refuse_in_store(context, directory)?;
            fs::create_dir_all(directory)
                .map_err(|e| refused(&format!("make {}", directory.display()), &e))?;
            directory.as_path()
        }
        (None, Some(temporary)) => temporary.path(),
        (None, None) => Path::new("."),
    };
    let mut demo = Demo { commands: Vec::new(), store: args.keep.clone().map(named) };
    let here = Here::enter(directory)?;
    let output = Output::within(context.json);
    let scenes = STORY.len();
    for (number, scene) in STORY.iter().enumerate() {
        let written = output.part(&told::opening(number + 1, scenes, scene.title, scene.says));
        if is_over(written)? {
            return Ok(demo);
        }
        for typed in scene.commands {
            if is_over(output.part(&told::typed(typed.line)))? {
                return Ok(demo);
            }
            let exit = within(output, &typed.words());
            demo.commands.push(Ran { command: joined(typed.line), exit });
            if exit != typed.exit {
                let message =
                    format!("the demo stopped: `{}` ended with {exit}", joined(typed.line));
                return Err(Failure { exit, ..Failure::system(message) });
            }
        }
        if args.step && number + 1 < scenes && !key("-- any key goes on, q ends --") {
            return Ok(demo);
        }
    }
    is_over(output.part(&told::closing(args.keep.as_deref())))?;
    drop(here);
    Ok(demo)
}

/// Refuses to tell the story in somebody's store.
fn refuse_in_store(context: &Context, directory: &Path) -> Result<(), Failure> {
    let there = directory.ancestors().find(|path| path.exists());
    let there = there.filter(|path| *path != Path::new("")).unwrap_or(Path::new("."));
    match Store::open(there, context.environment()) {
        Err(error) if error.kind() == ErrorKind::NoStore => Ok(()),
        // Also one that cannot be opened is somebody's.
        _ => {
            let message = format!("{} is in a store already", directory.display());
            Err(Error::new(ErrorKind::StoreExists, message).hint(Hint::OtherStore).into())
        }
    }
}

impl Typed {
    /// The words, as a shell splits them, in the demo's own directory and time.
    fn words(&self) -> Vec<String> {
        let mut words = shlex::split(&joined(self.line)).unwrap_or_default();
        words.extend(["-C", ".", "--utc", "--time", self.time].map(str::to_owned));
        words
    }
}

/// A command on one line: its line breaks are for the eye.
fn joined(line: &str) -> String {
    line.replace("\\\n    ", "")
}

/// Whether whoever reads has gone away.
fn is_over(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => Err(Failure::system(format!("cannot write the answer: {error}"))),
    }
}

fn refused(doing: &str, error: &io::Error) -> Failure {
    Failure::system(format!("cannot {doing}: {error}"))
}

/// Is in a directory, and goes back when dropped: the commands then need no path, as when they
/// are typed.
struct Here {
    back: PathBuf,
}

impl Here {
    fn enter(directory: &Path) -> Result<Self, Failure> {
        let back = env::current_dir().map_err(|e| refused("tell where this is", &e))?;
        env::set_current_dir(directory)
            .map_err(|e| refused(&format!("enter {}", directory.display()), &e))?;
        Ok(Self { back })
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        // It was there a moment ago; if it is gone, no later step needs it.
        let _ = env::set_current_dir(&self.back);
    }
}
