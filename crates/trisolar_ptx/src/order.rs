//! What happens before what: the order that barriers, fences and atomics give.
//!
//! A thread's time is the number of its block's barriers so far and, below, a count of what it has made known otherwise. An access by another
//! thread happened before the present one if its time is known: for a thread of the same block by a later barrier, otherwise by a [`Clock`]
//! that came along with a barrier of the warp or a value that was released and acquired.

use std::collections::HashMap;

/// Bits of a time below the barriers.
const SUB: u32 = 10;
const SUBS: u32 = (1 << SUB) - 1;

/// What is known of others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    /// The number of barriers of a block before which everything is known.
    blocks: HashMap<u32, u32>,
    /// The last known time of a thread.
    threads: HashMap<u32, u32>,
}

impl Clock {
    fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.threads.is_empty()
    }

    fn join(&mut self, other: &Self) {
        for (map, from) in [
            (&mut self.blocks, &other.blocks),
            (&mut self.threads, &other.threads),
        ] {
            for (key, time) in from {
                let known = map.entry(*key).or_insert(0);
                *known = (*known).max(*time);
            }
        }
    }

    fn knows(&self, thread: u32, block: u32, time: u32) -> bool {
        (self.blocks.get(&block)).is_some_and(|barriers| time >> SUB < *barriers)
            || (self.threads.get(&thread)).is_some_and(|known| time <= *known)
    }
}

#[derive(Debug, Default)]
struct Own {
    sub: u32,
    known: Option<Box<Clock>>,
    /// What a later fence makes known to this thread.
    pending: Option<Box<Clock>>,
    /// What this thread makes known with its next ordered write, since its last fence.
    fenced: Option<Box<Clock>>,
}

/// The order within a block.
#[derive(Debug)]
pub(crate) struct Order {
    block: u32,
    threads: u32,
    barriers: u32,
    known: Clock,
    own: Vec<Own>,
}

impl Order {
    pub(crate) fn new(block: u32, threads: u32) -> Self {
        Self {
            block,
            threads,
            barriers: 0,
            known: Clock::default(),
            own: (0..threads).map(|_| Own::default()).collect(),
        }
    }

    /// The number of a thread of the block in the grid.
    pub(crate) fn global(&self, thread: u32) -> u32 {
        self.block * self.threads + thread
    }

    pub(crate) fn now(&self, thread: u32) -> u32 {
        self.barriers << SUB | self.own[thread as usize].sub.min(SUBS)
    }

    /// Whether an access of another thread happened before what `thread` does now.
    pub(crate) fn is_before(&self, thread: u32, other: u32, time: u32) -> bool {
        let block = other / self.threads;
        if block == self.block && time >> SUB < self.barriers {
            return true;
        }
        let own = &self.own[thread as usize];
        self.known.knows(other, block, time)
            || (own.known.as_ref()).is_some_and(|known| known.knows(other, block, time))
    }

    /// All threads of the block have met.
    pub(crate) fn barrier(&mut self) {
        for own in &mut self.own {
            if let Some(known) = own.known.take() {
                self.known.join(&known);
            }
            own.sub = 0;
            if let Some(fenced) = &mut own.fenced {
                fenced.join(&self.known);
            }
        }
        self.barriers += 1;
    }

    /// Everything that a thread knows, itself included, and goes on to a new time.
    fn everything(&mut self, thread: u32) -> Clock {
        let mut all = self.known.clone();
        all.blocks.insert(self.block, self.barriers);
        let time = self.now(thread);
        let number = self.global(thread);
        let own = &mut self.own[thread as usize];
        if let Some(known) = &own.known {
            all.join(known);
        }
        all.threads.insert(number, time);
        own.sub += 1;
        all
    }

    fn learn(&mut self, thread: u32, clock: &Clock) {
        if !clock.is_empty() {
            let known = &mut self.own[thread as usize].known;
            known.get_or_insert_default().join(clock);
        }
    }

    /// Some threads have met.
    pub(crate) fn meet(&mut self, threads: &[u32]) {
        let mut all = Clock::default();
        for thread in threads {
            let time = self.now(*thread);
            let number = self.global(*thread);
            let own = &mut self.own[*thread as usize];
            if let Some(known) = &own.known {
                all.join(known);
            }
            all.threads.insert(number, time);
            own.sub += 1;
        }
        for thread in threads {
            self.learn(*thread, &all);
        }
    }

    /// A thread executes a fence.
    pub(crate) fn fence(&mut self, thread: u32) {
        if let Some(pending) = self.own[thread as usize].pending.take() {
            self.learn(thread, &pending);
        }
        let all = self.everything(thread);
        self.own[thread as usize].fenced = Some(Box::new(all));
    }
}

/// What has been made known with values in memory, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Released(HashMap<u64, Clock>);

impl Released {
    /// An ordered read, of a value that may have been released.
    pub(crate) fn read(&self, order: &mut Order, thread: u32, address: u64, acquires: bool) {
        let Some(clock) = self.0.get(&address) else {
            return;
        };
        match acquires {
            true => order.learn(thread, clock),
            false => {
                let pending = &mut order.own[thread as usize].pending;
                pending.get_or_insert_default().join(clock);
            }
        }
    }

    /// An ordered write. An operation that reads and writes keeps what was made known before.
    pub(crate) fn write(
        &mut self,
        order: &mut Order,
        thread: u32,
        address: u64,
        releases: bool,
        keeps: bool,
    ) {
        let known = match releases {
            true => Some(order.everything(thread)),
            false => order.own[thread as usize].fenced.as_deref().cloned(),
        };
        match known {
            Some(clock) if keeps => self.0.entry(address).or_default().join(&clock),
            Some(clock) => {
                self.0.insert(address, clock);
            }
            None if keeps => {}
            None => {
                self.0.remove(&address);
            }
        }
    }
}
