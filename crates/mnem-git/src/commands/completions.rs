//! completions: what a shell needs to complete a command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Failure;
use crate::report::completions::Completions;

/// Print a script that completes `mnem` in a shell
///
/// For bash: `source <(mnem completions bash)`. For zsh: `mnem completions zsh > DIR/_mnem` with
/// DIR in `$fpath`. For fish: `mnem completions fish > ~/.config/fish/completions/mnem.fish`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

#[allow(clippy::unnecessary_wraps)] // the shape of every command
pub fn run(args: &Args) -> Result<Completions, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mnem", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(Completions { shell: args.shell.to_string(), script })
}
