//! The `mnem` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(mnem_git::run(std::env::args_os()))
}
