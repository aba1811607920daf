//! Every `sh` block of the documentation that types `mnem` runs as it stands.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The `mnem` lines of every `sh` block of a page, with the lines they go on in.
fn script(page: &str) -> String {
    let (mut inside, mut goes_on) = (false, false);
    let mut script = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```sh";
            goes_on = false;
        } else if inside && (goes_on || line.starts_with("mnem")) {
            script.extend([line, "\n"]);
            goes_on = line.ends_with('\\');
        }
    }
    script
}

#[test]
#[cfg(unix)]
fn every_block_runs() {
    let root = repository();
    let binaries = Path::new(env!("CARGO_BIN_EXE_mnem")).parent().unwrap().to_owned();
    let mut ran = 0;
    for page in [vec![root.join("README.md")], pages(&root.join("docs"))].concat() {
        let script = script(&fs::read_to_string(&page).unwrap());
        if script.is_empty() {
            continue;
        }
        let scratch = TempDir::new().unwrap();
        let mut path = vec![binaries.clone()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let output = Command::new("sh")
            .args(["-e", "-c", &script])
            .env_clear()
            .env("PATH", env::join_paths(path).unwrap())
            .env("HOME", scratch.path())
            .env("TZ", "UTC")
            .current_dir(scratch.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}:\n{script}\n{told}", page.display());
        ran += 1;
    }
    assert!(ran >= 1, "{ran}");
}

#[test]
fn only_lines_that_type_mnem_are_taken() {
    let page = "mnem no\n```sh\nmake demo\nmnem init\n# mnem\nmnem add a \\\n  b\nls\n```\n\
                ```python\nmnem = 1\n```\n```sh\nmnem log\n```\n";
    assert_eq!(script(page), "mnem init\nmnem add a \\\n  b\nmnem log\n");
}
