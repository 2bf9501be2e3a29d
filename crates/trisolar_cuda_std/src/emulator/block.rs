//! Runs the threads of a block in turns.
//!
//! A round runs every runnable thread until it waits or finishes. Then the waits that are complete end, in this order: warp
//! operations, `activemask`, the barrier. A round after which no thread can be woken is a hang.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Mutex;

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult};

use super::context::Signal;
use super::context::{Arrival, BarrierCall, BarrierKind, BlockContext, Context, Wait, set_current};
use super::error::{EmulatorError, SendFault, Waiting};
use super::launch::{AnyKernel, Launch, Random, Stats};
use super::memory::{MAX_SHARED_BYTES, SharedMemory};
use super::stacks::Stacks;
use super::statics::Turn;
use super::warp::{WarpCall, resolve};
use crate::warp::WARP_SIZE;

/// Runs one block after another of those with one rank in their clusters, reusing the same structures.
pub(super) struct Worker<'a> {
    launch: &'a Launch,
    kernel: AnyKernel,
    /// Boxed because the threads point to it.
    block: Box<BlockContext>,
    slots: Vec<Slot>,
    stacks: Stacks,
    runnable: Vec<u32>,
    finished: usize,
    random: Option<Random>,
    /// The statics of this block while another one of the cluster runs.
    statics: Vec<u8>,
}

/// A thread of the block.
struct Slot {
    context: Context,
    coroutine: Option<Coroutine<(), (), (), DefaultStack>>,
    done: bool,
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        launch: &'a Launch,
        kernel: AnyKernel,
        output: Option<&'a Mutex<String>>,
        rank: u32,
    ) -> Self {
        let block = Box::new(BlockContext {
            shared: RefCell::new(SharedMemory::default()),
            bulk: RefCell::default(),
            output: output.map(ptr::from_ref),
            rank,
            cluster_dim: launch.cluster.array(),
            cluster: OnceCell::new(),
            begun: Cell::new(false),
            ended: Cell::new(false),
        });
        let [x, y, z] = launch.block.array();
        let threads = x * y * z;
        let slots = (0..threads)
            .map(|linear| Slot {
                context: Context {
                    thread_idx: [linear % x, linear / x % y, linear / x / y],
                    block_idx: Cell::new([0; 3]),
                    block_dim: launch.block.array(),
                    grid_dim: launch.grid.array(),
                    linear,
                    block: &raw const *block,
                    yielder: Cell::new(ptr::null()),
                    wait: Cell::new(Wait::Nothing),
                    answer: Cell::new((0, false)),
                    copies: RefCell::default(),
                    stores: RefCell::default(),
                    cancelled: Cell::new(false),
                    arrival: Cell::new(Arrival::No),
                    trap: Cell::new(None),
                    fault: Cell::new(None),
                    message: RefCell::default(),
                    stack_bytes: launch.stack_bytes,
                    stack_limit: Cell::new(0),
                },
                coroutine: None,
                done: false,
            })
            .collect();
        Self {
            launch,
            kernel,
            block,
            slots,
            stacks: Stacks::new(launch.stack_bytes, threads as usize),
            runnable: Vec::with_capacity(threads as usize),
            finished: 0,
            random: None,
            statics: Vec::new(),
        }
    }

    pub(super) fn context(&self) -> *const BlockContext {
        &raw const *self.block
    }

    /// Sets the blocks of the cluster.
    pub(super) fn join(&self, cluster: Vec<*const BlockContext>) {
        self.block.cluster.get_or_init(|| cluster);
    }

    pub(super) fn place_in_cluster(&self) -> [u32; 3] {
        self.block.place_in_cluster()
    }

    pub(super) fn statics(&mut self) -> &mut Vec<u8> {
        &mut self.statics
    }

    /// Starts the block with this index, whose linear index is `linear`.
    pub(super) fn start(&mut self, index: [u32; 3], linear: u64) {
        self.block
            .shared
            .borrow_mut()
            .start_block(self.launch.shared_bytes);
        self.block.bulk.take();
        self.block.begun.set(false);
        self.block.ended.set(false);
        for slot in &mut self.slots {
            slot.context.block_idx.set(index);
            slot.context.wait.set(Wait::Nothing);
            slot.context.copies.take();
            slot.context.arrival.set(Arrival::No);
            slot.done = false;
        }
        self.finished = 0;
        self.random = (self.launch.seed)
            .map(|seed| Random::new(seed ^ linear.wrapping_mul(0xd134_2543_de82_ef95)));
        self.runnable.clear();
        self.runnable.extend(0..self.slots.len() as u32);
    }

    /// Checks a block that has ended, and counts it. `turn` has its statics.
    pub(super) fn finish(
        &mut self,
        turn: Option<&Turn>,
        stats: &mut Stats,
    ) -> Result<(), EmulatorError> {
        let shared = self.block.shared.borrow();
        shared.check(self.index())?;
        let statics = turn.map_or(0, Turn::written);
        let shared_bytes = shared.total_bytes() + statics;
        if shared_bytes > MAX_SHARED_BYTES {
            return Err(EmulatorError::SharedMemory {
                block: self.index(),
                bytes: shared_bytes,
                limit: MAX_SHARED_BYTES,
            });
        }
        stats.blocks += 1;
        stats.threads += self.slots.len() as u64;
        stats.shared_bytes = stats.shared_bytes.max(shared_bytes);
        Ok(())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.finished == self.slots.len()
    }

    /// Whether a thread can go on.
    pub(super) fn is_runnable(&self) -> bool {
        !self.runnable.is_empty()
    }

    /// The threads that have not ended.
    pub(super) fn running(&self) -> impl Iterator<Item = &Context> {
        self.slots
            .iter()
            .filter(|slot| !slot.done)
            .map(|slot| &slot.context)
    }

    pub(super) fn waits_for_cluster_alone(&self) -> bool {
        self.running()
            .all(|thread| matches!(thread.wait.get(), Wait::Cluster(_)))
    }

    /// Calls `complete` for the threads that have not ended, and lets those go on for which it is true.
    pub(super) fn complete_arrivals(&mut self, complete: impl Fn(&Context) -> bool) {
        for (thread, slot) in (0..).zip(&self.slots) {
            if !slot.done && complete(&slot.context) {
                slot.context.wait.set(Wait::Nothing);
                self.runnable.push(thread);
            }
        }
    }

    /// Runs every thread that can go on until it waits or ends.
    pub(super) fn round(&mut self) -> Result<(), EmulatorError> {
        if let Some(random) = &mut self.random {
            random.shuffle(&mut self.runnable);
        }
        let mut round = std::mem::take(&mut self.runnable);
        self.block.begun.set(true);
        for &thread in &round {
            self.run_thread(thread)?;
        }
        self.block.ended.set(self.has_ended());
        // Threads that only paused are already runnable again.
        round.clear();
        round.append(&mut self.runnable);
        self.runnable = round;
        Ok(())
    }

    /// Lets a thread run until it waits or finishes.
    fn run_thread(&mut self, thread: u32) -> Result<(), EmulatorError> {
        let slot = &mut self.slots[thread as usize];
        let context: *const Context = &raw const slot.context;
        let coroutine = match &mut slot.coroutine {
            Some(coroutine) => coroutine,
            none => {
                let (stack, kernel) = (self.stacks.take()?, self.kernel);
                let top = stack.base().get();
                (slot.context.stack_limit).set(top.saturating_sub(self.launch.stack_bytes));
                none.insert(Coroutine::with_stack(stack, move |yielder, ()| {
                    // SAFETY: the worker keeps the context in place for as long as the coroutine lives.
                    unsafe { &*context }.yielder.set(yielder);
                    kernel.run();
                }))
            }
        };
        slot.context.wait.set(Wait::Nothing);
        slot.context.trap.set(Some(coroutine.trap_handler()));
        let before = set_current(context);
        let result = catch_unwind(AssertUnwindSafe(|| coroutine.resume(())));
        set_current(before);
        slot.context.trap.set(None);
        if let Some(fault) = slot.context.fault.take() {
            let what = match (fault, slot.context.message.take()) {
                (Signal::Abort, Some(message)) => format!("was aborted: {message}"),
                _ => fault.describe(&slot.context),
            };
            // Its values are not dropped; the stack is whole again.
            slot.done = true;
            self.finished += 1;
            if let Some(coroutine) = slot.coroutine.take() {
                self.stacks.put(coroutine.into_stack());
            }
            let site = slot.context.site();
            return Err(EmulatorError::Fault { site, what });
        }
        match result {
            Ok(CoroutineResult::Yield(())) => {
                if matches!(slot.context.wait.get(), Wait::Nothing) {
                    self.runnable.push(thread);
                }
                Ok(())
            }
            Ok(CoroutineResult::Return(())) => {
                slot.done = true;
                self.finished += 1;
                if let Some(coroutine) = slot.coroutine.take() {
                    self.stacks.put(coroutine.into_stack());
                }
                Ok(())
            }
            Err(payload) => Err(thrown(payload, &slot.context)),
        }
    }

    /// Ends the waits that are complete without other blocks.
    pub(super) fn wake(&mut self, stats: &mut Stats) -> Result<(), EmulatorError> {
        // Pausing threads are already runnable; they may still change what the others wait for.
        self.wake_warps(stats)?;
        if self.runnable.is_empty() {
            self.wake_active();
        }
        if self.runnable.is_empty() {
            self.wake_barrier(stats)?;
        }
        Ok(())
    }

    fn wake_warps(&mut self, stats: &mut Stats) -> Result<(), EmulatorError> {
        for first in (0..self.slots.len()).step_by(WARP_SIZE as usize) {
            let lanes = (self.slots.len() - first).min(WARP_SIZE as usize);
            let exists = u32::MAX >> (WARP_SIZE as usize - lanes);
            let mut seen = 0u32;
            for lane in 0..lanes {
                if seen & (1 << lane) != 0 || self.slots[first + lane].done {
                    continue;
                }
                let Wait::Warp(call) = self.slots[first + lane].context.wait.get() else {
                    continue;
                };
                // A mask may name lanes that a block of this size does not have; nothing waits for them.
                let members = call.mask & exists;
                if let Some(calls) = self.complete_call(first, members, call)? {
                    for (member, answer) in resolve(&calls).into_iter().enumerate() {
                        if calls[member].is_some() {
                            let context = &self.slots[first + member].context;
                            context.answer.set(answer);
                            context.wait.set(Wait::Nothing);
                            self.runnable.push((first + member) as u32);
                        }
                    }
                    stats.warp_operations += 1;
                    seen |= members;
                }
            }
        }
        Ok(())
    }

    /// Returns the calls of all members, or `None` unless every one of them waits in the same warp operation.
    fn complete_call(
        &self,
        first: usize,
        members: u32,
        call: WarpCall,
    ) -> Result<Option<[Option<WarpCall>; WARP_SIZE as usize]>, EmulatorError> {
        let mut calls = [None; WARP_SIZE as usize];
        for lane in (0..WARP_SIZE as usize).filter(|lane| members & (1 << lane) != 0) {
            let slot = &self.slots[first + lane];
            if slot.done {
                return Err(self.divergent(
                    first,
                    call,
                    format!("lane {lane} of the mask has exited"),
                ));
            }
            match slot.context.wait.get() {
                Wait::Warp(other) if other.same_as(&call) => calls[lane] = Some(other),
                _ => return Ok(None),
            }
        }
        Ok(Some(calls))
    }

    /// Lets the lanes at `activemask` go on together once the rest of their warp waits for something else.
    fn wake_active(&mut self) {
        for first in (0..self.slots.len()).step_by(WARP_SIZE as usize) {
            let warp = first..(first + WARP_SIZE as usize).min(self.slots.len());
            let waits = |thread: &usize| {
                matches!(self.slots[*thread].context.wait.get(), Wait::ActiveMask(_))
            };
            let active: Vec<usize> = warp
                .filter(waits)
                .filter(|&thread| !self.slots[thread].done)
                .collect();
            let mask = active
                .iter()
                .fold(0u32, |mask, thread| mask | 1 << (thread - first));
            for thread in active {
                let context = &self.slots[thread].context;
                context.answer.set((mask.into(), true));
                context.wait.set(Wait::Nothing);
                self.runnable.push(thread as u32);
            }
        }
    }

    fn wake_barrier(&mut self, stats: &mut Stats) -> Result<(), EmulatorError> {
        let mut first: Option<BarrierCall> = None;
        let (mut count, mut waiting, mut mixed) = (0u32, 0usize, false);
        for slot in &self.slots {
            if let (false, Wait::Barrier(call)) = (slot.done, slot.context.wait.get()) {
                mixed |= first.get_or_insert(call).kind != call.kind;
                count += u32::from(call.predicate);
                waiting += 1;
            }
        }
        let Some(call) = first else { return Ok(()) };
        if waiting < self.slots.len() {
            return Ok(());
        }
        if mixed {
            return Err(EmulatorError::MixedBarriers {
                block: self.index(),
                waiting: self.waiting(),
            });
        }
        let answer = match call.kind {
            BarrierKind::Plain => 0,
            BarrierKind::Count => count,
            BarrierKind::And => u32::from(count as usize == waiting),
            BarrierKind::Or => u32::from(count > 0),
        };
        for slot in &self.slots {
            slot.context.answer.set((answer.into(), true));
            slot.context.wait.set(Wait::Nothing);
        }
        self.runnable.extend(0..self.slots.len() as u32);
        stats.barriers += 1;
        Ok(())
    }

    fn index(&self) -> [u32; 3] {
        self.slots[0].context.block_idx.get()
    }

    /// The error of a block in which no thread can go on. A pending warp operation explains it better than a barrier does.
    pub(super) fn hang(&self) -> EmulatorError {
        for (thread, slot) in self.slots.iter().enumerate() {
            if let (false, Wait::Warp(call)) = (slot.done, slot.context.wait.get()) {
                let first = thread - thread % WARP_SIZE as usize;
                let others = self.waiting();
                let list: Vec<String> = others.iter().map(ToString::to_string).collect();
                return self.divergent(
                    first,
                    call,
                    format!("its lanes never meet: {}", list.join("; ")),
                );
            }
        }
        let exited = self
            .slots
            .iter()
            .filter(|slot| slot.done)
            .map(|slot| slot.context.linear)
            .collect();
        EmulatorError::Hang {
            block: self.index(),
            waiting: self.waiting(),
            exited,
        }
    }

    fn divergent(&self, first: usize, call: WarpCall, reason: String) -> EmulatorError {
        EmulatorError::DivergentWarp {
            block: self.index(),
            warp: first as u32 / WARP_SIZE,
            call: call.operation.name(),
            mask: call.mask,
            place: format!("{}:{}:{}", call.at.file(), call.at.line(), call.at.column()),
            reason,
        }
    }

    /// The threads that wait, grouped by call and place.
    fn waiting(&self) -> Vec<Waiting> {
        let mut groups: Vec<Waiting> = Vec::new();
        for slot in self.slots.iter().filter(|slot| !slot.done) {
            let (name, at) = match slot.context.wait.get() {
                Wait::Nothing => continue,
                Wait::Barrier(call) => (call.kind.name(), call.at),
                Wait::Warp(call) => (call.operation.name(), call.at),
                Wait::ActiveMask(at) => ("activemask", at),
                Wait::Cluster(at) => ("cluster::wait", at),
            };
            let new = Waiting::new(name, at, vec![slot.context.linear]);
            match groups
                .iter_mut()
                .find(|group| group.call == name && group.place == new.place)
            {
                Some(group) => group.threads.extend(new.threads),
                None => groups.push(new),
            }
        }
        groups
    }

    /// Unwinds the threads that still wait, so that their values are dropped.
    pub(super) fn unwind(&mut self) {
        for slot in &mut self.slots {
            if let Some(coroutine) = slot.coroutine.take() {
                slot.context.cancelled.set(true);
                let before = set_current(&raw const slot.context);
                // A panic in a destructor of a cancelled thread adds no information.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(coroutine)));
                set_current(before);
                slot.context.cancelled.set(false);
            }
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.unwind();
    }
}

/// The error that a panic stands for.
fn thrown(payload: Box<dyn Any + Send>, context: &Context) -> EmulatorError {
    let payload = match payload.downcast::<SendFault>() {
        Ok(fault) => return fault.0.into_error(context.site(), context.linear),
        Err(other) => other,
    };
    // A panic of the emulator's own code, which resumes another one, has no message.
    let message = (context.message.take())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "with a payload that is not text".to_owned());
    EmulatorError::Panic {
        site: context.site(),
        message,
    }
}
