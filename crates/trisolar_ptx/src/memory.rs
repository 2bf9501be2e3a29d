//! Memory that kernels may use, and what is remembered of its words.

use std::collections::BTreeMap;

use crate::fault::Kind;
use crate::order::Order;

/// Who used a word last. Times are those of [`Order`]; threads count from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    writer: u32,
    write_time: u32,
    write_pc: u32,
    /// `MANY`: the readers are in a list of their own, whose number is `read_time`.
    reader: u32,
    read_time: u32,
    read_pc: u32,
    strong_write: bool,
    strong_read: bool,
}

const MANY: u32 = u32::MAX;

/// Threads of a warp that have read a word at the same time.
#[derive(Clone, Copy, Debug)]
struct Readers {
    first: u32,
    lanes: u32,
    time: u32,
    pc: u32,
    strong: bool,
}

/// An access of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) writes: bool,
    pub(crate) strong: bool,
}

/// An access that nothing orders before the present one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) thread: u32,
    pub(crate) pc: u32,
    pub(crate) wrote: bool,
}

/// What is remembered of an array: which bytes have been written and, during a launch, who used its words.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    bytes: u64,
    /// A bit for each byte; empty if all have been written.
    written: Vec<u64>,
    cells: Vec<Cell>,
    /// A cell is for this many bytes, as a power of 2; the smallest access decides.
    shift: u32,
    readers: Vec<Vec<Readers>>,
}

/// The bits of a word of `written` that an access of at most 64 bytes has, and those in the next word.
fn bits(offset: u64, bytes: u64) -> [(usize, u64); 2] {
    let mask = u64::MAX >> (64 - bytes);
    let (word, shift) = ((offset / 64) as usize, offset % 64);
    let next = if shift == 0 { 0 } else { mask >> (64 - shift) };
    [(word, mask << shift), (word + 1, next)]
}

impl Shadow {
    pub(crate) fn new(bytes: u64, written: bool) -> Self {
        Self {
            bytes,
            written: match written {
                true => Vec::new(),
                false => vec![0; bytes.div_ceil(64) as usize + 1],
            },
            shift: 3,
            ..Self::default()
        }
    }

    /// Forgets who used the words.
    pub(crate) fn begin_launch(&mut self) {
        self.cells = Vec::new();
        self.readers = Vec::new();
        self.shift = 3;
    }

    /// The bytes of an access of at most 16 that have never been written, a bit for each.
    pub(crate) fn unwritten(&self, offset: u64, bytes: u64) -> u64 {
        if self.written.is_empty() {
            return 0;
        }
        let [(word, low), (next, high)] = bits(offset, bytes);
        let shift = offset % 64;
        let mut missing = (!self.written[word] & low) >> shift;
        if high != 0 {
            missing |= (!self.written[next] & high) << (64 - shift);
        }
        missing
    }

    /// Remembers that bytes have been written, except those of a mask.
    pub(crate) fn write(&mut self, offset: u64, bytes: u64, except: u64) {
        if self.written.is_empty() {
            if except == 0 {
                return;
            }
            self.written = vec![u64::MAX; self.bytes.div_ceil(64) as usize + 1];
        }
        let (mut at, mut left, mut except) = (offset, bytes, except);
        while left > 0 {
            let some = left.min(64);
            for (word, mask) in bits(at, some) {
                if mask != 0 {
                    self.written[word] |= mask;
                }
            }
            if except != 0 {
                let (word, shift) = ((at / 64) as usize, at % 64);
                self.written[word] &= !(except << shift);
                if shift != 0 {
                    self.written[word + 1] &= !(except >> (64 - shift));
                }
                except = 0;
            }
            at += some;
            left -= some;
        }
    }

    /// Divides the cells, so that neighbouring small accesses do not meet.
    fn divide(&mut self, shift: u32) {
        let parts = 1 << (self.shift - shift);
        let cells = std::mem::take(&mut self.cells);
        self.cells = Vec::with_capacity(cells.len() * parts);
        for cell in cells {
            for part in 0..parts {
                let mut cell = cell;
                if cell.reader == MANY && part > 0 {
                    let list = self.readers[cell.read_time as usize].clone();
                    cell.read_time = self.readers.len() as u32;
                    self.readers.push(list);
                }
                self.cells.push(cell);
            }
        }
        self.shift = shift;
    }

    /// Remembers an access, and returns an earlier one that conflicts with it.
    pub(crate) fn access(
        &mut self,
        order: &Order,
        access: Access,
        offset: u64,
        bytes: u64,
    ) -> Option<Conflict> {
        if self.cells.is_empty() {
            let cells = self.bytes.div_ceil(1 << self.shift) as usize + 1;
            self.cells = vec![Cell::default(); cells];
        }
        let shift = (offset | bytes).trailing_zeros().min(self.shift);
        if shift < self.shift {
            self.divide(shift);
        }
        let (first, last) = (offset >> self.shift, (offset + bytes - 1) >> self.shift);
        let me = order.global(access.thread) + 1;
        let now = order.now(access.thread);
        for at in first..=last {
            let cell = &mut self.cells[at as usize];
            let before = |other: u32, time| order.is_before(access.thread, other - 1, time);
            if cell.writer != 0
                && cell.writer != me
                && !(access.strong && cell.strong_write)
                && !before(cell.writer, cell.write_time)
            {
                return Some(Conflict {
                    thread: cell.writer - 1,
                    pc: cell.write_pc,
                    wrote: true,
                });
            }
            if access.writes {
                if cell.reader == MANY {
                    for readers in &self.readers[cell.read_time as usize] {
                        if access.strong && readers.strong {
                            continue;
                        }
                        let lanes = (0..32).filter(|lane| readers.lanes >> lane & 1 != 0);
                        for other in lanes.map(|lane| readers.first + lane) {
                            if other != me && !before(other, readers.time) {
                                return Some(Conflict {
                                    thread: other - 1,
                                    pc: readers.pc,
                                    wrote: false,
                                });
                            }
                        }
                    }
                    self.readers[cell.read_time as usize].clear();
                } else if cell.reader != 0
                    && cell.reader != me
                    && !(access.strong && cell.strong_read)
                    && !before(cell.reader, cell.read_time)
                {
                    return Some(Conflict {
                        thread: cell.reader - 1,
                        pc: cell.read_pc,
                        wrote: false,
                    });
                }
                if cell.reader != MANY {
                    cell.reader = 0;
                }
                // An atomic of the same thread does not undo its plain write.
                let hides = !cell.strong_write && cell.writer == me && cell.write_time == now;
                if !(hides && access.strong) {
                    cell.write_pc = access.pc;
                    cell.strong_write = access.strong;
                }
                cell.writer = me;
                cell.write_time = now;
            } else if cell.reader == MANY {
                let list = &mut self.readers[cell.read_time as usize];
                // Warps count from the first thread of the grid, which serves as well.
                let (group, lane) = ((me - 1) / 32 * 32 + 1, (me - 1) % 32);
                match list
                    .iter_mut()
                    .rev()
                    .take(4)
                    .find(|r| r.first == group && r.time == now && r.strong == access.strong)
                {
                    Some(readers) => readers.lanes |= 1 << lane,
                    None => list.push(Readers {
                        first: group,
                        lanes: 1 << lane,
                        time: now,
                        pc: access.pc,
                        strong: access.strong,
                    }),
                }
            } else if cell.reader == 0
                || cell.reader == me && (cell.strong_read == access.strong || cell.read_time < now)
                || before(cell.reader, cell.read_time)
            {
                cell.reader = me;
                cell.read_time = now;
                cell.read_pc = access.pc;
                cell.strong_read = access.strong;
            } else if cell.reader == me {
                cell.strong_read = false;
            } else {
                let mut list = Vec::with_capacity(2);
                for (thread, time, pc, strong) in [
                    (cell.reader, cell.read_time, cell.read_pc, cell.strong_read),
                    (me, now, access.pc, access.strong),
                ] {
                    list.push(Readers {
                        first: (thread - 1) / 32 * 32 + 1,
                        lanes: 1 << ((thread - 1) % 32),
                        time,
                        pc,
                        strong,
                    });
                }
                cell.reader = MANY;
                cell.read_time = self.readers.len() as u32;
                self.readers.push(list);
            }
        }
        None
    }
}

/// The name of what kernels have allocated.
const OF_MALLOC: &str = "memory of malloc";

/// A piece of memory.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) name: Option<String>,
    pub(crate) is_constant: bool,
    is_freed: bool,
    pub(crate) shadow: Shadow,
}

impl Region {
    /// Whether a kernel has allocated it.
    pub(crate) fn is_of_malloc(&self) -> bool {
        self.name.as_deref() == Some(OF_MALLOC)
    }
}

/// The memory of a device: pieces of the process's memory that kernels may use. It remembers which bytes have been written, and pieces that
/// have been freed until others take their place.
#[derive(Debug, Default)]
pub struct Memory {
    /// By their starts, with the place in `regions`.
    starts: BTreeMap<u64, usize>,
    pub(crate) regions: Vec<Region>,
    unused: Vec<usize>,
    last: usize,
    /// What kernels have allocated.
    heap: BTreeMap<u64, Box<[u128]>>,
}

impl Memory {
    /// Without any.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a piece of the process's memory.
    ///
    /// # Safety
    /// It is valid for reads and writes until it is [freed](Self::free), and during launches nothing else uses it.
    pub unsafe fn add(&mut self, start: u64, bytes: usize, written: bool) {
        self.insert(start, bytes as u64, written, None, false);
    }

    pub(crate) fn insert(
        &mut self,
        start: u64,
        bytes: u64,
        written: bool,
        name: Option<String>,
        is_constant: bool,
    ) {
        // What was freed here is forgotten.
        let end = start + bytes.max(1);
        let below = self.starts.range(..end).rev();
        let covered: Vec<u64> = below
            .take_while(|(at, i)| **at + self.regions[**i].bytes.max(1) > start)
            .map(|(at, _)| *at)
            .collect();
        for at in covered {
            self.forget(at);
        }
        let region = Region {
            start,
            bytes,
            name,
            is_constant,
            is_freed: false,
            shadow: Shadow::new(bytes, written),
        };
        let place = self.unused.pop().unwrap_or(self.regions.len());
        match self.regions.get_mut(place) {
            Some(old) => *old = region,
            None => self.regions.push(region),
        }
        self.starts.insert(start, place);
    }

    /// Forgets a piece.
    pub(crate) fn forget(&mut self, start: u64) {
        if let Some(place) = self.starts.remove(&start) {
            let region = &mut self.regions[place];
            (region.bytes, region.start) = (0, 0);
            region.shadow = Shadow::default();
            self.unused.push(place);
        }
    }

    /// Remembers that a piece has been freed.
    pub fn free(&mut self, start: u64) {
        if let Some(place) = self.starts.get(&start) {
            let region = &mut self.regions[*place];
            region.is_freed = true;
            region.shadow = Shadow::default();
        }
    }

    /// Remembers that the host, or a copy, has written bytes.
    pub fn written(&mut self, start: u64, bytes: usize) {
        if bytes > 0
            && let Ok(place) = self.find(start, bytes as u64)
        {
            let region = &mut self.regions[place];
            let offset = start - region.start;
            match offset == 0 && bytes as u64 == region.bytes {
                true => region.shadow.written = Vec::new(),
                false => region.shadow.write(offset, bytes as u64, 0),
            }
        }
    }

    /// `malloc` of a kernel.
    pub(crate) fn allocate(&mut self, bytes: usize) -> u64 {
        let mut words: Box<[u128]> =
            vec![u128::from_ne_bytes([0x7e; 16]); bytes.div_ceil(16) + 1].into();
        let start = words.as_mut_ptr() as u64;
        self.insert(start, bytes as u64, false, Some(OF_MALLOC.into()), false);
        self.heap.insert(start, words);
        start
    }

    /// `free` of a kernel.
    pub(crate) fn release(&mut self, start: u64) -> Result<(), (Kind, String)> {
        if start == 0 {
            return Ok(());
        }
        if self
            .starts
            .get(&start)
            .is_none_or(|place| self.regions[*place].is_freed)
            || !self.heap.contains_key(&start)
        {
            let what = format!("free of address {start:#x}, which malloc has not given");
            return Err((Kind::Freed, what));
        }
        // The memory itself remains, so that nothing else takes its address.
        self.free(start);
        Ok(())
    }

    /// The pieces that are in use: start and length in bytes.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, usize)> {
        (self.starts.values().map(|place| &self.regions[*place]))
            .filter(|r| !r.is_freed && r.name.is_none())
            .map(|r| (r.start, r.bytes as usize))
    }

    pub(crate) fn begin_launch(&mut self) {
        self.regions
            .iter_mut()
            .for_each(|region| region.shadow.begin_launch());
    }

    /// The piece that holds all bytes of an access.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, bytes: u64) -> Result<usize, (Kind, String)> {
        if let Some(region) = self.regions.get(self.last)
            && !region.is_freed
            && address.wrapping_sub(region.start) < region.bytes
            && address - region.start + bytes <= region.bytes
        {
            return Ok(self.last);
        }
        self.search(address, bytes)
    }

    #[cold]
    fn search(&mut self, address: u64, bytes: u64) -> Result<usize, (Kind, String)> {
        let below = self.starts.range(..=address).next_back();
        let above = self.starts.range(address..).next();
        let name = |region: &Region| match &region.name {
            Some(name) => format!("the variable {name}"),
            None => format!("a buffer of {} bytes", region.bytes),
        };
        if let Some((start, place)) = below {
            let region = &self.regions[*place];
            let offset = address - start;
            if offset < region.bytes {
                if region.is_freed {
                    let what = format!("byte {offset} of {}, which has been freed", name(region));
                    return Err((Kind::Freed, what));
                }
                if offset + bytes <= region.bytes {
                    self.last = *place;
                    return Ok(*place);
                }
            }
        }
        if address < 1 << 16 {
            let what = format!(
                "address {address:#x}: a null pointer, or an address of shared or local memory that was not made generic"
            );
            return Err((Kind::OutOfBounds, what));
        }
        let after = below.map(|(start, place)| (address - start, &self.regions[*place]));
        let before = above.map(|(start, place)| (start - address, &self.regions[*place]));
        let what = match (after, before) {
            (Some((offset, region)), before)
                if before.is_none_or(|(distance, _)| {
                    distance >= offset.saturating_sub(region.bytes)
                }) =>
            {
                format!("from byte {offset} on of {}", name(region))
            }
            (_, Some((distance, region))) => {
                format!("{distance} bytes before {}", name(region))
            }
            _ => format!("address {address:#x}, which is in no buffer"),
        };
        Err((Kind::OutOfBounds, what))
    }
}
