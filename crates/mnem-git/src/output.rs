//! The only place that prints.
//!
//! Data goes to standard output, everything else to standard error. A closed pipe ends quietly.
//! Whatever a store holds is shown with its control characters escaped: no memory may move the
//! cursor, change colours or hide text of whoever reads it.
//!
//! Long: what prints is here and nowhere else.

use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use clap::error::{ContextKind, ContextValue};
use console::{Key, Term};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::{Failure, HINT_USAGE, OTHER_WORDS, USAGE};
use crate::report::Report;

/// How much a piece of text stands out on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    /// The id of a commit.
    Id,
    /// Something that is there now.
    Added,
    /// Something that is gone.
    Removed,
    /// The branch one is on.
    Current,
    /// The word before an error.
    Error,
    /// The word before a hint.
    Hint,
    /// A heading, or a command as it is typed.
    Strong,
}

impl Shade {
    const fn style(self) -> Style {
        match self {
            Self::Id => AnsiColor::Yellow.on_default(),
            Self::Added | Self::Current => AnsiColor::Green.on_default(),
            Self::Removed => AnsiColor::Red.on_default(),
            Self::Error => AnsiColor::Red.on_default().bold(),
            Self::Hint => AnsiColor::Cyan.on_default(),
            Self::Strong => Style::new().bold(),
        }
    }
}

/// What a report says, piece by piece. Every piece is cleaned as it is written.
#[derive(Debug)]
pub struct Page {
    zone: TimeZone,
    text: String,
    exact: Option<String>,
    notes: Vec<String>,
    hints: Vec<String>,
}

impl Page {
    /// An empty page, whose times are in this zone.
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, text: String::new(), exact: None, notes: Vec::new(), hints: Vec::new() }
    }

    /// Another empty page like this one.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self::new(self.zone.clone())
    }

    /// Writes what another page says, with something drawn around it.
    pub fn framed(&mut self, inner: Self, frame: impl FnOnce(String) -> String) {
        self.text.push_str(&frame(inner.text));
        self.notes.extend(inner.notes);
        self.hints.extend(inner.hints);
    }

    /// Writes a time of a commit or an event with its distance from UTC, `Z` for none.
    pub fn time(&mut self, millis: i64) -> &mut Self {
        self.time_as("%F %T", millis)
    }

    /// The same to the millisecond: put into `@{TIME}`, it is this moment and not the one before.
    pub fn moment(&mut self, millis: i64) -> &mut Self {
        self.time_as("%F %T%.f", millis)
    }

    fn time_as(&mut self, form: &str, millis: i64) -> &mut Self {
        let Ok(time) = Timestamp::from_millisecond(millis) else {
            // Times are their writer's word, and may be none that a calendar has.
            return self.say(format!("{millis} ms"));
        };
        let time = time.to_zoned_datetime(self.zone.clone());
        let zone = if time.offset().is_zero() { "Z" } else { "%:z" };
        self.say(time.strftime(&format!("{form}{zone}")))
    }

    /// Writes text.
    pub fn say(&mut self, text: impl Display) -> &mut Self {
        self.text.push_str(&clean(&text.to_string()));
        self
    }

    /// Writes text that stands out.
    pub fn shade(&mut self, shade: Shade, text: impl Display) -> &mut Self {
        let style = shade.style();
        let _ = write!(self.text, "{style}{}{style:#}", clean(&text.to_string())); // into a String
        self
    }

    /// Ends the line.
    pub fn end(&mut self) {
        self.text.push('\n');
    }

    /// Writes one whole line.
    pub fn line(&mut self, text: impl Display) {
        self.say(text).end();
    }

    /// Writes text as it is, to the byte; on a terminal it is cleaned like any other.
    pub fn exact(&mut self, text: impl Into<String>) {
        self.exact = Some(text.into());
    }

    /// Says something that is not the answer: it goes to standard error.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Says what helps, also where nothing is refused: it goes to standard error, once.
    pub fn hint(&mut self, text: &str) {
        if self.hints.iter().all(|hint| hint != text) {
            self.hints.push(text.to_owned());
        }
    }
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// An option and its value, as a shell takes them.
pub fn option(name: &str, value: &str) -> String {
    // What begins with a dash would be taken for an option of its own.
    let between = if value.starts_with('-') { '=' } else { ' ' };
    format!("{name}{between}{}", quoted(value))
}

/// A path as an answer names it: what is no text in it is replaced.
pub fn named(path: PathBuf) -> PathBuf {
    path.into_os_string().into_string().unwrap_or_else(|p| p.to_string_lossy().into_owned()).into()
}

/// Where answers go, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Output<'o> {
    json: bool,
    streams: Streams,
    utc: bool,
    /// What `-C` said: a command that is named says it too.
    directory: Option<&'o Path>,
}

#[derive(Clone, Copy, Debug)]
enum Streams {
    /// Data to standard output, everything else to standard error.
    Both,
    /// Everything to standard output: how a story is told.
    One,
    /// Nothing is said.
    Neither,
}

#[derive(Serialize)]
struct Schema {
    command: &'static str,
    version: u32,
}

#[derive(Serialize)]
struct Document<'d, T> {
    schema: Schema,
    #[serde(flatten)]
    body: &'d T,
}

#[derive(Serialize)]
struct Problem<'p> {
    code: &'p str,
    message: &'p str,
    hint: Option<&'p str>,
}

impl<'o> Output<'o> {
    /// Answers in words, or in JSON.
    pub fn new(json: bool) -> Self {
        Self { json, streams: Streams::Both, utc: false, directory: None }
    }

    /// For commands that are part of a larger answer: they say everything on standard output,
    /// or, where the answer is JSON, nothing.
    pub fn within(json: bool) -> Self {
        let streams = if json { Streams::Neither } else { Streams::One };
        Self { json: false, streams, utc: true, directory: None }
    }

    /// Prints part of an answer.
    pub fn part(self, page: &Page) -> io::Result<()> {
        page.print(self)
    }

    /// Prints to standard output; colours stay only where a terminal shows them.
    fn say(self, text: &str) -> io::Result<()> {
        if matches!(self.streams, Streams::Neither) {
            return Ok(());
        }
        let mut stream = AutoStream::auto(io::stdout().lock());
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Prints what is no answer. There is nowhere to say that this failed.
    fn tell(self, text: &str) {
        match self.streams {
            Streams::Both => to_stderr(text),
            Streams::One => drop(self.say(text)),
            Streams::Neither => {}
        }
    }

    /// The same, with times in UTC when that is asked for; else they stay as they are.
    #[must_use]
    pub fn in_utc(self, asked: bool) -> Self {
        Self { utc: self.utc || asked, ..self }
    }

    /// The same, of the store at or above `directory`, when that was said with `-C`.
    #[must_use]
    pub fn at(self, directory: Option<&'o Path>) -> Self {
        Self { directory, ..self }
    }

    /// A hint whose commands, as they are typed, are about the same store.
    fn here(self, hint: &str) -> String {
        let Some(directory) = self.directory.filter(|path| *path != Path::new(".")) else {
            return hint.to_owned();
        };
        let with = format!("mnem -C {} ", quoted(&directory.to_string_lossy()));
        let words = hint.split('`').enumerate().map(|(place, part)| {
            // What makes a store has a path of its own; what has none begins with an option.
            let elsewhere = ["mnem init", "mnem import ", "mnem -"];
            match part.strip_prefix("mnem ") {
                Some(rest) if place % 2 == 1 && !elsewhere.iter().any(|e| part.starts_with(e)) => {
                    format!("{with}{rest}")
                }
                _ => part.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join("`")
    }

    fn page(self) -> Page {
        Page::new(if self.utc { TimeZone::UTC } else { TimeZone::system() })
    }

    /// Prints a report and returns the exit code.
    pub fn report<R: Report>(self, report: &R) -> u8 {
        let refusal = report.refusal();
        let exit = refusal.as_ref().map_or(0, |failure| failure.exit);
        let written = if self.json {
            document(R::COMMAND, R::VERSION, report).and_then(|text| self.say(&text))
        } else {
            let mut page = self.page();
            report.human(&mut page);
            let written = page.print(self);
            if let (Ok(()), Some(failure)) = (&written, &refusal) {
                self.failure(failure);
            }
            written
        };
        self.finished(written, exit)
    }

    /// The exit code after an answer was written, or was not. A closed pipe ends quietly.
    fn finished(self, written: io::Result<()>, exit: u8) -> u8 {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.failure(&Failure::system(format!("cannot write the answer: {error}")))
            }
            _ => exit,
        }
    }

    /// Prints why not and returns the exit code. What cannot be told is not told.
    pub fn failure(self, failure: &Failure) -> u8 {
        let hint = failure.hint.as_deref().map(|hint| self.here(hint));
        let text = if self.json {
            let problem =
                Problem { code: failure.code, message: &failure.message, hint: hint.as_deref() };
            document("error", 1, &problem).unwrap_or_default()
        } else {
            let mut page = Page::new(TimeZone::UTC);
            page.shade(Shade::Error, "error:").say(" ").line(&failure.message);
            if let Some(hint) = &hint {
                page.shade(Shade::Hint, "hint:").say(" ").line(hint);
            }
            page.text
        };
        self.tell(&text);
        failure.exit
    }

    /// Says beside an answer, where people read, what helps the store as a whole.
    pub fn advise(self, what: &str, hint: &str) {
        if !self.json {
            let mut page = Page::new(TimeZone::UTC);
            page.shade(Shade::Hint, "note:").say(" ").line(what);
            self.tell(&page.text);
            self.hint(hint);
        }
    }

    fn hint(self, hint: &str) {
        let mut page = Page::new(TimeZone::UTC);
        page.shade(Shade::Hint, "hint:").say(" ").line(self.here(hint));
        self.tell(&page.text);
    }

    /// Prints help that was asked for, or what is wrong with a command line.
    pub fn usage(self, error: &clap::Error) -> u8 {
        let text = error.render();
        if !error.use_stderr() {
            return self.finished(self.say(&text.ansi().to_string()), 0);
        }
        if self.json {
            let plain = text.to_string();
            // The first paragraph says what is wrong, another how it is used.
            let first: Vec<_> =
                plain.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
            let first = first.join(" ");
            let message = first.strip_prefix("error: ").unwrap_or(&first);
            let usage = plain.lines().find(|line| line.starts_with("Usage: "));
            let hint = meant(error).or(usage).unwrap_or(HINT_USAGE);
            return self.failure(&Failure::usage(message).hint(hint));
        }
        self.tell(&text.ansi().to_string());
        if let Some(hint) = meant(error) {
            self.hint(hint);
        }
        USAGE
    }
}

/// What helps who typed a command of another tool.
fn meant(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let known = OTHER_WORDS.iter().find(|(words, _)| words.contains(&typed.as_str()));
    known.map(|(_, hint)| *hint)
}

impl Page {
    fn print(&self, output: Output) -> io::Result<()> {
        match &self.exact {
            None => output.say(&self.text)?,
            Some(exact) if io::stdout().is_terminal() => {
                let lines: Vec<_> = exact.lines().map(clean).collect();
                output.say(&format!("{}\n", lines.join("\n")))?;
            }
            Some(exact) => {
                let mut stream = io::stdout().lock();
                stream.write_all(exact.as_bytes())?;
                stream.flush()?;
            }
        }
        if !self.notes.is_empty() {
            let notes: Vec<_> = self.notes.iter().map(|note| clean(note) + "\n").collect();
            output.tell(&notes.concat());
        }
        for hint in &self.hints {
            output.hint(hint);
        }
        Ok(())
    }
}

fn document<T: Serialize>(command: &'static str, version: u32, body: &T) -> io::Result<String> {
    let schema = Schema { command, version };
    let text =
        serde_json::to_string_pretty(&Document { schema, body }).map_err(io::Error::other)?;
    // Only strings can hold these, and there an escape means the same.
    Ok(text.lines().map(|line| clean(line) + "\n").collect())
}

/// Prints to standard error. There is nowhere to say that this failed.
fn to_stderr(text: &str) {
    let _ = AutoStream::auto(io::stderr().lock()).write_all(text.as_bytes());
}

/// Says on standard error what the command waits for, when a person would wonder.
pub fn prompt(text: &str) {
    if io::stdin().is_terminal() {
        to_stderr(&format!("{text}\n"));
    }
}

/// Standard output for a stream that is written piece by piece.
pub fn raw_stdout() -> impl Write {
    io::BufWriter::new(io::stdout().lock())
}

/// Whether there is a person who could press a key.
pub fn has_keys() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Waits for a key at a terminal. False when the person had enough: q, Escape or Ctrl-C.
pub fn key(text: &str) -> bool {
    let terminal = Term::stderr();
    to_stderr(text);
    let key = terminal.read_key_raw();
    let _ = terminal.clear_line(); // a line that stays does no harm
    matches!(key, Ok(key) if !matches!(key, Key::Escape | Key::CtrlC | Key::Char('q' | 'Q')))
}

/// Asks a person whether to go on: only y does.
pub fn confirm(text: &str) -> bool {
    to_stderr(text);
    let key = Term::stderr().read_key_raw();
    let is_yes = matches!(key, Ok(Key::Char('y' | 'Y')));
    to_stderr(if is_yes { "yes\n" } else { "no\n" });
    is_yes
}

/// How far a long task is, on standard error where that is a terminal. Gone when dropped.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Of a known number of things.
    pub fn of(things: &'static str, total: u64) -> Self {
        Self::drawn(ProgressBar::new(total), "{wide_bar} {pos}/{len} {msg}", things)
    }

    /// Of a number of things that nobody knows before.
    pub fn counting(things: &'static str) -> Self {
        Self::drawn(ProgressBar::new_spinner(), "{spinner} {pos} {msg}", things)
    }

    /// Of something whose end nobody knows.
    pub fn busy(doing: &'static str) -> Self {
        let progress = Self::drawn(ProgressBar::new_spinner(), "{spinner} {msg}", doing);
        progress.0.enable_steady_tick(Duration::from_millis(100));
        progress
    }

    fn drawn(bar: ProgressBar, template: &str, things: &'static str) -> Self {
        // Drawn by itself only where standard error is a terminal.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(things);
        Self(bar)
    }

    /// So many are done.
    pub fn at(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Text with its control characters escaped, as JSON would escape them.
pub fn clean(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut safe, c));
    safe
}

/// Escapes control characters, those that show text in another order than it has, and those that
/// no one sees, in which text for a model can hide. Joiners stay: words and emoji are written with
/// them.
fn push(safe: &mut String, c: char) {
    let reorders = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}');
    let is_unseen = matches!(
        c,
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    match c {
        '\n' => safe.push_str("\\n"),
        '\r' => safe.push_str("\\r"),
        '\t' => safe.push_str("\\t"),
        c if reorders || is_unseen || c.is_control() => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}"); // into a String
            }
        }
        c => safe.push(c),
    }
}
