//! Random cases from seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::sweep::{asked, said};

/// `SplitMix64` (Steele, Lea and Flood, 2014): a seed is a case.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Runs a case for each seed, or for the one that the variable `<name>_SEED` asks for. One that
/// fails says how to run it alone.
pub fn each_seed(name: &str, test: &str, count: u64, mut case: impl FnMut(u64)) -> u64 {
    let variable = format!("{name}_SEED");
    let seeds = match asked(&variable) {
        Some(seed) => {
            let seed = seed.parse().expect("a seed");
            seed..seed + 1
        }
        None => 0..count,
    };
    let asked = seeds.end - seeds.start;
    for seed in seeds {
        if let Err(reason) = catch_unwind(AssertUnwindSafe(|| case(seed))) {
            panic!(
                "seed {seed} of {test}: {}\nrun it alone: {variable}={seed} \
                 cargo test -p mnem-store --test it {test}",
                said(&*reason)
            );
        }
    }
    asked
}
