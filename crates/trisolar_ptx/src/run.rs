//! Running a thread until it has to wait for others.

use crate::arithmetic::{combined, compares, converted, float, inserted, tested, whole};
use crate::decode::{CODE, LOCAL, Module, PARAM, SHARED};
use crate::fault::Kind;
use crate::instruction::{
    ACQUIRE, APPROX, CARRY_IN, CARRY_OUT, Instruction, Op, RELEASE, SPECIAL, STRONG, Space, Type,
    is_clock,
};
use crate::memory::{Access, Conflict, Memory};
use crate::order::Released;
use crate::thread::{Block, Bytes, Frame, Grid, Mark, State, Stats, Thread, place_in};

/// Why a thread has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Exits,
    Waits,
    /// It may wait for a value that another thread has to write.
    Spins,
}

/// A fault without its place.
pub(crate) type Wrong = (Kind, String);

/// Ordered reads after which a thread lets others run.
const POLLS: u32 = 64;
/// Most bytes of a thread's local memory, as on GPUs.
const LOCAL_BYTES: usize = 512 << 10;
/// Bytes between the local memories of functions, which no instruction may use.
const GAP: usize = 32;

/// A launch that runs.
pub(crate) struct Context<'a> {
    pub(crate) module: &'a Module,
    memory: &'a mut Memory,
    pub(crate) grid: Grid,
    /// Start, bytes and name of each array in shared memory.
    ranges: Vec<(u64, u64, String)>,
    released: Released,
    pub(crate) stats: Stats,
}

/// Memory that an address leads to.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// The region, the offset in it.
    Global(usize, u64),
    Shared(u64),
    Local(usize),
    Param(usize),
}

/// Bytes of a memory access, and which of their bits are undefined.
#[derive(Clone, Copy, Debug)]
struct Data {
    bytes: [u8; 32],
    undefined: [u8; 32],
}

const NO_DATA: Data = Data {
    bytes: [0; 32],
    undefined: [0; 32],
};

fn u64_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        module: &'a Module,
        memory: &'a mut Memory,
        grid: Grid,
        ranges: Vec<(u64, u64, String)>,
    ) -> Self {
        Self {
            module,
            memory,
            grid,
            ranges,
            released: Released::default(),
            stats: Stats::default(),
        }
    }

    /// Runs a thread until it exits or waits.
    pub(crate) fn run(&mut self, block: &mut Block, number: u32) -> Result<Stop, Wrong> {
        // It is given back in any case, for the report of a fault.
        let hollow = hollow(&block.threads[number as usize]);
        let mut thread = std::mem::replace(&mut block.threads[number as usize], hollow);
        let stop = self.steps(block, &mut thread, number);
        match stop {
            Ok(Stop::Exits) => thread.state = State::Exited,
            Ok(Stop::Waits) => thread.state = State::Waits,
            _ => {}
        }
        block.threads[number as usize] = thread;
        stop
    }

    fn steps(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
    ) -> Result<Stop, Wrong> {
        let module = self.module;
        let code = &module.code[..];
        let mut polls = 0;
        let mut count = 0_u64;
        let result = loop {
            let i = &code[thread.pc as usize];
            count += 1;
            let base = thread.frame.base;
            if i.guard != 0 {
                let slot = base + (i.guard >> 1) as usize;
                if !thread.marks.is_empty() && thread.marks[slot].mask & 1 != 0 {
                    break Err(self.undefined(thread, slot, "decides whether this is executed"));
                }
                if (thread.registers[slot] ^ u64::from(i.guard)) & 1 == 0 {
                    thread.pc += 1;
                    continue;
                }
            }
            if !thread.marks.is_empty()
                && let Err(wrong) = self.propagate(thread, i)
            {
                break Err(wrong);
            }
            let registers = &mut thread.registers[base..];
            // Where an operand is none, but the number of a list, it may be larger.
            let [a, b] = [i.a, i.b].map(|at| registers.get(at as usize).copied().unwrap_or(0));
            match i.op {
                Op::Add
                | Op::Sub
                | Op::MulLo
                | Op::Abs
                | Op::Neg
                | Op::Min
                | Op::Max
                | Op::Div
                | Op::Fma
                | Op::Rcp
                | Op::Sqrt
                | Op::Rsqrt
                | Op::Ex2
                | Op::Lg2
                | Op::Sin
                | Op::Cos
                | Op::Tanh
                | Op::Copysign => {
                    self.stats.approximate |= i.flags & APPROX != 0;
                    let c = registers[i.c as usize];
                    registers[i.d as usize] = match i.ty.is_float() {
                        true => float(i, a, b, c),
                        false => whole(i, a, b, c),
                    };
                }
                Op::And
                | Op::Or
                | Op::Xor
                | Op::Not
                | Op::Cnot
                | Op::Shl
                | Op::Shr
                | Op::MadLo
                | Op::MadHi
                | Op::MadWide
                | Op::MulHi
                | Op::MulWide
                | Op::Rem
                | Op::Sad
                | Op::Shf
                | Op::Bfe
                | Op::Popc
                | Op::Clz
                | Op::Brev
                | Op::Bfind
                | Op::Prmt
                | Op::Lop3
                | Op::Dp4a => {
                    registers[i.d as usize] = whole(i, a, b, registers[i.c as usize]);
                }
                Op::Mov => registers[i.d as usize] = a & i.ty.mask(),
                Op::Setp | Op::Set => {
                    let operands = if i.op == Op::Set { i.from } else { i.ty };
                    let truth = compares(i.code & 31, operands, a, b);
                    let third = (registers[i.c as usize] ^ u64::from(i.count)) & 1 != 0;
                    let join = |truth: bool| match i.code >> 5 {
                        0 => truth,
                        1 => truth && third,
                        2 => truth || third,
                        _ => truth != third,
                    };
                    registers[i.d as usize] = match (i.op, i.ty, join(truth)) {
                        (Op::Setp, _, truth) => u64::from(truth),
                        (_, _, false) => 0,
                        (_, Type::F32, true) => u64::from(1_f32.to_bits()),
                        (_, _, true) => 0xffff_ffff,
                    };
                    if i.offset != 0 {
                        registers[i.offset as usize] = u64::from(join(!truth));
                    }
                }
                Op::Selp => {
                    let value = if registers[i.c as usize] & 1 != 0 {
                        a
                    } else {
                        b
                    };
                    registers[i.d as usize] = value & i.ty.mask();
                }
                Op::Slct => {
                    let c = registers[i.c as usize];
                    let first = match i.from {
                        Type::F32 => f32::from_bits(c as u32) >= 0.0,
                        _ => c as i32 >= 0,
                    };
                    registers[i.d as usize] = if first { a } else { b } & i.ty.mask();
                }
                Op::Cvt => registers[i.d as usize] = converted(i, a),
                Op::Testp => registers[i.d as usize] = u64::from(tested(i.code, i.ty, a)),
                Op::Bfi => {
                    let list = &module.lists[i.c as usize..];
                    let [start, length] = [list[0], list[1]].map(|s| registers[s as usize]);
                    registers[i.d as usize] = inserted(i.ty, a, b, start, length);
                }
                Op::AddCarry | Op::SubCarry | Op::MadCarry => {
                    let carry = u128::from(thread.carry && i.flags & CARRY_IN != 0);
                    let mask = u128::from(i.ty.mask());
                    let [a, b, c] = [a, b, registers[i.c as usize]].map(|x| u128::from(x) & mask);
                    let bits = 8 * i.ty.bytes();
                    let sum = match i.op {
                        Op::AddCarry => a + b + carry,
                        // A borrow is the carry.
                        Op::SubCarry => a.wrapping_sub(b).wrapping_sub(carry),
                        _ if i.code != 0 => ((a * b) >> bits) + c + carry,
                        _ => ((a * b) & mask) + c + carry,
                    };
                    registers[i.d as usize] = (sum & mask) as u64;
                    if i.flags & CARRY_OUT != 0 {
                        thread.carry = sum >> bits & 1 != 0;
                    }
                }
                Op::Pack | Op::Unpack => {
                    let (list, from) = match i.op {
                        Op::Pack => (i.a, i.d),
                        _ => (i.d, i.a),
                    };
                    let slots = &module.lists[list as usize..][..i.count as usize];
                    let bits = 8 * i.ty.bytes() / u32::from(i.count);
                    if i.op == Op::Pack {
                        let joined = slots.iter().rev().fold(0, |all: u64, slot| {
                            all << bits | registers[*slot as usize] & ((1 << bits) - 1)
                        });
                        registers[i.d as usize] = joined;
                    } else {
                        let value = registers[from as usize];
                        for (n, slot) in slots.iter().enumerate() {
                            registers[*slot as usize] =
                                value >> (bits * n as u32) & ((1 << bits) - 1);
                        }
                    }
                }
                Op::Special => {
                    self.stats.timed |= is_clock(i.code);
                    let value = self.special(block, thread, number, i);
                    thread.registers[base + i.d as usize] = value;
                }
                Op::CvtaFrom | Op::CvtaTo => {
                    let window = match i.space {
                        Space::Shared => SHARED,
                        Space::Local => LOCAL,
                        Space::Param => PARAM,
                        _ => 0,
                    };
                    registers[i.d as usize] = match i.op {
                        Op::CvtaFrom => a | window,
                        _ => a & !window,
                    } & i.ty.mask();
                }
                Op::Isspacep => {
                    let window = match a >> 56 {
                        1 => Space::Shared,
                        2 => Space::Local,
                        3 => Space::Param,
                        _ => Space::Global,
                    };
                    registers[i.d as usize] = u64::from(window == i.space);
                }
                Op::Bra => {
                    thread.pc = i.offset as u32;
                    continue;
                }
                Op::Brx => {
                    let targets = &module.calls[i.offset as usize].arguments;
                    let Some((target, _)) = targets.get(a as u32 as usize) else {
                        let what = format!("branch {} of {}", a as u32, targets.len());
                        break Err((Kind::Misuse, what));
                    };
                    thread.pc = *target;
                    continue;
                }
                Op::Ld => {
                    let data = self.load(block, thread, number, i);
                    if let Err(wrong) = data {
                        break Err(wrong);
                    }
                    if i.flags & STRONG != 0 {
                        polls += 1;
                    }
                }
                Op::St => {
                    if let Err(wrong) = self.store(block, thread, number, i) {
                        break Err(wrong);
                    }
                }
                Op::Atom => {
                    if let Err(wrong) = self.atom(block, thread, number, i) {
                        break Err(wrong);
                    }
                    polls += 1;
                }
                Op::Call => match self.call(block, thread, number, i, a) {
                    Ok(true) => continue,
                    Ok(false) => {}
                    Err(wrong) => break Err(wrong),
                },
                Op::Ret => {
                    if thread.callers.is_empty() {
                        break Ok(Stop::Exits);
                    }
                    self.back(thread);
                    continue;
                }
                Op::Exit => break Ok(Stop::Exits),
                Op::Trap => {
                    let what = "the kernel ends with a trap, as after a panic".to_owned();
                    break Err((Kind::Trap, what));
                }
                Op::Bar if i.code == 1 => {
                    let arrived = &mut block.arrived[a as usize % 16];
                    arrived.push(number);
                }
                Op::Bar
                | Op::WarpBar
                | Op::Shfl
                | Op::Vote
                | Op::Match
                | Op::Redux
                | Op::Activemask => break Ok(Stop::Waits),
                Op::Fence => block.order.fence(number),
                Op::CpAsync => {
                    if let Err(wrong) = self.copy_later(block, thread, number, i, a) {
                        break Err(wrong);
                    }
                }
                Op::Nanosleep => {
                    thread.pc += 1;
                    break Ok(Stop::Spins);
                }
                Op::Nop => {}
                Op::Unknown => {
                    let what = "the interpreter does not have this instruction".to_owned();
                    break Err((Kind::Unsupported, what));
                }
            }
            thread.pc += 1;
            if polls > POLLS {
                break Ok(Stop::Spins);
            }
        };
        self.stats.instructions += count;
        result
    }

    /// The value of a special register, or the address of a local array or a parameter.
    fn special(&self, block: &Block, thread: &Thread, number: u32, i: &Instruction) -> u64 {
        if i.code == u8::MAX {
            let base = match i.space {
                Space::Local => thread.frame.local,
                _ => thread.frame.parameters,
            };
            return (base as u64).wrapping_add_signed(i.offset);
        }
        let index = place_in(number, self.grid.threads);
        let lane = number % 32;
        let dynamic = u64::from(self.grid.shared_bytes);
        let value = match SPECIAL[i.code as usize] {
            "tid.x" => index[0],
            "tid.y" => index[1],
            "tid.z" => index[2],
            "ntid.x" => self.grid.threads[0],
            "ntid.y" => self.grid.threads[1],
            "ntid.z" => self.grid.threads[2],
            "ctaid.x" => block.index[0],
            "ctaid.y" => block.index[1],
            "ctaid.z" => block.index[2],
            "nctaid.x" => self.grid.blocks[0],
            "nctaid.y" => self.grid.blocks[1],
            "nctaid.z" => self.grid.blocks[2],
            "laneid" => lane,
            "warpid" => number / 32,
            "nwarpid" => self.grid.threads.iter().product::<u32>().div_ceil(32),
            "nsmid" => 1,
            "lanemask_eq" => 1 << lane,
            "lanemask_le" => u32::MAX >> (31 - lane),
            "lanemask_lt" => (1 << lane) - 1,
            "lanemask_ge" => u32::MAX << lane,
            "lanemask_gt" => !(u32::MAX >> (31 - lane)),
            "clock" => self.stats.instructions as u32,
            "clock64" => return self.stats.instructions,
            // A nanosecond an instruction.
            "globaltimer" => return self.stats.instructions,
            "dynamic_smem_size" => return dynamic,
            "total_smem_size" => {
                return dynamic
                    + self
                        .module
                        .shared
                        .iter()
                        .map(|v| u64::from(v.bytes))
                        .sum::<u64>();
            }
            _ => 0,
        };
        u64::from(value)
    }

    /// The memory of an access of `bytes`.
    fn reach(
        &mut self,
        thread: &Thread,
        space: Space,
        address: u64,
        bytes: u64,
    ) -> Result<Target, Wrong> {
        if !address.is_multiple_of(bytes) {
            let what = format!("{bytes} bytes at {address:#x}, which is no multiple of {bytes}");
            return Err((Kind::Misaligned, what));
        }
        let (space, address) = match (space, address >> 56) {
            (Space::Generic | Space::Global, 0) => (Space::Global, address),
            (Space::Generic, 1) => (Space::Shared, address & !SHARED),
            (Space::Generic, 2) => (Space::Local, address & !LOCAL),
            (Space::Generic, 3) => (Space::Param, address & !PARAM),
            (Space::Generic | Space::Global, _) => {
                let what = format!("{bytes} bytes at {address:#x}, which is in no global memory");
                return Err((Kind::OutOfBounds, what));
            }
            other => (other.0, address),
        };
        let outside = |what: String| (Kind::OutOfBounds, format!("{bytes} bytes {what}"));
        match space {
            Space::Shared => {
                let fits = |(start, length, _): &&(u64, u64, String)| {
                    address.wrapping_sub(*start) < *length && address - start + bytes <= *length
                };
                if self.ranges.iter().any(|range| fits(&range)) {
                    return Ok(Target::Shared(address));
                }
                let below = (self.ranges.iter().rev()).find(|(start, _, _)| *start <= address);
                let what = match below {
                    Some((start, length, name)) => format!(
                        "from byte {} on of {name}, an array of {length} bytes in shared memory",
                        address - start
                    ),
                    None => format!("at {address:#x} of shared memory"),
                };
                Err(outside(what))
            }
            Space::Local => {
                let at = address as usize;
                let fits = |frame: &Frame| {
                    let length =
                        self.module.functions[frame.function as usize].local_bytes as usize;
                    at.wrapping_sub(frame.local) < length
                        && at - frame.local + bytes as usize <= length
                };
                match fits(&thread.frame) || thread.callers.iter().any(fits) {
                    true => Ok(Target::Local(at)),
                    false => {
                        let place = address.wrapping_sub(thread.frame.local as u64) as i64;
                        Err(outside(format!(
                            "from byte {place} on of the thread's local memory"
                        )))
                    }
                }
            }
            Space::Param => {
                let at = address as usize;
                match at.saturating_add(bytes as usize) <= thread.parameters.data.len() {
                    true => Ok(Target::Param(at)),
                    false => Err(outside(format!("from byte {at} on of the parameters"))),
                }
            }
            _ => match self.memory.find(address, bytes) {
                Ok(region) => Ok(Target::Global(
                    region,
                    address - self.memory.regions[region].start,
                )),
                Err((kind, what)) => Err((kind, format!("{bytes} bytes {what}"))),
            },
        }
    }

    /// The message of two accesses that nothing orders.
    fn race(&self, conflict: Conflict, writes: bool, name: &str) -> Wrong {
        let threads: u32 = self.grid.threads.iter().product();
        let [x, y, z] = place_in(conflict.thread % threads, self.grid.threads);
        let [bx, by, bz] = place_in(conflict.thread / threads, self.grid.blocks);
        let (does, did) = (
            if writes { "writes" } else { "reads" },
            if conflict.wrote { "wrote" } else { "read" },
        );
        let place = self.module.place(conflict.pc);
        let what = format!(
            "it {does} {name} that thread ({x},{y},{z}) of block ({bx},{by},{bz}) {did} without an order between them ({place})"
        );
        (Kind::Race, what)
    }

    /// Remembers an access of global or shared memory and checks its order.
    fn note(
        &mut self,
        block: &mut Block,
        access: Access,
        target: Target,
        bytes: u64,
    ) -> Result<(), Wrong> {
        let (conflict, offset) = match target {
            Target::Global(region, offset) => {
                let region = &mut self.memory.regions[region];
                if region.is_constant {
                    return match access.writes {
                        true => Err((Kind::ReadOnly, "a write to constant memory".into())),
                        false => Ok(()),
                    };
                }
                let shadow = &mut region.shadow;
                (shadow.access(&block.order, access, offset, bytes), offset)
            }
            Target::Shared(offset) => {
                let shadow = &mut block.shadow;
                (shadow.access(&block.order, access, offset, bytes), offset)
            }
            _ => return Ok(()),
        };
        let Some(conflict) = conflict else {
            return Ok(());
        };
        let name = match target {
            Target::Global(region, _) => match &self.memory.regions[region].name {
                Some(name) => format!("byte {offset} of the variable {name}"),
                None => format!("byte {offset} of a buffer"),
            },
            _ => format!("byte {offset} of shared memory"),
        };
        Err(self.race(conflict, access.writes, &name))
    }

    fn read(&self, block: &Block, thread: &Thread, target: Target, bytes: usize) -> Data {
        let mut data = NO_DATA;
        let of = |memory: &Bytes, at: usize, data: &mut Data| {
            data.bytes[..bytes].copy_from_slice(&memory.data[at..at + bytes]);
            data.undefined[..bytes].copy_from_slice(&memory.undefined[at..at + bytes]);
        };
        let missing = match target {
            Target::Global(region, offset) => {
                let region = &self.memory.regions[region];
                // SAFETY: `reach` found the bytes in this region, which is valid as `Memory::add` asks or belongs to the module.
                unsafe {
                    let from = (region.start + offset) as *const u8;
                    from.copy_to_nonoverlapping(data.bytes.as_mut_ptr(), bytes);
                }
                region.shadow.unwritten(offset, bytes as u64)
            }
            Target::Shared(offset) => {
                let at = offset as usize;
                data.bytes[..bytes].copy_from_slice(&shared(block)[at..at + bytes]);
                block.shadow.unwritten(offset, bytes as u64)
            }
            Target::Local(at) => {
                of(&thread.local, at, &mut data);
                0
            }
            Target::Param(at) => {
                of(&thread.parameters, at, &mut data);
                0
            }
        };
        if missing != 0 {
            for (n, byte) in data.undefined[..bytes].iter_mut().enumerate() {
                *byte = if missing >> n & 1 != 0 { 0xff } else { 0 };
            }
        }
        data
    }

    fn write(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        target: Target,
        bytes: usize,
        data: &Data,
    ) {
        let except = || {
            let undefined = data.undefined[..bytes].iter().enumerate();
            undefined.fold(0, |all, (n, byte)| all | u64::from(*byte != 0) << n)
        };
        let to = |memory: &mut Bytes, at: usize| {
            memory.data[at..at + bytes].copy_from_slice(&data.bytes[..bytes]);
            memory.undefined[at..at + bytes].copy_from_slice(&data.undefined[..bytes]);
        };
        match target {
            Target::Global(region, offset) => {
                let region = &mut self.memory.regions[region];
                // SAFETY: as for reads; `Memory::add` asks for memory that may be written.
                unsafe {
                    let to = (region.start + offset) as *mut u8;
                    to.copy_from_nonoverlapping(data.bytes.as_ptr(), bytes);
                }
                region.shadow.write(offset, bytes as u64, except());
            }
            Target::Shared(offset) => {
                let at = offset as usize;
                shared_mut(block)[at..at + bytes].copy_from_slice(&data.bytes[..bytes]);
                block.shadow.write(offset, bytes as u64, except());
            }
            Target::Local(at) => to(&mut thread.local, at),
            Target::Param(at) => to(&mut thread.parameters, at),
        }
    }

    /// Where an instruction's address leads, and the address.
    fn place(
        &mut self,
        thread: &Thread,
        i: &Instruction,
        bytes: u64,
    ) -> Result<(Target, u64), Wrong> {
        if i.code == 1 && i.space == Space::Param {
            let at = (thread.frame.parameters as i64 + i.offset) as usize;
            return Ok((Target::Param(at), at as u64));
        }
        let base = thread.registers[thread.frame.base + i.a as usize];
        let address = base.wrapping_add_signed(i.offset);
        Ok((self.reach(thread, i.space, address, bytes)?, address))
    }

    fn load(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
        i: &Instruction,
    ) -> Result<(), Wrong> {
        let size = i.ty.bytes() as usize;
        let bytes = size * i.count as usize;
        let (target, address) = self.place(thread, i, bytes as u64)?;
        let is_strong = i.flags & STRONG != 0;
        if let Target::Global(..) | Target::Shared(_) = target {
            let access = Access {
                thread: number,
                pc: thread.pc,
                writes: false,
                strong: is_strong,
            };
            self.note(block, access, target, bytes as u64)?;
            if is_strong {
                let key = address_key(block, target, address);
                let acquires = i.flags & ACQUIRE != 0;
                self.released.read(&mut block.order, number, key, acquires);
            }
        }
        let data = self.read(block, thread, target, bytes);
        let undefined = data.undefined[..bytes].iter().any(|b| *b != 0);
        if undefined {
            let may_be_copied = match target {
                // A vector that grows copies its whole capacity.
                Target::Global(region, _) => self.memory.regions[region].is_of_malloc(),
                Target::Shared(_) => false,
                Target::Local(_) | Target::Param(_) => true,
            };
            if !may_be_copied && data.undefined[..bytes].iter().all(|b| *b != 0) {
                let name = if let Target::Shared(at) = target {
                    format!("byte {at} of shared memory")
                } else {
                    "global memory".to_owned()
                };
                let what = format!("it reads {bytes} bytes of {name} that nothing has written");
                return Err((Kind::Uninitialised, what));
            }
            if thread.marks.is_empty() {
                thread.marks = vec![Mark::default(); thread.registers.len()];
            }
        }
        let slots = &self.module.lists[i.d as usize..][..i.count as usize];
        for (n, slot) in slots.iter().enumerate() {
            let part = n * size..(n + 1) * size;
            let bits = u64_of(&data.bytes[part.clone()]);
            let value = match i.ty {
                Type::S8 => i64::from(bits as i8) as u64,
                Type::S16 => i64::from(bits as i16) as u64,
                Type::S32 => i64::from(bits as i32) as u64,
                _ => bits,
            };
            let at = thread.frame.base + *slot as usize;
            thread.registers[at] = value;
            if !thread.marks.is_empty() {
                thread.marks[at] = Mark {
                    mask: u64_of(&data.undefined[part]),
                    derived: false,
                    pc: thread.pc,
                };
            }
        }
        Ok(())
    }

    fn store(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
        i: &Instruction,
    ) -> Result<(), Wrong> {
        let size = i.ty.bytes() as usize;
        let bytes = size * i.count as usize;
        let (target, address) = self.place(thread, i, bytes as u64)?;
        let mut data = NO_DATA;
        let slots = &self.module.lists[i.b as usize..][..i.count as usize];
        for (n, slot) in slots.iter().enumerate() {
            let at = thread.frame.base + *slot as usize;
            let value = thread.registers[at].to_le_bytes();
            data.bytes[n * size..(n + 1) * size].copy_from_slice(&value[..size]);
            if let Some(mark) = thread.marks.get(at) {
                let mask = mark.mask & i.ty.mask();
                if mask == i.ty.mask() && mark.derived && matches!(target, Target::Global(..)) {
                    return Err(self.undefined(thread, at, "is stored"));
                }
                data.undefined[n * size..(n + 1) * size]
                    .copy_from_slice(&mask.to_le_bytes()[..size]);
            }
        }
        if let Target::Global(..) | Target::Shared(_) = target {
            let is_strong = i.flags & STRONG != 0;
            let access = Access {
                thread: number,
                pc: thread.pc,
                writes: true,
                strong: is_strong,
            };
            self.note(block, access, target, bytes as u64)?;
            if is_strong {
                let key = address_key(block, target, address);
                let releases = i.flags & RELEASE != 0;
                (self.released).write(&mut block.order, number, key, releases, false);
            }
        }
        self.write(block, thread, target, bytes, &data);
        Ok(())
    }

    fn atom(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
        i: &Instruction,
    ) -> Result<(), Wrong> {
        let bytes = i.ty.bytes() as usize;
        let (target, address) = self.place(thread, i, bytes as u64)?;
        let access = Access {
            thread: number,
            pc: thread.pc,
            writes: true,
            strong: true,
        };
        self.note(block, access, target, bytes as u64)?;
        let data = self.read(block, thread, target, bytes);
        if data.undefined[..bytes].iter().any(|b| *b != 0) && i.code != 6 {
            let what = "it changes memory that nothing has written".to_owned();
            return Err((Kind::Uninitialised, what));
        }
        let key = address_key(block, target, address);
        let (acquires, releases) = (i.flags & ACQUIRE != 0, i.flags & RELEASE != 0);
        (self.released).read(&mut block.order, number, key, acquires);
        (self.released).write(&mut block.order, number, key, releases, true);
        let registers = &mut thread.registers[thread.frame.base..];
        let old = u64_of(&data.bytes[..bytes]);
        let new = combined(
            i.code,
            i.ty,
            old,
            registers[i.b as usize],
            registers[i.c as usize],
        );
        registers[i.d as usize] = old;
        let mut data = NO_DATA;
        data.bytes[..8].copy_from_slice(&new.to_le_bytes());
        self.write(block, thread, target, bytes, &data);
        Ok(())
    }

    /// Enters a function, or does what one outside of the module would do; returns whether it has been entered.
    fn call(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
        i: &Instruction,
        address: u64,
    ) -> Result<bool, Wrong> {
        let module = self.module;
        let call = &module.calls[i.offset as usize];
        let function = match call.function {
            Some(function) => function,
            None if address & 0xff << 56 == CODE
                && ((address - CODE) as usize) < module.functions.len() =>
            {
                (address - CODE) as u32
            }
            None => {
                let what = format!("a call of address {address:#x}, which is no function");
                return Err((Kind::Misuse, what));
            }
        };
        let record = &module.functions[function as usize];
        if !record.has_body {
            self.outside(block, thread, number, &record.name, i)?;
            return Ok(false);
        }
        if record.parameters.len() != call.arguments.len() {
            let what = format!("{} is called with other arguments than it has", record.name);
            return Err((Kind::Misuse, what));
        }
        let caller = thread.frame;
        let caller_record = &module.functions[caller.function as usize];
        let base = caller.base + caller_record.registers as usize + caller_record.constants.len();
        let parameters = thread.parameters.data.len().next_multiple_of(16);
        let local = (thread.local.data.len() + GAP).next_multiple_of(16);
        if local + record.local_bytes as usize > LOCAL_BYTES || thread.callers.len() > 10_000 {
            let what = "the stack is full: a recursion without an end, or large arrays".to_owned();
            return Err((Kind::OutOfBounds, what));
        }
        thread
            .parameters
            .resize(parameters + record.parameter_bytes as usize);
        thread.local.resize(local + record.local_bytes as usize);
        for ((from, bytes), parameter) in call.arguments.iter().zip(&record.parameters) {
            let bytes = (*bytes).min(parameter.bytes) as usize;
            let from = caller.parameters + *from as usize;
            let to = parameters + parameter.offset as usize;
            let memory = &mut thread.parameters;
            memory.data.copy_within(from..from + bytes, to);
            memory.undefined.copy_within(from..from + bytes, to);
        }
        let (registers, size) = (record.registers as usize, record.constants.len());
        let end = base + registers + size;
        if thread.registers.len() < end {
            thread.registers.resize(end, 0);
        }
        thread.registers[base] = 0;
        thread.registers[base + registers..end].copy_from_slice(&record.constants);
        if !thread.marks.is_empty() {
            thread.marks.resize(thread.registers.len(), Mark::default());
            thread.marks[base..end].fill(Mark::default());
        }
        thread.callers.push(caller);
        thread.frame = Frame {
            function,
            base,
            parameters,
            local,
            call: i.offset as u32,
            return_to: thread.pc + 1,
        };
        thread.pc = record.start;
        Ok(true)
    }

    /// Leaves a function.
    fn back(&self, thread: &mut Thread) {
        let Some(caller) = thread.callers.pop() else {
            return;
        };
        let frame = std::mem::replace(&mut thread.frame, caller);
        let record = &self.module.functions[frame.function as usize];
        let call = &self.module.calls[frame.call as usize];
        if let (Some((to, bytes)), Some(result)) = (call.result, &record.result) {
            let from = frame.parameters + result.offset as usize;
            let to = caller.parameters + to as usize;
            let bytes = bytes.min(result.bytes) as usize;
            let memory = &mut thread.parameters;
            memory.data.copy_within(from..from + bytes, to);
            memory.undefined.copy_within(from..from + bytes, to);
        }
        let caller_record = &self.module.functions[caller.function as usize];
        let end = caller.parameters + caller_record.parameter_bytes as usize;
        thread.parameters.resize(end);
        thread
            .local
            .resize(caller.local + caller_record.local_bytes as usize);
        thread.pc = frame.return_to;
    }

    /// The functions of CUDA's run-time system.
    fn outside(
        &mut self,
        block: &Block,
        thread: &mut Thread,
        _number: u32,
        name: &str,
        i: &Instruction,
    ) -> Result<(), Wrong> {
        let call = &self.module.calls[i.offset as usize];
        let base = thread.frame.parameters;
        let argument = |n: usize| {
            call.arguments.get(n).map_or(0, |(at, bytes)| {
                let at = base + *at as usize;
                u64_of(&thread.parameters.data[at..at + (*bytes).min(8) as usize])
            })
        };
        let (first, second) = (argument(0), argument(1));
        let result = match name {
            "vprintf" => {
                self.print(block, thread, first, second)?;
                0
            }
            "malloc" => self.memory.allocate(first as usize),
            "free" => {
                self.memory.release(first)?;
                0
            }
            "__assertfail" => {
                let text = self.text(block, thread, first)?;
                return Err((Kind::Trap, format!("an assertion failed: {text}")));
            }
            _ => {
                let what = format!("a call of {name}, which the module does not have");
                return Err((Kind::Unsupported, what));
            }
        };
        if let Some((at, bytes)) = call.result {
            let at = base + at as usize;
            let bytes = bytes.min(8) as usize;
            let memory = &mut thread.parameters;
            memory.data[at..at + bytes].copy_from_slice(&result.to_le_bytes()[..bytes]);
            memory.undefined[at..at + bytes].fill(0);
        }
        Ok(())
    }

    fn byte(&mut self, block: &Block, thread: &Thread, address: u64) -> Result<u8, Wrong> {
        let target = self.reach(thread, Space::Generic, address, 1)?;
        Ok(self.read(block, thread, target, 1).bytes[0])
    }

    /// A text that ends with a zero.
    fn text(&mut self, block: &Block, thread: &Thread, address: u64) -> Result<String, Wrong> {
        let mut bytes = Vec::new();
        while bytes.len() < 1 << 16 {
            match self.byte(block, thread, address + bytes.len() as u64)? {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// `printf` with the conversions that `cuda_std` uses: text with or without a length, and integers.
    fn print(
        &mut self,
        block: &Block,
        thread: &Thread,
        format: u64,
        arguments: u64,
    ) -> Result<(), Wrong> {
        let format = self.text(block, thread, format)?;
        let (mut at, mut out) = (arguments, Vec::new());
        let mut next = |this: &mut Self, bytes: u64| {
            at = at.next_multiple_of(bytes);
            let target = this.reach(thread, Space::Generic, at, bytes)?;
            at += bytes;
            Ok::<_, Wrong>(u64_of(
                &this.read(block, thread, target, bytes as usize).bytes[..8],
            ))
        };
        let mut rest = format.as_str();
        while let Some(percent) = rest.find('%') {
            out.extend_from_slice(&rest.as_bytes()[..percent]);
            let end =
                rest[percent + 1..].find(|c: char| c.is_ascii_alphabetic() && c != 'l' || c == '%');
            let Some(end) = end.map(|end| percent + 1 + end) else {
                break;
            };
            let (conversion, kind) = (&rest[percent..end], rest.as_bytes()[end]);
            rest = &rest[end + 1..];
            let length = match conversion.contains(".*") {
                true => next(self, 4)?,
                false => u64::MAX,
            };
            match kind {
                b'%' => out.push(b'%'),
                b's' => {
                    let start = next(self, 8)?;
                    let mut n = 0;
                    while n < length.min(1 << 20) {
                        match self.byte(block, thread, start + n)? {
                            0 if length == u64::MAX => break,
                            byte => out.push(byte),
                        }
                        n += 1;
                    }
                }
                b'f' | b'g' | b'e' => {
                    let value = f64::from_bits(next(self, 8)?);
                    out.extend_from_slice(value.to_string().as_bytes());
                }
                _ => {
                    let value = next(self, if conversion.contains('l') { 8 } else { 4 })?;
                    let text = match (kind, conversion.contains('l')) {
                        (b'd' | b'i', false) => (value as i32).to_string(),
                        (b'd' | b'i', true) => (value as i64).to_string(),
                        (b'x', _) => format!("{value:x}"),
                        (b'c', _) => char::from(value as u8).to_string(),
                        _ => value.to_string(),
                    };
                    out.extend_from_slice(text.as_bytes());
                }
            }
        }
        out.extend_from_slice(rest.as_bytes());
        print!("{}", String::from_utf8_lossy(&out));
        Ok(())
    }

    /// `cp.async`: the bytes move when the thread waits for them.
    fn copy_later(
        &mut self,
        block: &mut Block,
        thread: &mut Thread,
        number: u32,
        i: &Instruction,
        a: u64,
    ) -> Result<(), Wrong> {
        if thread.copies.is_empty() {
            thread.copies.push(Vec::new());
        }
        let base = thread.frame.base;
        let done = match i.code {
            0 => {
                let bytes = usize::from(i.count);
                let wanted = (thread.registers[base + i.b as usize] as u32 as usize).min(bytes);
                let to = thread.registers[base + i.d as usize].wrapping_add_signed(i.offset);
                let target = self.reach(thread, Space::Shared, to, bytes as u64)?;
                let source = self.reach(thread, Space::Global, a, bytes as u64)?;
                let access = |writes| Access {
                    thread: number,
                    pc: thread.pc,
                    writes,
                    strong: false,
                };
                self.note(block, access(false), source, bytes as u64)?;
                self.note(block, access(true), target, bytes as u64)?;
                let mut data = self.read(block, thread, source, bytes).bytes[..bytes].to_vec();
                data[wanted..].fill(0);
                // Until then the place holds nothing.
                block.shadow.write(to, bytes as u64, (1 << bytes) - 1);
                if let Some(group) = thread.copies.last_mut() {
                    group.push((to, data));
                }
                return Ok(());
            }
            1 => {
                thread.copies.push(Vec::new());
                return Ok(());
            }
            2 => (thread.copies.len() - 1).saturating_sub(a as usize),
            _ => thread.copies.len(),
        };
        for (to, data) in thread.copies.drain(..done).flatten() {
            let at = to as usize;
            shared_mut(block)[at..at + data.len()].copy_from_slice(&data);
            block.shadow.write(to, data.len() as u64, 0);
        }
        Ok(())
    }

    /// The fault of a value that comes from memory that nothing has written. The place is where it was loaded.
    fn undefined(&self, thread: &mut Thread, slot: usize, what: &str) -> Wrong {
        let used = self.module.place(thread.pc);
        thread.pc = thread.marks[slot].pc;
        let what =
            format!("it reads memory that nothing has written, and the value {what} ({used})");
        (Kind::Uninitialised, what)
    }

    /// Finds out which bits of an instruction's result are undefined, before it is executed.
    fn propagate(&self, thread: &mut Thread, i: &Instruction) -> Result<(), Wrong> {
        let base = thread.frame.base;
        let at = |slot: u32| base + slot as usize;
        let mark = |slot: u32| thread.marks[at(slot)];
        let value = |slot: u32| thread.registers[at(slot)];
        let lists = &self.module.lists;
        let result = match i.op {
            Op::Ld | Op::St | Op::Atom | Op::Brx => {
                if mark(i.a).mask != 0 && !(i.code == 1 && i.space == Space::Param) {
                    return Err(self.undefined(thread, at(i.a), "is an address"));
                }
                if i.op == Op::Atom {
                    if (mark(i.b).mask | mark(i.c).mask) & i.ty.mask() != 0 {
                        let slot = if mark(i.b).mask != 0 { i.b } else { i.c };
                        return Err(self.undefined(thread, at(slot), "changes memory"));
                    }
                    thread.marks[at(i.d)] = Mark::default();
                }
                return Ok(());
            }
            Op::Call
            | Op::Bra
            | Op::Ret
            | Op::Exit
            | Op::Trap
            | Op::Nop
            | Op::Fence
            | Op::Bar
            | Op::CpAsync
            | Op::Nanosleep
            | Op::Unknown
            | Op::WarpBar => {
                if i.op == Op::Call && mark(i.a).mask != 0 {
                    return Err(self.undefined(thread, at(i.a), "is a function's address"));
                }
                return Ok(());
            }
            // Their results are marked where the lanes meet.
            Op::Shfl | Op::Vote | Op::Match | Op::Redux | Op::Activemask => {
                if i.op != Op::Shfl && mark(i.a).mask != 0 {
                    return Err(self.undefined(thread, at(i.a), "goes to the other lanes"));
                }
                return Ok(());
            }
            Op::Pack => {
                let slots = &lists[i.a as usize..][..i.count as usize];
                let bits = 8 * i.ty.bytes() / u32::from(i.count);
                let mut all = Mark::default();
                for slot in slots.iter().rev() {
                    let one = mark(*slot);
                    all.mask = all.mask << bits | one.mask & ((1 << bits) - 1);
                    all.derived |= one.derived;
                    all.pc = all.pc.max(one.pc);
                }
                all
            }
            Op::Unpack => {
                let whole = mark(i.a);
                let bits = 8 * i.ty.bytes() / u32::from(i.count);
                for (n, slot) in lists[i.d as usize..][..i.count as usize].iter().enumerate() {
                    let mask = whole.mask >> (bits * n as u32) & ((1 << bits) - 1);
                    thread.marks[at(*slot)] = Mark { mask, ..whole };
                }
                return Ok(());
            }
            Op::Selp => {
                let choice = mark(i.c);
                match choice.mask & 1 {
                    0 if value(i.c) & 1 != 0 => mark(i.a),
                    0 => mark(i.b),
                    _ => Mark {
                        mask: u64::MAX,
                        derived: true,
                        ..choice
                    },
                }
            }
            Op::Special => Mark::default(),
            _ => {
                let extra = match i.op {
                    Op::Bfi => {
                        let list = &lists[i.c as usize..];
                        let (a, b) = (mark(list[0]), mark(list[1]));
                        if a.mask != 0 { a } else { b }
                    }
                    _ => mark(i.c),
                };
                let (a, b) = (mark(i.a), mark(i.b));
                let Some(some) = [a, b, extra].into_iter().find(|m| m.mask != 0) else {
                    thread.marks[at(i.d)] = Mark::default();
                    if matches!(i.op, Op::Setp | Op::Set) && i.offset != 0 {
                        thread.marks[at(i.offset as u32)] = Mark::default();
                    }
                    return Ok(());
                };
                let mask = match i.op {
                    Op::Mov | Op::CvtaFrom | Op::CvtaTo => a.mask,
                    Op::Xor | Op::Not => a.mask | b.mask,
                    Op::And => (a.mask | b.mask) & (a.mask | value(i.a)) & (b.mask | value(i.b)),
                    Op::Or => (a.mask | b.mask) & (a.mask | !value(i.a)) & (b.mask | !value(i.b)),
                    Op::Cvt if !i.from.is_float() && !i.ty.is_float() => converted(i, a.mask),
                    Op::Shl | Op::Shr if b.mask == 0 => whole(i, a.mask, value(i.b), 0),
                    Op::Bfe if b.mask | extra.mask == 0 => whole(i, a.mask, value(i.b), value(i.c)),
                    Op::Shf | Op::Prmt if extra.mask == 0 => whole(i, a.mask, b.mask, value(i.c)),
                    _ => u64::MAX,
                };
                let moved = matches!(
                    i.op,
                    Op::Mov
                        | Op::Cvt
                        | Op::Shl
                        | Op::Shr
                        | Op::Prmt
                        | Op::Bfe
                        | Op::Shf
                        | Op::CvtaTo
                        | Op::CvtaFrom
                );
                let result = Mark {
                    mask,
                    derived: some.derived || !moved,
                    pc: some.pc,
                };
                if matches!(i.op, Op::Setp | Op::Set) && i.offset != 0 {
                    thread.marks[at(i.offset as u32)] = result;
                }
                result
            }
        };
        thread.marks[at(i.d)] = result;
        Ok(())
    }
}

/// Released values of shared memory are told apart by their blocks.
fn address_key(block: &Block, target: Target, address: u64) -> u64 {
    match target {
        Target::Shared(offset) => SHARED | u64::from(block.number) << 24 | offset,
        _ => address,
    }
}

fn shared(block: &Block) -> &[u8] {
    // SAFETY: the bytes of the words, of which every value is a valid byte.
    unsafe { std::slice::from_raw_parts(block.shared.as_ptr().cast(), block.shared.len() * 16) }
}

fn shared_mut(block: &mut Block) -> &mut [u8] {
    let bytes = block.shared.len() * 16;
    // SAFETY: as above, borrowed exclusively; any bytes are valid words.
    unsafe { std::slice::from_raw_parts_mut(block.shared.as_mut_ptr().cast(), bytes) }
}

/// What stands for a thread while it runs.
fn hollow(thread: &Thread) -> Thread {
    Thread {
        pc: thread.pc,
        state: State::Runs,
        registers: Vec::new(),
        marks: Vec::new(),
        frame: thread.frame,
        callers: Vec::new(),
        parameters: Bytes::default(),
        local: Bytes::default(),
        carry: false,
        copies: Vec::new(),
    }
}
