//! What the fuzz targets do with an input, and the inputs they begin with (`fuzz/README.md`).
//!
//! A target holds rules of its own, beside not panicking, and says whether the input was accepted:
//! the name of each input under `fuzz/corpus` and `fuzz/regressions` begins with what it must say.

use mnem_store::Error;

pub mod objects;
pub mod streams;
pub mod transcripts;
pub mod words;

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Accepted,
    Refused,
}

/// What a target does with an input.
pub type Target = fn(&[u8]) -> Answer;

/// Every target, by the name of its file in `fuzz/fuzz_targets`.
pub const TARGETS: [(&str, Target); 8] = [
    ("config", words::config),
    ("decode_object", objects::decode_object),
    ("decode_state_node", objects::decode_state_node),
    ("head", words::head),
    ("import_stream", streams::import_stream),
    ("ops_vs_model", crate::histories::script::replay),
    ("revision", words::revision),
    ("transcript", transcripts::transcript),
];

/// Whether an error is fit to be shown: a sentence on one line, with nothing that drives a
/// terminal.
pub fn is_one_sentence(error: &Error) -> bool {
    let text = error.to_string();
    !text.is_empty() && !text.contains(char::is_control)
}

#[cfg(test)]
mod seeds {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Answer, TARGETS};

    fn fuzz() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
    }

    fn names(directory: &Path) -> Vec<String> {
        let Ok(found) = fs::read_dir(directory) else { return Vec::new() };
        let mut names: Vec<_> =
            found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Every input of a target gets the answer that its name begins with.
    fn answers(name: &str) {
        let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
        let mut seen: BTreeMap<bool, usize> = BTreeMap::new();
        for directory in ["corpus", "regressions"].map(|kind| fuzz().join(kind).join(name)) {
            for file in names(&directory) {
                let expected = match file.split_once('-') {
                    Some(("accepted", _)) => Answer::Accepted,
                    Some(("refused", _)) => Answer::Refused,
                    _ => panic!("{file} says neither accepted- nor refused-"),
                };
                let input = fs::read(directory.join(&file)).unwrap();
                let answer = std::panic::catch_unwind(|| target(&input))
                    .unwrap_or_else(|_| panic!("{}/{file}", directory.display()));
                assert_eq!(answer, expected, "{}/{file}", directory.display());
                *seen.entry(answer == Answer::Accepted).or_default() += 1;
            }
        }
        assert!(seen.values().sum::<usize>() >= 8, "{name} has few inputs: {seen:?}");
        assert_eq!(seen.len(), if name == "ops_vs_model" { 1 } else { 2 }, "{name}: {seen:?}");
    }

    macro_rules! seeds {
        ($($name:ident),*) => { $( #[test] fn $name() { answers(stringify!($name)); } )* };
    }

    seeds!(
        config,
        decode_object,
        decode_state_node,
        head,
        import_stream,
        ops_vs_model,
        revision,
        transcript
    );

    #[test]
    fn every_target_has_its_file_and_every_input_its_target() {
        let expected: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let files: Vec<_> = expected.iter().map(|name| format!("{name}.rs")).collect();
        assert_eq!(names(&fuzz().join("fuzz_targets")), files);
        assert_eq!(names(&fuzz().join("corpus")), expected);
        for name in names(&fuzz().join("regressions")) {
            assert!(name == "README.md" || expected.contains(&name), "{name}");
        }
    }
}
