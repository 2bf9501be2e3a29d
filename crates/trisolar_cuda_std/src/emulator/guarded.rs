//! Memory of emulated devices, which ends at pages that nobody may access, so that the emulator can name an access outside of it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// The first content of memory. As an f32 or f64 it is a huge number, so that results computed from it stand out.
pub(super) const FRESH_BYTE: u8 = 0x7e;
/// Alignment of memory whose size is no multiple of more, in bytes: that of the widest vector that a thread loads.
const LEAST_ALIGNMENT: usize = 16;
/// Alignment of memory whose size is a multiple of it, in bytes, as that of the driver.
const MOST_ALIGNMENT: usize = 256;
/// Bytes on either side whose content is checked where a page boundary cannot be.
const PAINTED: usize = 64;
const PAINT: u8 = 0xc5;
/// Freed memory that stays inaccessible, so that a use of it is found.
const KEPT: usize = 64;

/// Memory of an emulated device or of a block. It starts with a pattern instead of zeros.
pub(crate) struct Guarded {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes between the end and the first inaccessible page.
    slack: usize,
    pages: pages::Pages,
}

// SAFETY: the memory belongs to whoever has the value.
unsafe impl Send for Guarded {}

impl Guarded {
    /// Memory of this size with this alignment, which may be reduced to 16 where a multiple of it would not end at a page.
    pub(crate) fn new(bytes: usize, align: usize) -> Option<Self> {
        let natural = 1 << bytes.max(1).trailing_zeros().min(31);
        let align = align.max(natural.clamp(LEAST_ALIGNMENT, MOST_ALIGNMENT));
        let room = bytes.max(1).checked_next_multiple_of(align)?;
        let pages = pages::Pages::new(room.checked_add(PAINTED)?, align)?;
        let start = pages.end().checked_sub(room)?;
        let memory = Self {
            start: NonNull::new(std::ptr::with_exposed_provenance_mut(start))?,
            bytes,
            slack: room - bytes,
            pages,
        };
        memory.refresh();
        Some(memory)
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Gives the memory and its surroundings their first content.
    pub(crate) fn refresh(&self) {
        let start = self.start.as_ptr();
        // SAFETY: PAINTED bytes before the memory and `slack` bytes after it are accessible.
        unsafe {
            start.sub(PAINTED).write_bytes(PAINT, PAINTED);
            start.write_bytes(FRESH_BYTE, self.bytes);
            start.add(self.bytes).write_bytes(PAINT, self.slack);
        }
    }

    /// The side on which something has written next to the memory.
    pub(crate) fn overrun(&self) -> Option<&'static str> {
        let start = self.start.as_ptr();
        // SAFETY: `refresh` has written these bytes.
        let (before, after) = unsafe {
            (
                std::slice::from_raw_parts(start.sub(PAINTED), PAINTED),
                std::slice::from_raw_parts(start.add(self.bytes), self.slack),
            )
        };
        let written = |painted: &[u8]| painted.iter().any(|&byte| byte != PAINT);
        match (written(before), written(after)) {
            (true, _) => Some("before"),
            (_, true) => Some("after"),
            _ => None,
        }
    }
}

/// The memory of emulated devices, by its start, with the CPU thread that has allocated it.
struct Buffers {
    live: BTreeMap<usize, (Guarded, ThreadId)>,
    freed: VecDeque<Guarded>,
}

static BUFFERS: Mutex<Buffers> = Mutex::new(Buffers {
    live: BTreeMap::new(),
    freed: VecDeque::new(),
});

fn buffers() -> MutexGuard<'static, Buffers> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates memory for kernels of the emulator. An access right before or behind it, or after it has been freed, ends the launch with an
/// error that names the thread. It is aligned to 256 bytes if its size is a multiple of that, and to at least 16 bytes. Its content is a
/// pattern. `None` without memory.
#[must_use]
pub fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    let memory = Guarded::new(bytes, 1)?;
    let start = memory.start();
    let place = start.as_ptr().expose_provenance();
    buffers()
        .live
        .insert(place, (memory, thread::current().id()));
    Some(start)
}

/// Frees memory of [`allocate`].
///
/// # Safety
/// `start` is from [`allocate`], and nothing uses the memory any more.
pub unsafe fn free(start: NonNull<u8>) {
    let mut buffers = buffers();
    if let Some((mut memory, _)) = buffers.live.remove(&start.as_ptr().addr()) {
        memory.pages.close();
        buffers.freed.push_back(memory);
        if buffers.freed.len() > KEPT {
            buffers.freed.pop_front();
        }
    }
}

/// The launches that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A launch that runs.
pub(super) struct Running(());

impl Running {
    pub(super) fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self(())
    }

    /// What the launch has written next to a buffer, if it has: its side, and the buffer's size. While other launches run, only buffers
    /// that the calling thread has allocated count.
    pub(super) fn overrun(&self) -> Option<(&'static str, usize)> {
        let (buffers, me) = (buffers(), thread::current().id());
        let alone = RUNNING.load(Ordering::SeqCst) == 1;
        let mine = (buffers.live.values()).filter(|(_, owner)| alone || *owner == me);
        mine.map(|(memory, _)| memory).find_map(|memory| {
            let side = memory.overrun()?;
            // The next launch must not find it again.
            memory.repaint();
            Some((side, memory.bytes))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Guarded {
    fn repaint(&self) {
        let start = self.start.as_ptr();
        // SAFETY: as in `refresh`.
        unsafe {
            start.sub(PAINTED).write_bytes(PAINT, PAINTED);
            start.add(self.bytes).write_bytes(PAINT, self.slack);
        }
    }

    /// The place of an address of these pages, in words.
    pub(super) fn place(&self, address: usize) -> Option<String> {
        if !self.pages.contains(address) {
            return None;
        }
        let (start, bytes) = (self.start.as_ptr().addr(), self.bytes);
        Some(match address.checked_sub(start) {
            None => format!("{} before", Bytes(start - address)),
            Some(offset) if offset >= bytes => {
                format!("{} after the end of", Bytes(offset - bytes))
            }
            Some(offset) => format!("at byte {offset} of"),
        })
    }
}

struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("right"),
            1 => f.write_str("1 byte"),
            n => write!(f, "{n} bytes"),
        }
    }
}

/// An address in words: in or near which buffer it is.
pub(super) fn describe(address: usize) -> String {
    if address < 4096 {
        return format!("address {address:#x}, a null pointer");
    }
    let buffers = buffers();
    let near = |kind: &str, memory: &Guarded| {
        let place = memory.place(address)?;
        Some(format!("{place} {kind} of {} bytes", memory.bytes))
    };
    (buffers.live.values())
        .find_map(|(memory, _)| near("a buffer", memory))
        .or_else(|| {
            let freed = buffers.freed.iter().rev();
            freed
                .into_iter()
                .find_map(|memory| near("a freed buffer", memory))
        })
        .unwrap_or_else(|| format!("address {address:#x}, which is in no buffer"))
}

/// Memory by pages.
#[cfg(unix)]
mod pages {
    use std::ptr;

    /// Inaccessible addresses on either side: as far as 32-bit indices of values of 2 bytes reach. Without so much room, a page.
    const GUARD: usize = if cfg!(target_pointer_width = "64") {
        8 << 30
    } else {
        0
    };

    pub(super) struct Pages {
        map: usize,
        mapped: usize,
        end: usize,
        length: usize,
    }

    fn page() -> usize {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    }

    impl Pages {
        pub(super) fn new(bytes: usize, align: usize) -> Option<Self> {
            let page = page();
            let length = bytes.checked_next_multiple_of(page.max(align))?;
            [GUARD.max(page), page]
                .into_iter()
                .find_map(|guard| Self::with(length, guard))
        }

        fn with(length: usize, guard: usize) -> Option<Self> {
            let mapped = length.checked_add(2 * guard)?;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: a new mapping disturbs nothing.
            let map = unsafe { libc::mmap(ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
            if map == libc::MAP_FAILED {
                return None;
            }
            let map = map.expose_provenance();
            let pages = Self {
                map,
                mapped,
                end: map + guard + length,
                length,
            };
            let first = ptr::with_exposed_provenance_mut(map + guard);
            // SAFETY: these pages belong to the mapping.
            let opened =
                unsafe { libc::mprotect(first, length, libc::PROT_READ | libc::PROT_WRITE) };
            (opened == 0).then_some(pages)
        }

        /// The first address behind the accessible pages.
        pub(super) fn end(&self) -> usize {
            self.end
        }

        pub(super) fn contains(&self, address: usize) -> bool {
            (self.map..self.map + self.mapped).contains(&address)
        }

        /// Makes the pages inaccessible and gives their memory back.
        pub(super) fn close(&mut self) {
            let first = ptr::with_exposed_provenance_mut(self.end - self.length);
            // SAFETY: the pages belong to this mapping, and nothing uses them any more.
            unsafe {
                libc::madvise(first, self.length, libc::MADV_DONTNEED);
                libc::mprotect(first, self.length, libc::PROT_NONE);
            }
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: the mapping is this value's, and nothing uses it any more.
            unsafe { libc::munmap(ptr::with_exposed_provenance_mut(self.map), self.mapped) };
        }
    }
}

/// Memory of the heap, on systems without these calls.
#[cfg(not(unix))]
mod pages {
    use std::alloc::{Layout, alloc, dealloc};

    pub(super) struct Pages {
        start: *mut u8,
        layout: Layout,
    }

    impl Pages {
        pub(super) fn new(bytes: usize, align: usize) -> Option<Self> {
            let align = align.max(super::MOST_ALIGNMENT);
            let layout =
                Layout::from_size_align(bytes.checked_next_multiple_of(align)?, align).ok()?;
            // SAFETY: the layout is not empty.
            let start = unsafe { alloc(layout) };
            start.expose_provenance();
            (!start.is_null()).then_some(Self { start, layout })
        }

        pub(super) fn end(&self) -> usize {
            self.start.addr() + self.layout.size()
        }

        pub(super) fn contains(&self, address: usize) -> bool {
            (self.start.addr()..self.end()).contains(&address)
        }

        pub(super) fn close(&mut self) {}
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            // SAFETY: allocated with this layout, freed once.
            unsafe { dealloc(self.start, self.layout) };
        }
    }
}
