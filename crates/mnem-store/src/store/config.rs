//! The `config` file: `key = value` lines that say what the store is.

use super::format::FormatVersion;
use super::original;
use crate::error::Error;
use crate::id::BranchName;

/// The branch a fresh HEAD names, unless told otherwise.
pub const DEFAULT_BRANCH: &str = "main";

const HASH: &str = "blake3";

/// What `config` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version of the format.
    pub format: FormatVersion,
    /// The branch a fresh HEAD names.
    pub default_branch: BranchName,
    /// Whether nodes are salted, so that an erased value cannot be guessed back.
    pub salted: bool,
    /// What holds the data; none in version 1.
    pub engine: Option<Engine>,
}

/// What holds the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// The backend's name.
    pub backend: String,
    /// The version of the backend's own file format.
    pub file_format: u32,
    /// The name of the data file inside `.mnem/`.
    pub data_file: String,
}

impl Config {
    /// The file's text.
    pub fn render(&self) -> String {
        let mut text = format!(
            "# Mnemosyne store config. See docs/format/.\nformat_version = {}\nhash_algo = {HASH}\n\
             default_branch = {}\nsalted = {}\n",
            self.format.number(),
            self.default_branch,
            self.salted
        );
        if let Some(engine) = &self.engine {
            let Engine { backend, file_format, data_file } = engine;
            text.extend([
                "engine = ",
                backend,
                " ",
                &file_format.to_string(),
                " ",
                data_file,
                "\n",
            ]);
        }
        text
    }

    /// The name of the data file inside `.mnem/`.
    pub(crate) fn data_file(&self) -> &str {
        self.engine.as_ref().map_or(original::DATA_FILE, |engine| &engine.data_file)
    }

    /// Whether the text has a key of ours at all.
    pub fn is_ours(text: &str) -> bool {
        entries(text).any(|(key, _)| key == "format_version" || key == "hash_algo")
    }

    /// Whether a store that is made of this one is salted: the original knew no salts, and what
    /// becomes of its stores is as every new store is.
    pub(crate) fn salts_from_now_on(&self) -> bool {
        self.salted || self.format == FormatVersion::V1
    }

    /// Reads the file's text. Unknown keys are ignored, so that a later release can add some.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let find =
            |wanted: &str| entries(text).find(|(key, _)| *key == wanted).map(|(_, value)| value);
        let corrupt = |what: String| Error::corrupt(format!("the store's config {what}"));

        let version =
            find("format_version").ok_or_else(|| corrupt("has no format_version".into()))?;
        let number = version.parse::<u64>().map_err(|_| {
            corrupt(format!("has the format_version {version:?}, which is no number"))
        })?;
        let format = FormatVersion::try_from(number)?;
        match find("hash_algo") {
            Some(HASH) => {}
            Some(other) => return Err(corrupt(format!("names the hash {other:?}, not {HASH:?}"))),
            None => return Err(corrupt("has no hash_algo".into())),
        }
        let default_branch = find("default_branch").unwrap_or(DEFAULT_BRANCH);
        if default_branch.is_empty() {
            return Err(corrupt("has an empty default_branch".into()));
        }
        let salted = match find("salted") {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                return Err(corrupt(format!("has salted = {other:?}, not true or false")));
            }
        };
        let engine = match (format, find("engine")) {
            (FormatVersion::V1, _) => None,
            (FormatVersion::V2, None) => return Err(corrupt("has no engine".into())),
            (FormatVersion::V2, Some(text)) => Some(
                Engine::parse(text).ok_or_else(|| corrupt(format!("has the engine {text:?}")))?,
            ),
        };
        Ok(Self { format, default_branch: BranchName::from_stored(default_branch), salted, engine })
    }
}

impl Engine {
    /// What this release writes, in a data file of this name.
    pub(crate) fn current(data_file: &str) -> Self {
        Self { backend: "redb".into(), file_format: 3, data_file: data_file.into() }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let engine = Self {
            backend: words.next()?.to_owned(),
            file_format: words.next()?.parse().ok()?,
            data_file: words.next()?.to_owned(),
        };
        // The name is joined to a path: it must stay inside the store's directory.
        let plain =
            engine.data_file.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        (words.next().is_none() && plain && !engine.data_file.starts_with('.')).then_some(engine)
    }
}

fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
}
