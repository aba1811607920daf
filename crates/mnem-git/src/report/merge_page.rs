//! The conflicts of a merge as one page: no script, nothing fetched, everything escaped.
//!
//! Whoever wrote a memory wrote its text, so text is never markup here, and characters that
//! reorder or hide text are shown as escapes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use mnem_store::{Content, Provenance};
use similar::{Algorithm, ChangeTag, TextDiff, capture_diff_slices_deadline};

use super::merge::{Conflict, Merge};
use super::shapes::{Node, counted};
use crate::output::clean;

/// How long a comparison may look for the smallest difference; a larger one is found at once.
const PATIENCE: Duration = Duration::from_secs(1);

const INDENT: &str = "  ";

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
    let content = |node: &'_ Option<Node>| node.as_ref().map(|Node(node)| node.content.clone());
    let (base, mine, other) =
        (content(&conflict.base), content(&conflict.ours), content(&conflict.theirs));
    // Each side against what both had, or, where there was nothing, against the other.
    let before = base.as_ref();
    let marked = |content: &Option<Content>, against: &[Option<&Content>], tag| {
        let against: Vec<_> = against.iter().copied().flatten().collect();
        content.as_ref().map(|content| Marked::of(tag, content, &against))
    };
    let base_text = marked(&base, &[mine.as_ref(), other.as_ref()], "del");
    let mine_text = marked(&mine, &[before.or(other.as_ref())], "ins");
    let other_text = marked(&other, &[before.or(mine.as_ref())], "ins");
    page.push_str("<div class=\"sides\">\n");
    let ours = format!("Ours: {ours}");
    let theirs = format!("Theirs: {theirs}");
    side(page, "Base", conflict.base.as_ref(), base_text, "not there yet");
    side(page, &ours, conflict.ours.as_ref(), mine_text, "removed");
    side(page, &theirs, conflict.theirs.as_ref(), other_text, "removed");
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

/// Content as indented JSON, with marks on what some other content does not have in its place.
struct Marked {
    text: String,
    tag: &'static str,
}

impl Marked {
    fn of(tag: &'static str, content: &Content, against: &[&Content]) -> String {
        let mut marked = Self { text: String::new(), tag };
        marked.value(content, against, 0);
        marked.text
    }

    fn value(&mut self, content: &Content, against: &[&Content], depth: usize) {
        match content {
            _ if against.iter().all(|other| *other == content) => self.plain(&json(content, depth)),
            Content::Map(map) if against.iter().all(|other| other.as_map().is_some()) => {
                let entries = map.iter().map(|(key, value)| {
                    let others = against.iter().map(|other| other.as_map()?.get(key)).collect();
                    (Some(key), value, others)
                });
                self.items(['{', '}'], entries, depth);
            }
            Content::Array(items) if against.iter().all(|other| list(other).is_some()) => {
                let aligned: Vec<_> = against.iter().map(|other| pairs(items, other)).collect();
                let entries = items.iter().enumerate().map(|(number, value)| {
                    (None, value, aligned.iter().map(|others| others[number]).collect())
                });
                self.items(['[', ']'], entries, depth);
            }
            Content::Text(text) if against.iter().all(|other| other.as_text().is_some()) => {
                self.words(text, against);
            }
            _ => self.whole(&json(content, depth)),
        }
    }

    /// The entries of a map or the items of a list, each with what stands in its place elsewhere.
    fn items<'c>(
        &mut self,
        [open, close]: [char; 2],
        entries: impl Iterator<Item = (Option<&'c str>, &'c Content, Option<Vec<&'c Content>>)>,
        depth: usize,
    ) {
        self.text.push(open);
        let mut separator = "";
        for (key, value, others) in entries {
            self.plain(&format!("{separator}\n{}", INDENT.repeat(depth + 1)));
            separator = ",";
            let key = key.map(|key| json(&Content::text(key), 0) + ": ").unwrap_or_default();
            if let Some(others) = others {
                self.plain(&key);
                self.value(value, &others, depth + 1);
            } else {
                self.whole(&(key + &json(value, depth + 1)));
            }
        }
        if !separator.is_empty() {
            self.plain(&format!("\n{}", INDENT.repeat(depth)));
        }
        self.text.push(close);
    }

    /// Text, of which the words are marked that some other text does not have.
    fn words(&mut self, text: &str, against: &[&Content]) {
        let text = json(&Content::text(text), 0);
        let mut is_new = vec![false; text.len()];
        for other in against {
            let other = json(other, 0);
            let mut at = 0;
            let diff = TextDiff::configure().timeout(PATIENCE).diff_unicode_words(&other, &text);
            for word in diff.iter_all_changes() {
                let length = word.value().len();
                match word.tag() {
                    ChangeTag::Delete => continue,
                    ChangeTag::Insert => is_new[at..at + length].fill(true),
                    ChangeTag::Equal => {}
                }
                at += length;
            }
        }
        // Marks that only a space parts are one.
        for at in 1..is_new.len().saturating_sub(1) {
            is_new[at] |= is_new[at - 1] && is_new[at + 1] && text.as_bytes()[at] == b' ';
        }
        let mut at = 0;
        for run in is_new.chunk_by(|a, b| a == b) {
            let part = &text[at..at + run.len()];
            if run[0] {
                self.whole(part);
            } else {
                self.plain(part);
            }
            at += run.len();
        }
    }

    fn plain(&mut self, text: &str) {
        self.text.push_str(&lines(text, escape));
    }

    /// Text that is marked; no mark runs over the end of a line.
    fn whole(&mut self, text: &str) {
        let tag = self.tag;
        let marked = lines(text, |line| {
            let bare = line.trim_start_matches(' ');
            let indent = &line[..line.len() - bare.len()];
            format!("{indent}<{tag}>{}</{tag}>", escape(bare))
        });
        self.text.push_str(&marked);
    }
}

fn lines(text: &str, each: impl Fn(&str) -> String) -> String {
    text.split('\n').map(each).collect::<Vec<_>>().join("\n")
}

fn list(content: &Content) -> Option<&[Content]> {
    match content {
        Content::Array(items) => Some(items),
        _ => None,
    }
}

/// For each item what stands in its place in another list.
fn pairs<'o>(items: &[Content], other: &'o Content) -> Vec<Option<&'o Content>> {
    let other = list(other).unwrap_or_default();
    let texts = |items: &[Content]| items.iter().map(|item| json(item, 0)).collect::<Vec<_>>();
    let deadline = Instant::now() + PATIENCE;
    let operations = capture_diff_slices_deadline(
        Algorithm::Myers,
        &texts(other),
        &texts(items),
        Some(deadline),
    );
    let mut pairs = vec![None; items.len()];
    for operation in operations {
        for (old, new) in operation.old_range().zip(operation.new_range()) {
            pairs[new] = other.get(old);
        }
    }
    pairs
}

/// Content as JSON that begins at a depth.
fn json(content: &Content, depth: usize) -> String {
    serde_json::to_string_pretty(content)
        .unwrap_or_else(|_| content.to_string())
        .replace('\n', &format!("\n{}", INDENT.repeat(depth)))
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn marked(content: &str, against: &[&str]) -> String {
        let read = |text: &str| mnem_store::portable::json::parse(text).unwrap();
        let others: Vec<_> = against.iter().map(|text| read(text)).collect();
        let text = Marked::of("ins", &read(content), &others.iter().collect::<Vec<_>>());
        text.replace("&quot;", "'").replace("<ins>", "«").replace("</ins>", "»")
    }

    #[test]
    fn what_differs_is_marked_where_it_stands() {
        let cases = [
            ("1", "1", "1"),
            ("1", "1.0", "«1»"),
            (r#""one two three""#, r#""one""#, "'one «two three»'"),
            (r#""two words here""#, r#""some thing here""#, "'«two words» here'"),
            (r#"{"b": 1, "a": 2}"#, r#"{"b": 1}"#, "{\n  «'a': 2»,\n  'b': 1\n}"),
            (
                r#"{"a": {"b": [1]}}"#,
                r#"{"a": {"b": [2]}}"#,
                "{\n  'a': {\n    'b': [\n      «1»\n    ]\n  }\n}",
            ),
            ("[1, 2, 3]", "[1, 3]", "[\n  1,\n  «2»,\n  3\n]"),
            (r#"{"a": [1]}"#, "[]", "«{»\n  «'a': [»\n    «1»\n  «]»\n«}»"),
            ("[]", "[1]", "[]"),
        ];
        for (content, other, expected) in cases {
            assert_eq!(marked(content, &[other]), expected, "{content} against {other}");
        }
        assert_eq!(marked("[1, 2]", &["[1]", "[2]"]), "[\n  «1»,\n  «2»\n]");
        assert_eq!(marked(r#""a b""#, &[r#""a c""#, r#""d b""#]), "'«a b»'");
    }

    #[test]
    fn text_is_never_markup() {
        assert_eq!(
            escape("<script>\"'&\u{202e}\u{1b}"),
            "&lt;script&gt;&quot;&#39;&amp;\\u202e\\u001b"
        );
    }
}
