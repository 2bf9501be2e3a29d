//! Launches: the threads of a grid, their blocks and who runs when.

use crate::decode::{Module, Variable};
use crate::fault::{Fault, Kind};
use crate::memory::{Memory, Shadow};
use crate::order::Order;
use crate::run::{Context, Stop, Wrong};
use crate::thread::{Block, Bytes, Frame, Grid, State, Stats, Thread, place_in};

/// A module and its variables.
#[derive(Debug)]
pub struct Machine {
    pub(crate) module: Module,
    allowed: u64,
}

/// Instructions of threads that only wait for each other's values, after which they are said to hang.
const SPINS: u64 = 1 << 25;

impl Machine {
    /// A machine in which the module's variables have their initial values.
    pub fn new(module: Module) -> Self {
        Self {
            module,
            allowed: u64::MAX,
        }
    }

    /// Limits the instructions of a launch, all threads together.
    #[must_use]
    pub fn at_most(self, instructions: u64) -> Self {
        Self {
            allowed: instructions,
            ..self
        }
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Sets a variable; returns whether the module has it with this size.
    pub fn set(&mut self, variable: &str, value: &[u8]) -> bool {
        let Some(variable) = (self.module.statics.iter()).find(|v| v.name == variable) else {
            return false;
        };
        if variable.bytes as usize != value.len() {
            return false;
        }
        let first = variable.word as usize;
        let words = &mut self.module.statics_memory[first..];
        for (word, chunk) in words.iter_mut().zip(value.chunks(16)) {
            let mut bytes = word.get_mut().to_ne_bytes();
            bytes[..chunk.len()].copy_from_slice(chunk);
            *word.get_mut() = u128::from_ne_bytes(bytes);
        }
        true
    }

    /// Runs a kernel. `arguments` are the bytes of its parameters, in their order.
    ///
    /// # Errors
    /// The first fault. What the kernel wrote before remains.
    #[expect(
        clippy::result_large_err,
        reason = "a launch takes much longer than to return its fault"
    )]
    pub fn launch(
        &mut self,
        memory: &mut Memory,
        kernel: &str,
        grid: Grid,
        arguments: &[&[u8]],
    ) -> Result<Stats, Fault> {
        let refused = |what: String| Fault {
            kind: Kind::Launch,
            kernel: kernel.to_owned(),
            thread: None,
            place: None,
            what,
        };
        let entry = (self.module.functions.iter()).position(|f| f.is_entry && f.name == kernel);
        let entry = entry.ok_or_else(|| refused("the module has no such kernel".into()))?;
        let function = &self.module.functions[entry];
        let mut parameters = Bytes::default();
        parameters.resize(function.parameter_bytes as usize);
        if function.parameters.len() != arguments.len() {
            let (has, given) = (function.parameters.len(), arguments.len());
            return Err(refused(format!(
                "it has {has} parameters, and {given} are given"
            )));
        }
        for (parameter, argument) in function.parameters.iter().zip(arguments) {
            let Variable {
                name,
                offset,
                bytes,
            } = parameter;
            if *bytes as usize != argument.len() {
                let given = argument.len();
                return Err(refused(format!(
                    "{name} has {bytes} bytes, and {given} are given"
                )));
            }
            let range = *offset as usize..(offset + bytes) as usize;
            parameters.data[range.clone()].copy_from_slice(argument);
            parameters.undefined[range].fill(0);
        }
        let threads = grid
            .threads
            .iter()
            .try_fold(1_u32, |all, n| all.checked_mul(*n));
        let blocks = grid
            .blocks
            .iter()
            .try_fold(1_u32, |all, n| all.checked_mul(*n));
        let most = function.max_threads.unwrap_or(1024);
        let Some(threads) = threads.filter(|n| *n > 0 && *n <= most) else {
            return Err(refused(format!("a block can have 1 to {most} threads")));
        };
        let Some(blocks) = blocks.filter(|n| n.checked_mul(threads).is_some()) else {
            return Err(refused("more than 2^32 threads".into()));
        };
        memory.begin_launch();
        for variable in &self.module.statics {
            let word = self
                .module
                .statics_memory
                .as_ptr()
                .wrapping_add(variable.word as usize);
            let name = Some(variable.name.clone());
            let (start, bytes) = (word as u64, u64::from(variable.bytes));
            memory.insert(start, bytes, true, name, variable.is_constant);
        }
        let mut ranges: Vec<(u64, u64, String)> = (self.module.shared.iter())
            .map(|v| (u64::from(v.offset), u64::from(v.bytes), v.name.clone()))
            .collect();
        if self.module.has_dynamic {
            let start = u64::from(self.module.dynamic_start);
            ranges.push((
                start,
                u64::from(grid.shared_bytes),
                "dynamic shared memory".into(),
            ));
        }
        let mut context = Context::new(&self.module, memory, grid, ranges);
        let mut launch = Launch {
            entry,
            parameters,
            threads,
            blocks,
            next: 0,
            resident: Vec::new(),
            idle: Vec::new(),
        };
        let ended = launch.run(&mut context, self.allowed);
        let stats = context.stats;
        for variable in &self.module.statics {
            let word = self
                .module
                .statics_memory
                .as_ptr()
                .wrapping_add(variable.word as usize);
            memory.forget(word as u64);
        }
        match ended {
            Ok(()) => Ok(stats),
            Err(wrong) => Err(Fault {
                kind: wrong.kind,
                kernel: kernel.to_owned(),
                thread: Some((wrong.block, place_in(wrong.thread, grid.threads))),
                place: Some(self.module.place(wrong.pc)),
                what: wrong.what,
            }),
        }
    }
}

/// A fault in a thread of a block.
#[derive(Debug)]
struct Found {
    kind: Kind,
    what: String,
    block: [u32; 3],
    thread: u32,
    pc: u32,
}

struct Launch {
    entry: usize,
    parameters: Bytes,
    threads: u32,
    blocks: u32,
    /// The next block that has not begun.
    next: u32,
    resident: Vec<Block>,
    /// Threads of blocks that have ended, whose memory the next ones use.
    idle: Vec<Thread>,
}

impl Launch {
    fn begin_block(&mut self, context: &Context) {
        let number = self.next;
        self.next += 1;
        let module = context.module;
        let function = &module.functions[self.entry];
        let frame = Frame {
            function: self.entry as u32,
            base: 0,
            parameters: 0,
            local: 0,
            call: u32::MAX,
            return_to: 0,
        };
        let begin = |idle: &mut Vec<Thread>| {
            let mut thread = idle.pop().unwrap_or_else(|| Thread {
                pc: 0,
                state: State::Runs,
                registers: Vec::new(),
                marks: Vec::new(),
                frame,
                callers: Vec::new(),
                parameters: self.parameters.clone(),
                local: Bytes::default(),
                carry: false,
                copies: Vec::new(),
            });
            thread.pc = function.start;
            thread.state = State::Runs;
            thread.frame = frame;
            thread.callers.clear();
            thread.copies.clear();
            thread.marks.clear();
            thread.parameters.resize(self.parameters.data.len());
            (thread.parameters.data).copy_from_slice(&self.parameters.data);
            (thread.parameters.undefined).copy_from_slice(&self.parameters.undefined);
            thread.local.resize(0);
            thread.local.resize(function.local_bytes as usize);
            let (registers, constants) = (function.registers as usize, &function.constants);
            let size = registers + constants.len();
            if thread.registers.len() < size {
                thread.registers.resize(size, 0);
            }
            thread.registers[0] = 0;
            thread.registers[registers..size].copy_from_slice(constants);
            thread
        };
        let shared_bytes = module.dynamic_start + context.grid.shared_bytes;
        let threads = (0..self.threads).map(|_| begin(&mut self.idle)).collect();
        self.resident.push(Block {
            index: place_in(number, context.grid.blocks),
            number,
            threads,
            shared: vec![
                0x7e7e_7e7e_7e7e_7e7e_7e7e_7e7e_7e7e_7e7e;
                shared_bytes.div_ceil(16) as usize
            ],
            shadow: Shadow::new(u64::from(shared_bytes), false),
            order: Order::new(number, self.threads),
            arrived: vec![Vec::new(); 16],
        });
    }

    fn run(&mut self, context: &mut Context, allowed: u64) -> Result<(), Found> {
        let mut productive = 0;
        loop {
            if self.resident.is_empty() || context.grid.cooperative {
                let most = match context.grid.cooperative {
                    true => self.blocks,
                    false => self.next.saturating_add(1).min(self.blocks),
                };
                while self.next < most {
                    self.begin_block(context);
                }
            }
            if self.resident.is_empty() {
                return Ok(());
            }
            let (mut moved, mut spun) = (false, None);
            for block in &mut self.resident {
                let found = |block: &Block, thread: u32, wrong: Wrong| Found {
                    kind: wrong.0,
                    what: wrong.1,
                    block: block.index,
                    thread,
                    pc: block.threads[thread as usize].pc,
                };
                for warp in 0..self.threads.div_ceil(32) {
                    let lanes = warp * 32..self.threads.min(warp * 32 + 32);
                    loop {
                        for thread in lanes.clone() {
                            if block.threads[thread as usize].state != State::Runs {
                                continue;
                            }
                            match context.run(block, thread) {
                                Ok(Stop::Spins) => spun = Some(thread),
                                Ok(_) => moved = true,
                                Err(wrong) => return Err(found(block, thread, wrong)),
                            }
                            if context.stats.instructions > allowed {
                                let what = format!("more than {allowed} instructions");
                                return Err(found(block, thread, (Kind::Hang, what)));
                            }
                        }
                        match context.meet_in_warp(block, warp) {
                            Ok(false) => break,
                            Ok(true) => moved = true,
                            Err((thread, wrong)) => return Err(found(block, thread, wrong)),
                        }
                    }
                }
                match context.meet_at_barriers(block) {
                    Ok(met) => moved |= met,
                    Err((thread, wrong)) => return Err(found(block, thread, wrong)),
                }
            }
            let idle = &mut self.idle;
            self.resident.retain_mut(|block| {
                let ended = block.threads.iter().all(|t| t.state == State::Exited);
                if ended {
                    idle.append(&mut block.threads);
                }
                !ended
            });
            if moved {
                productive = context.stats.instructions;
                continue;
            }
            // Nothing happens but waiting. Other blocks may be waited for.
            if self.next < self.blocks {
                self.begin_block(context);
                continue;
            }
            let Some(block) = self.resident.first() else {
                continue;
            };
            match spun {
                Some(_) if context.stats.instructions - productive < SPINS => {}
                _ => {
                    let (thread, what) = context.why_it_hangs(block);
                    return Err(Found {
                        kind: Kind::Hang,
                        what,
                        block: block.index,
                        thread,
                        pc: block.threads[thread as usize].pc,
                    });
                }
            }
        }
    }
}
