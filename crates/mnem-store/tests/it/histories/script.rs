//! Histories as text, one step a line: what a fuzzer may change at will, and a person can write.
//!
//! A line is the letter of a verb and an argument for each sign after it: digits and small letters
//! are the numbers 0 to 35, `-` is none, and what is missing at the end is 0 or none. Spaces mean
//! nothing, and a line of no verb is no step, so that every text is a history.
//!
//! | line | step |
//! | --- | --- |
//! | `w ON EMPTY TIME BASE LOCAL` and edits | write |
//! | `u ON NODE SKIP` | update |
//! | `j ON SOURCE` and edits | import a JSON file |
//! | `l OWNER KEY VALUE` | a local row |
//! | `s NODE CONTENT SOURCE`, `r NODE`, `x NODE`, `c EMPTY` | stage, remove, unstage, commit |
//! | `b NAME START`, `d NAME` | make a branch, delete one |
//! | `o NAME DISCARD`, `h COMMIT DISCARD`, `n NAME START DISCARD` | check out, detach, check out new |
//! | `m ON THEIRS OURS STRAY UNRELATED RESOLVER` and answers | merge |
//! | `v ON COMMIT OURS` and answers | revert |
//! | `e ON NODE COMMIT` | restore |
//! | `z ON BY OURS` and answers | undo |
//! | `p ALL`, `k` | reopen; export, import and go on there |
//!
//! An edit is a node and what it is to hold, content and source, or `-`. An answer is `o`, `t`,
//! `b`, `d`, a digit, or none.

use mnem_store::InitOptions;

use super::steps::{Answer, Edits, Merge, Step, Write};
use super::{NODES, Pair};
use crate::fuzz::Answer as Told;

/// The most steps of a script that are run.
const MOST_STEPS: usize = 48;

/// Runs a script beside the model. Every script is accepted.
pub fn replay(bytes: &[u8]) -> Told {
    let steps = steps(bytes);
    let reproducible = bytes.len().is_multiple_of(2);
    let options = InitOptions { reproducible, ..InitOptions::default() };
    Pair::in_memory(&options).run_sparsely(&steps);
    Told::Accepted
}

pub fn steps(bytes: &[u8]) -> Vec<Step> {
    bytes.split(|byte| *byte == b'\n').filter_map(step).take(MOST_STEPS).collect()
}

/// The arguments of a line.
struct Signs<'l>(&'l [u8]);

impl Signs<'_> {
    fn sign(&mut self) -> Option<u8> {
        let (sign, rest) = self.0.split_first()?;
        self.0 = rest;
        if *sign == b' ' { self.sign() } else { Some(*sign) }
    }

    fn maybe(&mut self) -> Option<u8> {
        match self.sign()? {
            b'-' => None,
            sign @ b'0'..=b'9' => Some(sign - b'0'),
            sign @ b'a'..=b'z' => Some(sign - b'a' + 10),
            other => Some(other % 36),
        }
    }

    fn number(&mut self) -> u8 {
        self.maybe().unwrap_or(0)
    }

    fn node(&mut self) -> u8 {
        self.number() % NODES
    }

    fn on(&mut self) -> Option<u8> {
        self.maybe().map(|on| on % 8)
    }

    fn flag(&mut self) -> bool {
        self.number() % 2 == 1
    }

    fn maybe_flag(&mut self) -> Option<bool> {
        self.maybe().map(|flag| flag % 2 == 1)
    }

    fn edits(&mut self) -> Edits {
        let mut edits = Edits::new();
        while let Some(node) = self.maybe() {
            let value = self.maybe().map(|content| (content % 3, self.number() % 2));
            edits.push((node % NODES, value));
        }
        edits
    }

    fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(sign) = self.sign() {
            answers.push(match sign {
                b'o' => Answer::Ours,
                b't' => Answer::Theirs,
                b'b' => Answer::Base,
                b'd' => Answer::Delete,
                digit @ b'0'..=b'9' => Answer::Set((digit % 3, 0)),
                _ => Answer::None,
            });
        }
        if answers.is_empty() { vec![Answer::None] } else { answers }
    }
}

fn step(line: &[u8]) -> Option<Step> {
    let (verb, signs) = line.split_first()?;
    let mut signs = Signs(signs);
    let s = &mut signs;
    Some(match verb {
        b'w' => Step::Write(Write {
            on: s.on(),
            empty: s.flag(),
            time: s.maybe().map(|time| i64::from(time % 3)),
            base: s.maybe(),
            local: s.flag(),
            edits: s.edits(),
        }),
        b'u' => Step::Update { on: s.on(), node: s.node(), skip: s.flag() },
        b'j' => {
            let (on, source) = (s.on(), s.number() % 2);
            let edits = s.edits().into_iter();
            let kept = edits.filter_map(|(node, value)| Some((node, Some((value?.0, source)))));
            Step::ImportJson { on, source, edits: kept.collect() }
        }
        b'l' => Step::Local { owner: s.number() % 2, key: s.number() % 3, value: s.maybe() },
        b's' => Step::Stage(s.node(), (s.number() % 3, s.number() % 2)),
        b'r' => Step::Remove(s.node()),
        b'x' => Step::Unstage(s.node()),
        b'c' => Step::Commit { empty: s.flag() },
        b'b' => Step::Branch { name: s.number() % 4, start: s.maybe() },
        b'd' => Step::Delete(s.number() % 4),
        b'o' => Step::Checkout { branch: s.number() % 4, discard: s.flag() },
        b'h' => Step::Detach { commit: s.number(), discard: s.flag() },
        b'n' => Step::CheckoutNew { name: s.number() % 4, start: s.maybe(), discard: s.flag() },
        b'm' => Step::Merge(Merge {
            on: s.on(),
            theirs: s.number(),
            strategy: s.maybe_flag(),
            stray: s.flag(),
            unrelated: s.flag(),
            resolver: s.maybe(),
            answers: s.answers(),
        }),
        b'v' => Step::Revert {
            on: s.on(),
            commit: s.number(),
            strategy: s.maybe_flag(),
            answers: s.answers(),
        },
        b'e' => Step::Restore { on: s.on(), node: s.node(), commit: s.number() },
        b'z' => Step::Undo {
            on: s.on(),
            by: s.maybe_flag(),
            strategy: s.maybe_flag(),
            answers: s.answers(),
        },
        b'p' => Step::Reopen { all: s.flag() },
        b'k' => Step::Carry,
        _ => return None,
    })
}

#[test]
fn a_script_says_its_steps() {
    let told = steps(b"# a comment\nw - 0 1 - 1 010 2-\nm4 1 1 01 3 ot2-\nz\n\nq\n");
    let write = Write {
        edits: vec![(0, Some((1, 0))), (2, None)],
        time: Some(1),
        local: true,
        ..Write::default()
    };
    let answers = vec![Answer::Ours, Answer::Theirs, Answer::Set((2, 0)), Answer::None];
    let (on, strategy) = (Some(4), Some(true));
    let merge = Merge {
        on,
        theirs: 1,
        strategy,
        unrelated: true,
        resolver: Some(3),
        answers,
        ..Merge::default()
    };
    let undo = Step::Undo { on: None, by: None, strategy: None, answers: vec![Answer::None] };
    assert_eq!(told, [Step::Write(write), Step::Merge(merge), undo]);
}
