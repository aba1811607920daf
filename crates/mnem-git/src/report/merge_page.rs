//! The conflicts of a merge as one page: no script, nothing fetched, everything escaped.
//!
//! Whoever wrote a memory wrote its text, so text is never markup here, and characters that
//! reorder or hide text are shown as escapes.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use mnem_store::{MemoryNode, Provenance};
use similar::{ChangeTag, DiffTag, TextDiff};

use super::merge::{Conflict, Merge};
use super::shapes::{Node, counted};
use crate::output::clean;

/// How long a comparison may look for the smallest difference; a larger one is found at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// The page.
pub fn html(merge: &Merge) -> String {
    let (ours, theirs) = (escape(&merge.branch), escape(&merge.theirs));
    let count = match merge.conflicts.len() as u64 {
        0 if merge.status == "up-to-date" => "There is nothing to merge.".to_owned(),
        0 => "No conflict: the merge needs no answer.".to_owned(),
        number => format!("{}. Each needs an answer.", counted(number, "conflict")),
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>Merge {theirs} into {ours}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Merge <b>{theirs}</b> into <b>{ours}</b></h1>\n<p>{count}</p>\n"
    );
    if !merge.conflicts.is_empty() {
        page.push_str(
            "<p class=\"key\"><del>gone on a side</del> <ins>new on this side</ins></p>\n",
        );
    }
    page.push_str("</header>\n");
    for conflict in &merge.conflicts {
        section(&mut page, conflict, &ours, &theirs);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, conflict: &Conflict, ours: &str, theirs: &str) {
    let id = escape(&conflict.id);
    push(page, &format!("<section>\n<h2>{id} <small>{}</small></h2>\n", conflict.kind));
    let text = |node: &Option<Node>| node.as_ref().map(|Node(node)| pretty(node));
    let (base, mine, other) = (text(&conflict.base), text(&conflict.ours), text(&conflict.theirs));
    // Each side against what both had, or, where there was nothing, against the other.
    let mut gone = Ranges::new();
    let mut marks = |side: &Option<String>, against: &Option<String>| {
        let (Some(new), Some(old)) = (side, base.as_ref().or(against.as_ref())) else {
            return Ranges::new();
        };
        let (removed, added) = compared(old, new);
        gone.extend(removed);
        added
    };
    let (mine_new, other_new) = (marks(&mine, &other), marks(&other, &mine));
    page.push_str("<div class=\"sides\">\n");
    let whole = |text: &Option<String>, marked: Ranges, tag| {
        text.as_ref().map(|text| marked_up(text, marked, tag))
    };
    let ours = format!("Ours: {ours}");
    let theirs = format!("Theirs: {theirs}");
    side(page, "Base", conflict.base.as_ref(), whole(&base, gone, "del"), "not there yet");
    side(page, &ours, conflict.ours.as_ref(), whole(&mine, mine_new, "ins"), "removed");
    side(page, &theirs, conflict.theirs.as_ref(), whole(&other, other_new, "ins"), "removed");
    let answers = ["ours", "theirs", "base", "delete"]
        .into_iter()
        .filter(|answer| *answer != "base" || conflict.base.is_some());
    let answers: Vec<_> = answers.map(|answer| format!("<code>{id}={answer}</code>")).collect();
    push(
        page,
        &format!(
            "</div>\n<p class=\"answers\"><code>--resolve</code> takes {} or <code>{id}=@FILE</code></p>\n</section>\n",
            answers.join(", ")
        ),
    );
}

/// One column. `title` and `text` are markup already.
fn side(page: &mut String, title: &str, node: Option<&Node>, text: Option<String>, absent: &str) {
    push(page, &format!("<article>\n<h3>{title}</h3>\n"));
    match (node, text) {
        (Some(Node(node)), Some(text)) => {
            push(page, &format!("<pre>{text}</pre>\n"));
            origin(page, &node.provenance);
        }
        _ => push(page, &format!("<p class=\"absent\">{absent}</p>\n")),
    }
    page.push_str("</article>\n");
}

fn origin(page: &mut String, provenance: &Provenance) {
    let Provenance { agent_step, observation, tool_call, source, note } = provenance;
    if provenance.is_empty() {
        page.push_str("<p class=\"absent\">no provenance recorded</p>\n");
        return;
    }
    page.push_str("<dl>\n");
    for (label, value) in [
        ("source", source),
        ("step", agent_step),
        ("tool call", tool_call),
        ("observation", observation),
        ("note", note),
    ] {
        if let Some(value) = value {
            push(page, &format!("<dt>{label}</dt><dd>{}</dd>\n", escape(value)));
        }
    }
    page.push_str("</dl>\n");
}

/// The content as indented JSON.
fn pretty(node: &MemoryNode) -> String {
    serde_json::to_string_pretty(&node.content).unwrap_or_else(|_| node.content.to_string())
}

type Ranges = Vec<Range<usize>>;

/// What is gone from `old` and what is new in `new`, as ranges of bytes: whole lines, and within
/// lines that stand for others, words.
fn compared(old: &str, new: &str) -> (Ranges, Ranges) {
    let (mut gone, mut added) = (Ranges::new(), Ranges::new());
    let (before, after) = (starts(old), starts(new));
    let span = |starts: &[usize], lines: Range<usize>| starts[lines.start]..starts[lines.end];
    for operation in TextDiff::configure().timeout(PATIENCE).diff_lines(old, new).ops() {
        let was = span(&before, operation.old_range());
        let is = span(&after, operation.new_range());
        match operation.tag() {
            DiffTag::Equal => {}
            DiffTag::Delete => gone.push(was),
            DiffTag::Insert => added.push(is),
            DiffTag::Replace => {
                let (mut at_old, mut at_new) = (was.start, is.start);
                let (was, is) = (&old[was], &new[is]);
                let words = TextDiff::configure().timeout(PATIENCE).diff_unicode_words(was, is);
                for word in words.iter_all_changes() {
                    let length = word.value().len();
                    match word.tag() {
                        ChangeTag::Equal => {}
                        ChangeTag::Delete => gone.push(at_old..at_old + length),
                        ChangeTag::Insert => added.push(at_new..at_new + length),
                    }
                    at_old += if word.tag() == ChangeTag::Insert { 0 } else { length };
                    at_new += if word.tag() == ChangeTag::Delete { 0 } else { length };
                }
            }
        }
    }
    (gone, added)
}

/// Where each line begins, and the end of the text.
fn starts(text: &str) -> Vec<usize> {
    let mut at = 0;
    let mut starts = vec![0];
    starts.extend(text.split_inclusive('\n').map(|line| {
        at += line.len();
        at
    }));
    starts
}

/// Text with ranges of it marked; they may overlap. Marks that only spaces part are one; none
/// runs over the end of a line.
fn marked_up(text: &str, mut ranges: Ranges, tag: &str) -> String {
    ranges.sort_by_key(|range| range.start);
    let mut joined = Ranges::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last)
                if range.start <= last.end
                    || text[last.end..range.start].chars().all(|c| c == ' ') =>
            {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    let mut page = String::new();
    let mut at = 0;
    for range in joined {
        lines(&mut page, &text[at..range.start], None);
        lines(&mut page, &text[range.clone()], Some(tag));
        at = range.end;
    }
    lines(&mut page, &text[at..], None);
    page
}

fn lines(page: &mut String, text: &str, tag: Option<&str>) {
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            page.push('\n');
        }
        let blank = line.trim_start_matches(' ');
        page.push_str(&line[..line.len() - blank.len()]);
        match tag {
            _ if blank.is_empty() => {}
            Some(tag) => push(page, &format!("<{tag}>{}</{tag}>", escape(blank))),
            None => page.push_str(&escape(blank)),
        }
    }
}

fn push(page: &mut String, markup: &str) {
    let _ = page.write_str(markup); // into a String
}

/// Text as HTML text: no markup, no control characters.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

const STYLE: &str = "\
:root { color-scheme: light dark; --line: #d0d7de; --soft: #f6f8fa; --dim: #59636e;
  --gone: #ffebe9; --gone-line: #cf222e; --new: #dafbe1; --new-line: #1a7f37; }
@media (prefers-color-scheme: dark) { :root { --line: #3d444d; --soft: #151b23; --dim: #9198a1;
  --gone: #4b1113; --gone-line: #ff7b72; --new: #0f3d1e; --new-line: #56d364; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1rem;
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; font-weight: 400; margin: 0; }
h2 { font: 600 1.05rem/1.4 ui-monospace, monospace; margin: 0; padding: .6rem .8rem;
  background: var(--soft); border-bottom: 1px solid var(--line); }
h2 small { font: 400 .85rem system-ui, sans-serif; color: var(--dim); }
h3 { font-size: .85rem; font-weight: 600; margin: 0 0 .4rem; color: var(--dim); }
header p { margin: .3rem 0; }
section { border: 1px solid var(--line); border-radius: 8px; margin: 1.2rem 0; overflow: hidden; }
.sides { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); }
article { padding: .8rem; }
article + article { border-left: 1px solid var(--line); }
pre { font: .85rem/1.55 ui-monospace, monospace; margin: 0 0 .6rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
ins, del { text-decoration: none; border-radius: 3px; padding: .05em .15em; }
ins { background: var(--new); border-bottom: 2px solid var(--new-line); }
del { background: var(--gone); border-bottom: 2px dashed var(--gone-line); }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem .6rem;
  margin: 0; font-size: .85rem; }
dt { color: var(--dim); }
dd { margin: 0; }
.absent { color: var(--dim); font-style: italic; font-size: .9rem; margin: 0; }
.answers { margin: 0; padding: .5rem .8rem; font-size: .85rem; color: var(--dim);
  border-top: 1px solid var(--line); }
.key { font-size: .85rem; }
code { font: .85em ui-monospace, monospace; }
@media (max-width: 700px) {
  .sides { grid-template-columns: minmax(0, 1fr); }
  article + article { border-left: 0; border-top: 1px solid var(--line); }
}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_join_and_stay_within_lines() {
        let marked = marked_up("a <b>\n  c d", vec![2..9, 3..6, 2..4], "ins");
        assert_eq!(marked, "a <ins>&lt;b&gt;</ins>\n  <ins>c</ins> d");
        assert_eq!(marked_up("ab cd", vec![0..1, 1..2, 3..4], "del"), "<del>ab c</del>d");
    }

    #[test]
    fn lines_are_compared_first_and_words_within_them() {
        let (old, new) = ("a: one two\nb\nc\n", "a: one 2\nc\nd\n");
        let (gone, added) = compared(old, new);
        let texts = |text: &'static str, ranges: Ranges| {
            ranges.into_iter().map(|range| &text[range]).collect::<Vec<_>>()
        };
        assert_eq!(texts(old, gone), ["two", "\n", "b"]);
        assert_eq!(texts(new, added), ["2", "d\n"]);
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            escape("<script>\"'&\u{202e}\u{1b}"),
            "&lt;script&gt;&quot;&#39;&amp;\\u202e\\u001b"
        );
    }
}
