//! The shared memory of an emulated block.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::any::TypeId;
use std::ptr::NonNull;

use super::error::{EmulatorError, Fault, fail};

/// The largest shared memory of a block on any current GPU: 227 KiB.
pub(crate) const MAX_SHARED_BYTES: usize = 232_448;

/// Number of bytes on either side of an array that are checked for stray writes.
const GUARD_LENGTH: usize = 64;
const GUARD_BYTE: u8 = 0xc5;
/// The initial content of shared memory. As an f32 or f64 it is a huge number, so that results computed from it stand out.
pub(super) const FRESH_BYTE: u8 = 0x7e;
const ALIGNMENT: usize = 128;

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
    layout: Layout,
    base: NonNull<u8>,
    /// Whether the current block uses it.
    live: bool,
}

impl Region {
    fn new(key: Key, name: &'static str, bytes: usize, align: usize) -> Self {
        let align = align.max(ALIGNMENT);
        let Ok(layout) = Layout::from_size_align(align + bytes + GUARD_LENGTH, align) else {
            unreachable!("a shared array is within MAX_SHARED_BYTES, so its layout is valid")
        };
        // SAFETY: the layout has a size other than 0.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        Self {
            key,
            name,
            bytes,
            layout,
            base,
            live: false,
        }
    }

    /// The array's first byte; the guard bytes lie right before it.
    fn start(&self) -> NonNull<u8> {
        // SAFETY: the allocation holds `align` bytes before the array.
        unsafe { self.base.add(self.layout.align()) }
    }

    fn refresh(&mut self) {
        let start = self.start().as_ptr();
        // SAFETY: GUARD_LENGTH <= ALIGNMENT <= align bytes lie before the array, GUARD_LENGTH bytes after it.
        unsafe {
            start
                .sub(GUARD_LENGTH)
                .write_bytes(GUARD_BYTE, GUARD_LENGTH);
            start.write_bytes(FRESH_BYTE, self.bytes);
            start.add(self.bytes).write_bytes(GUARD_BYTE, GUARD_LENGTH);
        }
        self.live = true;
    }

    fn overrun(&self) -> Option<&'static str> {
        let start = self.start().as_ptr();
        // SAFETY: as in `refresh`, which initialised these bytes.
        let (before, after) = unsafe {
            (
                std::slice::from_raw_parts(start.sub(GUARD_LENGTH), GUARD_LENGTH),
                std::slice::from_raw_parts(start.add(self.bytes), GUARD_LENGTH),
            )
        };
        let written = |guard: &[u8]| guard.iter().any(|&byte| byte != GUARD_BYTE);
        if written(before) {
            Some("before")
        } else if written(after) {
            Some("after")
        } else {
            None
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
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
        self.region(
            Key::Dynamic,
            "the dynamic array",
            self.dynamic_bytes,
            ALIGNMENT,
        )
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
                    align: region.layout.align(),
                };
                (offset < region.bytes.max(1)).then_some((twin, offset))
            })
    }

    /// Checks whether something was written next to an array.
    pub(crate) fn check(&self, block: [u32; 3]) -> Result<(), EmulatorError> {
        for region in self.regions.iter().filter(|region| region.live) {
            if let Some(side) = region.overrun() {
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
