//! Runs the blocks of a cluster in turns; most clusters have one block.

use std::sync::Mutex;

use super::block::Worker;
use super::context::{Arrival, BlockContext, Wait};
use super::error::EmulatorError;
use super::launch::{AnyKernel, Launch, Random, Stats};
use super::statics::Turn;

/// The part of a launch that one CPU thread runs: one cluster after another.
pub(super) struct Team<'a> {
    launch: &'a Launch,
    /// A worker for each block of a cluster, by rank.
    members: Vec<Worker<'a>>,
    stats: Stats,
    /// The member whose statics are in place.
    loaded: usize,
}

impl<'a> Team<'a> {
    pub(super) fn new(
        launch: &'a Launch,
        kernel: AnyKernel,
        output: Option<&'a Mutex<String>>,
    ) -> Self {
        let size = launch.cluster.count() as u32;
        let members: Vec<_> = (0..size)
            .map(|rank| Worker::new(launch, kernel, output, rank))
            .collect();
        let blocks: Vec<*const BlockContext> = members.iter().map(Worker::context).collect();
        for member in &members {
            member.join(blocks.clone());
        }
        Self {
            launch,
            members,
            stats: Stats::default(),
            loaded: 0,
        }
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Runs the cluster with this linear index to its end. `turn` is its turn to use the statics of shared memory.
    pub(super) fn run(&mut self, linear: u64, mut turn: Option<Turn>) -> Result<(), EmulatorError> {
        let [x, y, z] = self.launch.cluster.array().map(u64::from);
        let grid = self.launch.grid;
        let (across, down) = (u64::from(grid.x) / x, u64::from(grid.y) / y);
        let first = [
            linear % across * x,
            linear / across % down * y,
            linear / across / down * z,
        ];
        self.loaded = 0;
        for member in &mut self.members {
            let place = member.place_in_cluster().map(u64::from);
            let index = [0, 1, 2].map(|axis| first[axis] + place[axis]);
            let block = index[0] + u64::from(grid.x) * (index[1] + u64::from(grid.y) * index[2]);
            member.start(index.map(|i| i as u32), block);
            if let (Some(turn), true) = (&mut turn, x * y * z > 1) {
                turn.save(member.statics());
            }
        }
        let outcome = self.rounds(linear, turn.as_mut());
        if outcome.is_err() {
            self.members.iter_mut().for_each(Worker::unwind);
        }
        outcome?;
        for rank in 0..self.members.len() {
            self.load(rank, turn.as_mut());
            self.members[rank].finish(turn.as_ref(), &mut self.stats)?;
        }
        Ok(())
    }

    fn rounds(&mut self, linear: u64, mut turn: Option<&mut Turn>) -> Result<(), EmulatorError> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        let mut random = (self.launch.seed)
            .map(|seed| Random::new(!seed ^ linear.wrapping_mul(0xd134_2543_de82_ef95)));
        while !self.members.iter().all(Worker::has_ended) {
            if let Some(random) = &mut random {
                random.shuffle(&mut order);
            }
            let mut paused = false;
            for &rank in &order {
                if !self.members[rank].has_ended() {
                    self.load(rank, turn.as_deref_mut());
                    self.members[rank].round()?;
                    paused |= self.members[rank].is_runnable();
                }
            }
            if let (Some(turn), true) = (&mut turn, paused) {
                // Some threads paused; they may be waiting for other blocks.
                turn.pass();
            }
            for member in self.members.iter_mut().filter(|member| !member.has_ended()) {
                member.wake(&mut self.stats)?;
            }
            self.wake_cluster();
            let waits = |member: &Worker<'_>| !member.has_ended() && !member.is_runnable();
            if self.members.iter().any(waits) && !self.members.iter().any(Worker::is_runnable) {
                // A block whose threads wait for nothing but the cluster is not the one at fault.
                let stuck = self.members.iter().filter(|member| waits(member));
                let found = stuck.min_by_key(|member| member.waits_for_cluster_alone());
                return Err(found.map_or_else(|| unreachable!("a member waits"), Worker::hang));
            }
        }
        Ok(())
    }

    /// Puts the statics of a member in place.
    fn load(&mut self, rank: usize, turn: Option<&mut Turn>) {
        if let (Some(turn), true) = (turn, rank != self.loaded) {
            turn.save(self.members[self.loaded].statics());
            turn.restore(self.members[rank].statics());
            self.loaded = rank;
        }
    }

    /// Ends the phase of the cluster's barrier if all threads that run have arrived.
    fn wake_cluster(&mut self) {
        let arrivals = || self.members.iter().flat_map(Worker::running);
        let pending = |arrival: Arrival| arrival == Arrival::Pending;
        if !arrivals().any(|thread| pending(thread.arrival.get()))
            || !arrivals().all(|thread| pending(thread.arrival.get()))
        {
            return;
        }
        for member in &mut self.members {
            member.complete_arrivals(|thread| {
                thread.arrival.set(Arrival::Complete);
                matches!(thread.wait.get(), Wait::Cluster(_))
            });
        }
    }
}
