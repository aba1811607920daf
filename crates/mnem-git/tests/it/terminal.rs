//! A directory, an empty environment, and a transcript of what was typed and printed there.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use mnem_store::backend::original::OriginalWriter;
use mnem_store::{BranchName, Clock, Content, MemoryNode, NodeId};
use tempfile::TempDir;

use crate::reference::conforms;

/// 2026-10-17T18:00:00Z
const START: i64 = 1_792_260_000_000;
const MINUTE: i64 = 60_000;

/// A clock that stands at the time of the first command.
#[derive(Debug)]
pub struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> i64 {
        START
    }
}

/// Types commands in a directory of its own.
///
/// The environment is empty but for `TZ=UTC`. Each command is told a time one minute after the one before, and
/// stores are reproducible, so that the ids in a transcript are the ids anyone gets.
pub struct Terminal {
    directory: TempDir,
    environment: Vec<(String, String)>,
    now: i64,
    transcript: String,
}

impl Terminal {
    /// In an empty directory.
    pub fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            environment: vec![("TZ".to_owned(), "UTC".to_owned())],
            now: START,
            transcript: String::new(),
        }
    }

    /// In a directory with an empty store.
    pub fn with_store() -> Self {
        let mut terminal = Self::new();
        terminal.quietly("mnem init --reproducible");
        terminal
    }

    /// Makes a store of the original in a directory below: two commits and a draft.
    pub fn original(&self, name: &str) -> OriginalWriter {
        let writer = OriginalWriter::create(&self.path().join(name)).unwrap();
        let plan = |text| MemoryNode::note(NodeId::new("plan").unwrap(), Content::text(text));
        let main = BranchName::new("main").unwrap();
        let first = writer.commit(&main, &[], &[plan("Enterprise")], "note the plan", START);
        let parents = [first.unwrap()];
        writer.commit(&main, &parents, &[plan("Pro")], "misread", START + MINUTE).unwrap();
        writer.stage(&plan("Enterprise until May")).unwrap();
        writer
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// The same with what stands in the transcript so far forgotten.
    pub fn forget_transcript(&mut self) {
        self.transcript.clear();
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Runs a command and returns what came of it.
    pub fn output(&mut self, line: &str, input: &[u8]) -> Output {
        let words = shlex::split(line).unwrap();
        let (program, arguments) = words.split_first().unwrap();
        assert_eq!(program, "mnem");
        let mut command = Command::new(env!("CARGO_BIN_EXE_mnem"));
        command
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !arguments.iter().any(|word| word == "--time") {
            command.args(["--time", &self.now.to_string()]);
        }
        self.now += MINUTE;
        let mut child = command.args(arguments).spawn().unwrap();
        // A command that asks for no input may be gone before it is written.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let is_asked_for =
            |option| arguments.iter().take_while(|w| *w != "--").any(|w| w == option);
        if is_asked_for("--json") && !is_asked_for("--help") {
            is_one_document(line, &output);
        }
        output
    }

    /// Runs a command that must succeed; it is not in the transcript.
    pub fn quietly(&mut self, line: &str) -> String {
        let output = self.output(line, b"");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command; standard error is marked with `!`, an exit code other than 0 with `?`.
    pub fn run(&mut self, line: &str) -> &mut Self {
        self.pipe("", line)
    }

    /// The same with something on standard input.
    pub fn pipe(&mut self, input: impl AsRef<[u8]>, line: &str) -> &mut Self {
        let output = self.output(line, input.as_ref());
        let place = self.path().display().to_string();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&place, "[DIR]");
        self.transcript.extend(["$ ", line, "\n", &text(output.stdout)]);
        if !self.transcript.ends_with('\n') {
            self.transcript += "[no line break]\n";
        }
        for line in text(output.stderr).lines() {
            self.transcript.extend([format!("! {line}").trim_end(), "\n"]);
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => self.transcript.extend(["? ", &code.to_string(), "\n"]),
            None => panic!("{line}: killed"),
        }
        self
    }

    /// What the store holds and the names of the files beside it: as before when nothing was
    /// written.
    pub fn holdings(&mut self) -> String {
        let mut held: Vec<_> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        held.sort();
        for line in ["mnem verify", "mnem branch --json", "mnem status --json"] {
            held.push(self.quietly(line));
        }
        held.join("\n")
    }

    /// Everything that was typed and printed.
    pub fn transcript(&self) -> &str {
        &self.transcript
    }
}

/// One JSON document, as its schema says: the answer on standard output, or the error on standard
/// error, and nothing on the other.
fn is_one_document(line: &str, output: &Output) {
    let is_error = output.stdout.is_empty();
    let told = if is_error { &output.stderr } else { &output.stdout };
    let document: serde_json::Value = serde_json::from_slice(told)
        .unwrap_or_else(|error| panic!("{line}: {error}: {}", String::from_utf8_lossy(told)));
    let command = document["schema"]["command"].as_str().unwrap();
    assert_eq!(command == "error", is_error, "{line}: {document}");
    if is_error {
        assert_ne!(output.status.code(), Some(0), "{line}");
    } else {
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        conforms(command, &document).unwrap_or_else(|problem| panic!("{line}: {problem}"));
    }
}

/// Every file below a directory with its bytes, apart from locks.
pub fn bytes(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(bytes(&path));
        } else if !path.ends_with(".mnem/holder") {
            // Who tried to open the store stands there.
            files.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    files.sort();
    files
}
