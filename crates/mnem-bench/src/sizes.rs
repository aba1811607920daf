//! What a write of one node costs, at several sizes of memory.

use std::path::Path;
use std::time::Instant;

use mnem_store::ops::{Changes, Meta};
use mnem_store::{Content, MemoryNode, NodeId};

use crate::counted::{Counted, Taken};
use crate::{Outcome, floor};

const SIZES: [usize; 3] = [100, 10_000, 100_000];
const WRITES: usize = 1_024;

pub fn run(place: &Path) -> Outcome<()> {
    println!("one-node writes, {WRITES} at each size of memory");
    println!(
        "  {:>8} {:>8} {:>11} {:>12} {:>14} {:>14} {:>13}",
        "nodes", "fsyncs", "objects", "median", "object bytes", "bytes written", "file growth"
    );
    for size in SIZES {
        let counted = Counted::new(&place.join(format!("size-{size}.redb")))?;
        let fill: Changes = (0..size).map(|number| entry(number, 0)).collect::<Outcome<_>>()?;
        counted.store.write(fill, &Meta::new("fill", "bench"))?;
        counted.take();
        let allocated = counted.allocated()?;
        let (mut sum, mut objects) = ([0_u64; 4], Vec::new());
        let start = Instant::now();
        for write in 0..WRITES {
            // A step that is odd and large visits nodes all over the memory.
            let changes = Changes::from([entry(write * 7_919 % size, write + 1)?]);
            counted.store.write(changes, &Meta::new("write", "bench"))?;
            let Taken { engine, storage } = counted.take();
            objects.push(engine.objects_inserted);
            for (sum, count) in sum.iter_mut().zip([
                storage.syncs,
                engine.objects_inserted,
                engine.object_bytes,
                storage.bytes_written,
            ]) {
                *sum += count;
            }
        }
        let taken = start.elapsed();
        let grown = counted.allocated()? - allocated;
        objects.sort_unstable();
        let median = objects.get(WRITES / 2).copied().unwrap_or_default();
        let [syncs, inserted, object_bytes, written] = sum.map(per_write);
        println!(
            "  {size:>8} {syncs:>8.3} {inserted:>11.2} {median:>12} {object_bytes:>14.0} {written:>14.0} {:>13.0}",
            per_write(grown)
        );
        let texts: Vec<_> =
            (0..WRITES).map(|write| entry_text(write * 7_919 % size, write + 1)).collect();
        let batches = texts.iter().map(|(id, text)| vec![(id.as_str(), text.as_str())]);
        let floor = floor::run(&place.join(format!("size-{size}.sqlite")), batches)?;
        println!(
            "  {:>8} {:.2} x the time of SQLite WAL FULL",
            "",
            taken.as_secs_f64() / floor.as_secs_f64()
        );
    }
    Ok(())
}

fn entry_text(number: usize, version: usize) -> (String, String) {
    (
        format!("session:{number:010}"),
        format!("fact {number}, version {version}, {}", "y".repeat(40)),
    )
}

fn entry(number: usize, version: usize) -> Outcome<(NodeId, Option<MemoryNode>)> {
    let (id, text) = entry_text(number, version);
    let id = NodeId::new(id)?;
    Ok((id.clone(), Some(MemoryNode::note(id, Content::text(text)))))
}

#[allow(clippy::cast_precision_loss)] // for people to read
fn per_write(count: u64) -> f64 {
    count as f64 / WRITES as f64
}
