//! Where threads meet: operations of warps and barriers of blocks.

use crate::arithmetic::combined;
use crate::fault::Kind;
use crate::instruction::{Instruction, Op};
use crate::run::{Context, Wrong};
use crate::thread::{Block, Mark, State, Thread};

/// The value of a slot of a thread's frame.
fn value(thread: &Thread, slot: u32) -> u64 {
    thread.registers[thread.frame.base + slot as usize]
}

fn set(thread: &mut Thread, slot: u32, value: u64) {
    let at = thread.frame.base + slot as usize;
    thread.registers[at] = value;
    if let Some(mark) = thread.marks.get_mut(at) {
        *mark = Mark::default();
    }
}

fn resume(thread: &mut Thread) {
    thread.pc += 1;
    thread.state = State::Runs;
}

impl Context<'_> {
    fn waiting_at<'b>(&self, block: &'b Block, thread: u32) -> Option<(&'b Thread, Instruction)> {
        let thread = &block.threads[thread as usize];
        let waits = thread.state == State::Waits;
        waits.then(|| (thread, self.module.code[thread.pc as usize]))
    }

    /// Lets lanes go on whose operation has all the lanes that it needs; returns whether there were any.
    pub(crate) fn meet_in_warp(&self, block: &mut Block, warp: u32) -> Result<bool, (u32, Wrong)> {
        let first = warp * 32;
        let count = (block.threads.len() as u32 - first).min(32);
        let (mut done, mut met) = (0_u32, false);
        for lane in 0..count {
            if done >> lane & 1 != 0 {
                continue;
            }
            let Some((thread, i)) = self.waiting_at(block, first + lane) else {
                continue;
            };
            if i.op == Op::Bar {
                continue;
            }
            let pc = thread.pc;
            let same = (0..count).filter(|other| {
                let other = &block.threads[(first + other) as usize];
                other.state == State::Waits && other.pc == pc
            });
            let here = same.fold(0_u32, |all, other| all | 1 << other);
            let mask_slot = if i.op == Op::WarpBar { i.a } else { i.c };
            let named = match i.op {
                Op::Activemask => here,
                _ => value(thread, mask_slot) as u32,
            };
            let exists = u32::MAX >> (32 - count);
            let mask = named & exists;
            let wrong = |what: String| Err((first + lane, (Kind::Misuse, what)));
            if mask >> lane & 1 == 0 {
                return wrong(format!("lane {lane} is not in its own mask {named:#x}"));
            }
            let exited = (0..count)
                .filter(|other| block.threads[(first + other) as usize].state == State::Exited)
                .fold(0_u32, |all, other| all | 1 << other);
            if mask & exited != 0 {
                return wrong(format!(
                    "it waits for lanes {:#x} of its warp, which have exited",
                    mask & exited
                ));
            }
            // A barrier of the warp may stand in several places.
            let meets = |other: u32| {
                if here >> other & 1 != 0 {
                    return true;
                }
                let other = self.waiting_at(block, first + other);
                i.op == Op::WarpBar && other.is_some_and(|(_, j)| j.op == Op::WarpBar)
            };
            if !(0..count).filter(|other| mask >> other & 1 != 0).all(meets) {
                continue;
            }
            let lanes: Vec<u32> = (0..count).filter(|l| mask >> l & 1 != 0).collect();
            for other in &lanes {
                let thread = &block.threads[(first + other) as usize];
                let j = &self.module.code[thread.pc as usize];
                let slot = if j.op == Op::WarpBar { j.a } else { j.c };
                if i.op != Op::Activemask && value(thread, slot) as u32 & exists != mask {
                    return wrong(format!("lanes {lane} and {other} name different masks"));
                }
            }
            self.exchange(block, first, &lanes, &i);
            if i.op == Op::WarpBar {
                let threads: Vec<u32> = lanes.iter().map(|lane| first + lane).collect();
                block.order.meet(&threads);
            }
            for lane in &lanes {
                done |= 1 << lane;
                resume(&mut block.threads[(first + lane) as usize]);
            }
            met = true;
        }
        Ok(met)
    }

    fn exchange(&self, block: &mut Block, first: u32, lanes: &[u32], i: &Instruction) {
        let thread = |lane: u32| (first + lane) as usize;
        let mask = lanes.iter().fold(0_u64, |all, lane| all | 1 << lane);
        let values: Vec<u64> = (lanes.iter())
            .map(|lane| value(&block.threads[thread(*lane)], i.a))
            .collect();
        let truth = |v: &u64| (v ^ u64::from(i.flags)) & 1 != 0;
        match i.op {
            Op::Shfl => self.shuffle(block, first, lanes, i),
            Op::Activemask => {
                for lane in lanes {
                    set(&mut block.threads[thread(*lane)], i.d, mask);
                }
            }
            Op::Vote => {
                let ballot = (lanes.iter().zip(&values))
                    .fold(0, |all, (lane, v)| all | u64::from(truth(v)) << lane);
                let result = match i.code {
                    0 => u64::from(ballot == mask),
                    1 => u64::from(ballot != 0),
                    2 => u64::from(ballot == mask || ballot == 0),
                    _ => ballot,
                };
                for lane in lanes {
                    set(&mut block.threads[thread(*lane)], i.d, result);
                }
            }
            Op::Match => {
                for (n, lane) in lanes.iter().enumerate() {
                    let same = (lanes.iter().zip(&values))
                        .filter(|(_, v)| (**v ^ values[n]) & i.ty.mask() == 0)
                        .fold(0_u64, |all, (lane, _)| all | 1 << lane);
                    let all = same == mask;
                    let result = if i.code == 0 || all { same } else { 0 };
                    let thread = &mut block.threads[thread(*lane)];
                    set(thread, i.d, result);
                    if i.offset != 0 {
                        set(thread, i.offset as u32, u64::from(all));
                    }
                }
            }
            Op::Redux => {
                let result = values[1..]
                    .iter()
                    .fold(values[0], |all, v| combined(i.code, i.ty, all, *v, 0));
                for lane in lanes {
                    set(&mut block.threads[thread(*lane)], i.d, result & i.ty.mask());
                }
            }
            _ => {}
        }
    }

    fn shuffle(&self, block: &mut Block, first: u32, lanes: &[u32], i: &Instruction) {
        let list = &self.module.lists[i.b as usize..];
        let mut results = Vec::with_capacity(lanes.len());
        for &lane in lanes {
            let thread = &block.threads[(first + lane) as usize];
            let (b, c) = (
                value(thread, list[0]) as u32 & 31,
                value(thread, list[1]) as u32,
            );
            let (clamp, segment) = (c & 31, c >> 8 & 31);
            let most = lane & segment | clamp & !segment;
            let least = lane & segment;
            let lane = lane as i32;
            let (source, fits) = match i.code {
                0 => (lane - b as i32, lane - b as i32 >= most as i32),
                1 => (lane + b as i32, lane + b as i32 <= most as i32),
                2 => (lane ^ b as i32, (lane ^ b as i32) <= most as i32),
                _ => {
                    let source = (least | b & !segment) as i32;
                    (source, source <= most as i32)
                }
            };
            let source = if fits { source } else { lane };
            // A lane that does not take part has no value to give.
            let known = lanes.contains(&(source as u32));
            let from = &block.threads[(first + source as u32) as usize % block.threads.len()];
            let at = from.frame.base + i.a as usize;
            let mark = from.marks.get(at).copied().unwrap_or_default();
            let mark = match known {
                true => mark,
                false => Mark {
                    mask: u64::MAX,
                    derived: true,
                    pc: thread.pc,
                },
            };
            let bits = if known {
                from.registers[at]
            } else {
                0x7e7e_7e7e
            };
            results.push((bits & i.ty.mask(), fits, mark));
        }
        for (lane, (bits, fits, mark)) in lanes.iter().zip(results) {
            let thread = &mut block.threads[(first + lane) as usize];
            set(thread, i.d, bits);
            if i.offset != 0 {
                set(thread, i.offset as u32, u64::from(fits));
            }
            if mark.mask != 0 {
                if thread.marks.is_empty() {
                    thread.marks = vec![Mark::default(); thread.registers.len()];
                }
                thread.marks[thread.frame.base + i.d as usize] = mark;
            }
        }
    }

    /// Lets threads go on whose barrier is complete; returns whether there were any.
    pub(crate) fn meet_at_barriers(&self, block: &mut Block) -> Result<bool, (u32, Wrong)> {
        let count = block.threads.len() as u32;
        let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); 16];
        for thread in 0..count {
            if let Some((waits, i)) = self.waiting_at(block, thread)
                && i.op == Op::Bar
            {
                waiting[value(waits, i.a) as usize % 16].push(thread);
            }
        }
        let mut met = false;
        for (barrier, threads) in waiting.iter().enumerate() {
            let Some(first) = threads.first() else {
                continue;
            };
            let Some((thread, i)) = self.waiting_at(block, *first) else {
                continue;
            };
            let expected = match i.count {
                0 => count,
                _ => value(thread, i.b) as u32,
            };
            if !expected.is_multiple_of(32) && i.count != 0 {
                let what = format!("a barrier of {expected} threads, which must be whole warps");
                return Err((*first, (Kind::Misuse, what)));
            }
            // All lanes of a warp must be at the same instruction.
            for pair in threads.windows(2) {
                let place = |thread: u32| block.threads[thread as usize].pc;
                if i.flags & 1 != 0
                    && pair[0] / 32 == pair[1] / 32
                    && place(pair[0]) != place(pair[1])
                {
                    let other = self.module.place(place(pair[0]));
                    let what = format!("a thread of the same warp is at another barrier ({other})");
                    return Err((pair[1], (Kind::Hang, what)));
                }
            }
            let arrived = &mut block.arrived[barrier];
            if ((threads.len() + arrived.len()) as u32) < expected {
                continue;
            }
            let mut all = std::mem::take(arrived);
            all.extend(threads);
            let truths: Vec<bool> = threads
                .iter()
                .filter_map(|thread| self.waiting_at(block, *thread))
                .map(|(thread, i)| (value(thread, i.c) ^ i.offset as u64) & 1 != 0)
                .collect();
            match all.len() as u32 == count {
                true => block.order.barrier(),
                false => block.order.meet(&all),
            }
            for thread in threads {
                let thread = &mut block.threads[*thread as usize];
                let i = self.module.code[thread.pc as usize];
                let result = match i.code {
                    2 => truths.iter().filter(|t| **t).count() as u64,
                    3 => u64::from(truths.iter().all(|t| *t)),
                    _ => u64::from(truths.iter().any(|t| *t)),
                };
                if i.code >= 2 {
                    set(thread, i.d, result);
                }
                resume(thread);
            }
            met = true;
        }
        Ok(met)
    }

    /// The first thread that waits, and who does not come.
    pub(crate) fn why_it_hangs(&self, block: &Block) -> (u32, String) {
        let threads = 0..block.threads.len() as u32;
        let waits = |t: &u32| block.threads[*t as usize].state == State::Waits;
        let Some(first) = threads.clone().find(waits) else {
            let runs = |t: &u32| block.threads[*t as usize].state == State::Runs;
            let first = threads.clone().find(runs).unwrap_or(0);
            return (
                first,
                "it waits without an end for a value in memory".into(),
            );
        };
        let pc = block.threads[first as usize].pc;
        let here = threads
            .clone()
            .filter(|t| waits(t) && block.threads[*t as usize].pc == pc);
        let exited = threads
            .clone()
            .filter(|t| block.threads[*t as usize].state == State::Exited);
        let elsewhere = threads
            .clone()
            .find(|t| waits(t) && block.threads[*t as usize].pc != pc);
        let mut what = format!(
            "{} of {} threads of the block wait here without an end, {} have exited",
            here.count(),
            block.threads.len(),
            exited.count()
        );
        if let Some(other) = elsewhere {
            let place = self.module.place(block.threads[other as usize].pc);
            what += &format!(", and thread {other} of the block waits elsewhere ({place})");
        }
        (first, what)
    }
}
