//! Keys of adapters: injective, whole-segment prefixes, exact on the way back.

use crate::support::config;
use mnem_store::key;
use proptest::prelude::*;

/// Segments that meet each rule: separators, escapes, look-alikes, long ones.
fn segments() -> impl Strategy<Value = Vec<String>> {
    let segment = prop_oneof![
        "[a:%/~0-9A-F]{0,4}",
        "(u1|u10|u1:x|%3A|%~|e\u{301}|\u{e9}|\u{1F600}|\u{0}|\u{85}|\n)?",
        "[a%:\u{e9}]{450,520}",
        Just("x".repeat(5000)),
        any::<String>(),
    ];
    proptest::collection::vec(segment, 1..4)
}

fn parts(of: &[String]) -> impl Iterator<Item = &str> {
    of.iter().map(String::as_str)
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn different_segments_make_different_ids(one in segments(), two in segments()) {
        let (Ok(a), Ok(b)) = (key::join(parts(&one)), key::join(parts(&two))) else {
            prop_assert!([&one, &two].iter().any(|&it| it == &[""]));
            return Ok(());
        };
        prop_assert_eq!(a == b, one == two);
        if let Some(read) = key::split(a.as_str()) {
            prop_assert_eq!(read, one);
        } else {
            prop_assert_eq!(key::encode(parts(&one)).len() > 1024, true);
        }
    }

    #[test]
    fn a_prefix_is_of_what_is_below_it_and_of_nothing_else(
        above in segments(), below in segments(), other in segments()
    ) {
        let prefix = key::prefix(parts(&above));
        let whole: Vec<String> = above.iter().chain(&below).cloned().collect();
        let id = key::join(parts(&whole)).unwrap();
        prop_assert!(id.as_str().starts_with(&prefix), "{} does not start with {}", id, prefix);
        if let Ok(id) = key::join(parts(&other)) {
            let beneath = other.len() > above.len() && other.starts_with(&above);
            let is_cut = key::split(id.as_str()).is_none() || !prefix.ends_with(':');
            if !is_cut {
                prop_assert_eq!(id.as_str().starts_with(&prefix), beneath);
            }
        }
    }

    #[test]
    fn the_id_of_old_is_looked_for_only_where_it_says_the_same(of in segments()) {
        if let Some(id) = key::unencoded(parts(&of)) {
            prop_assert_eq!(id.as_str(), of.join(":"));
            prop_assert_eq!(key::split(id.as_str()).unwrap(), of);
        }
    }
}

#[test]
fn escapes_that_mean_nothing_stand_for_themselves() {
    for (id, segments) in [
        ("100%", vec!["100%"]),
        ("%zz:a", vec!["%zz", "a"]),
        ("%FF:b", vec!["%FF", "b"]),
        ("%3a%", vec![":%"]),
        ("%C2%85", vec!["\u{85}"]),
        ("a:", vec!["a", ""]),
    ] {
        assert_eq!(key::split(id).unwrap(), segments, "{id}");
    }
}

#[test]
fn a_cut_tears_no_escape_and_no_character() {
    for filler in ["%", ":", "\u{85}", "\u{1F600}"] {
        for start in 0..6 {
            let id =
                key::join([&*format!("{}{}", "x".repeat(start), filler.repeat(1000))]).unwrap();
            let (kept, hash) = id.as_str().rsplit_once(key::CUT).unwrap();
            assert!(id.as_str().len() <= 1024 && kept.len() > 950 && hash.len() == 64);
            let decoded = key::split(kept).unwrap().concat();
            let tail: String = decoded.chars().skip(start).collect();
            let whole = filler.starts_with('\u{85}') || tail.chars().all(|c| filler.contains(c));
            assert!(whole, "{kept}");
        }
    }
}
