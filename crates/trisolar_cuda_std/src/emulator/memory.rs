//! The shared memory of an emulated block.

use std::alloc::{Layout, handle_alloc_error};
use std::any::TypeId;
use std::ptr::NonNull;

use super::error::{EmulatorError, Fault, fail};
use super::guarded::Guarded;

/// The largest shared memory of a block on any current GPU: 227 KiB.
pub(crate) const MAX_SHARED_BYTES: usize = 232_448;

/// Identifies an array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Dynamic,
    /// A place in the source, and the type of the elements there.
    Static(TypeId, TypeId),
}

struct Region {
    key: Key,
    name: &'static str,
    bytes: usize,
    align: usize,
    memory: Guarded,
    /// Whether the current block uses it.
    live: bool,
}

impl Region {
    fn new(key: Key, name: &'static str, bytes: usize, align: usize) -> Self {
        let Some(memory) = Guarded::new(bytes, align) else {
            handle_alloc_error(Layout::new::<[u8; MAX_SHARED_BYTES]>())
        };
        Self {
            key,
            name,
            bytes,
            align,
            memory,
            live: false,
        }
    }

    fn start(&self) -> NonNull<u8> {
        self.memory.start()
    }

    fn refresh(&mut self) {
        self.memory.refresh();
        self.live = true;
    }
}

/// An array as it is in every block of a cluster.
pub(crate) struct Twin {
    key: Key,
    name: &'static str,
    bytes: usize,
    align: usize,
}

/// The shared arrays of a block. The next block on the same CPU thread reuses their memory.
#[derive(Default)]
pub(crate) struct SharedMemory {
    regions: Vec<Region>,
    dynamic_bytes: usize,
    /// Bytes of the static arrays that the block has reached.
    used: usize,
}

impl SharedMemory {
    /// Starts the next block.
    pub(crate) fn start_block(&mut self, dynamic_bytes: usize) {
        for region in &mut self.regions {
            region.live = false;
        }
        self.dynamic_bytes = dynamic_bytes;
        self.used = 0;
    }

    /// Bytes of the static arrays that the block has reached, plus the dynamic array.
    pub(crate) fn total_bytes(&self) -> usize {
        self.used + self.dynamic_bytes
    }

    pub(crate) fn dynamic_bytes(&self) -> usize {
        self.dynamic_bytes
    }

    /// The dynamic array.
    pub(crate) fn dynamic(&mut self) -> *mut u8 {
        self.region(Key::Dynamic, "the dynamic array", self.dynamic_bytes, 1)
    }

    /// The array of a place in the source, which the type of `tag` identifies, with elements of one type.
    pub(crate) fn array(
        &mut self,
        place: (TypeId, TypeId),
        name: &'static str,
        bytes: usize,
        align: usize,
    ) -> *mut u8 {
        self.region(Key::Static(place.0, place.1), name, bytes, align)
    }

    fn region(&mut self, key: Key, name: &'static str, bytes: usize, align: usize) -> *mut u8 {
        let found = self
            .regions
            .iter()
            .position(|region| region.key == key && region.bytes == bytes);
        if let Some(index) = found
            && self.regions[index].live
        {
            return self.regions[index].start().as_ptr();
        }
        if key != Key::Dynamic {
            self.used += bytes;
        }
        let total = self.total_bytes();
        if total > MAX_SHARED_BYTES {
            fail(Fault::SharedMemory {
                bytes: total,
                limit: MAX_SHARED_BYTES,
            });
        }
        let index = found.unwrap_or_else(|| {
            self.regions.push(Region::new(key, name, bytes, align));
            self.regions.len() - 1
        });
        self.regions[index].refresh();
        self.regions[index].start().as_ptr()
    }

    /// The place in this block of what [`locate`](Self::locate) found in another one.
    pub(crate) fn twin(&mut self, place: (Twin, usize)) -> *mut u8 {
        let (twin, offset) = place;
        let start = self.region(twin.key, twin.name, twin.bytes, twin.align);
        // SAFETY: the offset was found within an array of this size.
        unsafe { start.add(offset) }
    }

    /// The array that holds this address, and the address's offset in it.
    pub(crate) fn locate(&self, pointer: *const u8) -> Option<(Twin, usize)> {
        self.regions
            .iter()
            .filter(|region| region.live)
            .find_map(|region| {
                let offset = pointer.addr().checked_sub(region.start().as_ptr().addr())?;
                let twin = Twin {
                    key: region.key,
                    name: region.name,
                    bytes: region.bytes,
                    align: region.align,
                };
                (offset < region.bytes.max(1)).then_some((twin, offset))
            })
    }

    /// An address in words, if it is near an array.
    pub(super) fn describe(&self, address: usize) -> Option<String> {
        (self.regions.iter()).find_map(|region| {
            let place = region.memory.place(address)?;
            Some(format!(
                "{place} {} of {} bytes in shared memory",
                region.name, region.bytes
            ))
        })
    }

    /// Checks whether something was written next to an array.
    pub(crate) fn check(&self, block: [u32; 3]) -> Result<(), EmulatorError> {
        for region in self.regions.iter().filter(|region| region.live) {
            if let Some(side) = region.memory.overrun() {
                return Err(EmulatorError::SharedOverrun {
                    block,
                    side,
                    array: region.name.to_owned(),
                    bytes: region.bytes,
                });
            }
        }
        Ok(())
    }
}
