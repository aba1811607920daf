//! Which of what was not synced survives a stop, and how many ways are tried.

use std::path::Path;

use super::disk::{Disk, Event, Tree, fingerprint};
use crate::seeds::Dice;

const WHOLE: usize = usize::MAX;
const PAGE: usize = 4096;
const SECTOR: usize = 512;

/// As many changes, or fewer, survive in every choice of them.
const EXHAUSTIVE: usize = 6;

/// As many have every choice of them tried at each stop, whatever is asked for.
const FEW: usize = 3;

/// What survives in the way of this number: nothing; all; each beginning; all but one; one alone;
/// every choice where they are few; and then anything, cut at whole changes, pages or sectors.
/// The number alone decides, so that a failing case can be run again.
pub fn survivors(disk: &Disk, way: usize) -> Tree {
    let count = disk.pieces(WHOLE);
    if way == 0 {
        return disk.crash(WHOLE, |_| false);
    }
    let mut at = way - 1;
    if at == 0 {
        return disk.live();
    }
    at -= 1;
    if at < count {
        return disk.crash(WHOLE, |piece| piece < at);
    }
    at -= count;
    if at < count {
        return disk.crash(WHOLE, |piece| piece != at);
    }
    at -= count;
    if at < count {
        return disk.crash(WHOLE, |piece| piece == at);
    }
    at -= count;
    if count <= EXHAUSTIVE && at < 1 << count {
        return disk.crash(WHOLE, |piece| at >> piece & 1 == 1);
    }
    let mut random = Dice(way as u64);
    let grain = [WHOLE, PAGE, SECTOR][way % 3];
    let count = disk.pieces(grain);
    if way.is_multiple_of(2) {
        // A beginning, and beyond it a few.
        let end = random.below(count + 1);
        let beyond: Vec<bool> = (0..count).map(|_| random.below(8) == 0).collect();
        return disk.crash(grain, |piece| piece < end || beyond[piece]);
    }
    let share = [1, 4, 7][random.below(3)];
    let survives: Vec<bool> = (0..count).map(|_| random.below(8) < share).collect();
    disk.crash(grain, |piece| survives[piece])
}

/// How many ways have a meaning of their own; any number after them is a random one.
fn structured(disk: &Disk) -> usize {
    let count = disk.pieces(WHOLE);
    2 + 3 * count + if count <= EXHAUSTIVE { 1 << count } else { 0 }
}

/// The numbers of the ways that are tried at a point: as many as are asked for.
fn chosen(disk: &Disk, point: usize, cases: usize) -> Vec<usize> {
    let structured = structured(disk);
    let random = |count: usize| (0..count).map(move |way| structured + way);
    let count = disk.pieces(WHOLE);
    if count <= FEW {
        let first = 2 + 3 * count;
        return (first..first + (1 << count)).chain(random(cases.saturating_sub(8))).collect();
    }
    if structured <= cases / 2 {
        return (0..structured).chain(random(cases - structured)).collect();
    }
    let mut draw = Dice(point as u64);
    let some = (2..cases)
        .map(|n| if n % 2 == 0 { draw.below(structured) } else { structured + draw.below(1_000) });
    let mut ways: Vec<_> = [0, 1].into_iter().chain(some).take(cases).collect();
    ways.sort_unstable();
    ways.dedup();
    ways
}

/// A stop: after how many of the events, and in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    pub point: usize,
    pub way: usize,
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.point, self.way)
    }
}

impl std::str::FromStr for Stop {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (point, way) = text.split_once('.').unwrap_or((text, "0"));
        Ok(Self { point: point.parse()?, way: way.parse()? })
    }
}

/// Calls `check` with what is left on the disk by a stop before each sync, and after the last
/// event, in so many ways each; the same is shown once where `sort` of the point says the same.
pub fn each_stop<K: Ord>(
    root: &Path,
    start: &Tree,
    events: &[Event],
    cases: usize,
    only: Option<Stop>,
    sort: impl Fn(usize) -> K,
    mut check: impl FnMut(Stop, Tree),
) {
    let mut shown = std::collections::BTreeSet::new();
    let mut disk = Disk::of(root, start);
    for point in 0..=events.len() {
        if events.get(point).is_none_or(Event::is_sync) {
            let ways = match only {
                Some(only) if only.point == point => vec![only.way],
                Some(_) => Vec::new(),
                None => chosen(&disk, point, cases),
            };
            for way in ways {
                let tree = survivors(&disk, way);
                if shown.insert((sort(point), fingerprint(&tree))) {
                    check(Stop { point, way }, tree);
                }
            }
        }
        if let Some(event) = events.get(point) {
            disk.apply(event);
        }
    }
}
