//! Continues single pixels whose states the caller keeps.

use std::sync::{Mutex, PoisonError};

use super::engine::Streamed;
use super::resume::{Item, Items, Resuming};
use super::{Devices, Sink, Validated, ValueSlice};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// Computes every item until its twins have parted or it has had all steps of the map, and returns its state there. An item that
/// already has as many steps does not change.
///
/// # Errors
/// As [`run`](super::run), which chooses the device in the same way.
///
/// # Panics
/// Unless [`can_resume`](super::can_resume).
pub fn resume(
    spec: &Validated,
    items: &mut [Item],
    options: &RunOptions,
    monitor: &dyn Monitor,
) -> Result<Streamed, EngineError> {
    let steps = spec.specification().steps as u32;
    let unfinished: Vec<usize> = (0..items.len())
        .filter(|place| items[*place].goes_on(steps))
        .collect();
    let list = ItemList {
        items: unfinished.iter().map(|place| items[*place]).collect(),
        ended: Mutex::new(Vec::new()),
    };
    let task = Resuming {
        spec,
        spans: &[0..list.items.len() as u64],
        items: &list,
        sink: &Nowhere,
    };
    let streamed = Devices::new().resume(&task, options, monitor)?;
    let ended = list.ended.into_inner();
    for (number, item) in ended.unwrap_or_else(PoisonError::into_inner) {
        items[unfinished[number as usize]] = item;
    }
    Ok(streamed)
}

struct ItemList {
    items: Vec<Item>,
    ended: Mutex<Vec<(u64, Item)>>,
}

impl Items for ItemList {
    fn get(&self, number: u64) -> Item {
        self.items[number as usize]
    }

    fn put(&self, first: u64, items: &[Item]) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.extend((first..).zip(items.iter().copied()));
    }
}

/// Discards the values, because the items contain the step counts.
struct Nowhere;

impl Sink for Nowhere {
    fn put(&self, _: u64, _: ValueSlice<'_>) -> Result<(), EngineError> {
        Ok(())
    }
}
