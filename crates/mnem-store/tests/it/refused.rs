//! The refused list, `docs/format/refused-vectors.json`: each entry with at least two inputs.

use std::collections::{BTreeMap, BTreeSet};

use mnem_store::codec::{Refusal, decode};

use crate::hex::{field, rows, unhex};

#[test]
fn each_input_is_refused_for_its_reason() {
    for row in rows("refused-vectors.json") {
        let name = field(&row, "name");
        match decode(&unhex(field(&row, "cbor"))) {
            Ok(object) => panic!("{name} is accepted as {object:?}"),
            Err(error) => {
                assert_eq!(format!("{:?}", error.refusal), field(&row, "refusal"), "{name}");
            }
        }
    }
}

#[test]
fn every_refusal_has_two_inputs() {
    let mut inputs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows("refused-vectors.json") {
        let refusal = field(&row, "refusal").to_owned();
        inputs.entry(refusal).or_default().insert(field(&row, "cbor").to_owned());
    }
    let listed: BTreeSet<String> =
        Refusal::ALL.iter().map(|refusal| format!("{refusal:?}")).collect();
    assert_eq!(listed.len(), Refusal::ALL.len(), "an entry stands twice in Refusal::ALL");
    assert_eq!(inputs.keys().cloned().collect::<BTreeSet<_>>(), listed);
    for (refusal, inputs) in inputs {
        assert!(inputs.len() >= 2, "{refusal} has one input");
    }
}

/// Fails to compile when a refusal is added: add it to `Refusal::ALL` too.
#[test]
fn the_list_is_complete() {
    for refusal in Refusal::ALL {
        match refusal {
            Refusal::Truncated
            | Refusal::TrailingBytes
            | Refusal::LongForm
            | Refusal::LongFloat
            | Refusal::NotFinite
            | Refusal::IntegerOutOfRange
            | Refusal::Indefinite
            | Refusal::Tag
            | Refusal::Simple
            | Refusal::Reserved
            | Refusal::NonTextKey
            | Refusal::InvalidUtf8
            | Refusal::UnsortedKeys
            | Refusal::DuplicateKey
            | Refusal::UnknownKey
            | Refusal::MissingKey
            | Refusal::UnknownKind
            | Refusal::WrongType
            | Refusal::TooDeep
            | Refusal::EmptyField
            | Refusal::NotCanonicalTree => {
                assert!(!refusal.to_string().is_empty());
            }
        }
    }
    assert_eq!(Refusal::ALL.len(), 21);
}
