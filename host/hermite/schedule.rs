//! Block time steps: which particles are stepped together, and when.
//!
//! Steps are powers of two, and the time of a particle is a multiple of its step. Particles with the shortest step are therefore due
//! at every block, and others at the blocks whose time is a multiple of their step.

use kernels_gpu::device::hermite::levels;
use kernels_gpu::hermite::step::{halved, halvings, longest_at};

/// Number of step lengths, each half of the previous one.
const LEVELS: usize = levels::LEVELS as usize;

/// Particles by the length of their steps.
#[derive(Clone, Debug)]
pub struct Schedule {
    longest: f64,
    levels: Vec<Vec<u32>>,
    time: f64,
}

impl Schedule {
    /// Particles with these steps, as of the block at `time`; `longest` is a power of two. A place with a step of 0 has no particle.
    pub fn new(longest: f64, time: f64, steps: impl Iterator<Item = f64>) -> Self {
        let mut schedule = Self {
            longest,
            levels: vec![Vec::new(); LEVELS],
            time,
        };
        for (place, step) in steps.enumerate().filter(|(_, step)| *step > 0.0) {
            schedule.insert(place as u32, step);
        }
        schedule
    }

    /// Puts a particle that was [`take`](Self::take)n back, with a step of this length.
    pub fn insert(&mut self, place: u32, step: f64) {
        self.levels[halvings(self.longest, step) as usize].push(place);
    }

    /// The time of the next block.
    pub fn next_time(&self) -> f64 {
        let level = self.levels.iter().rposition(|l| !l.is_empty());
        self.time + halved(self.longest, level.unwrap_or(0) as u32)
    }

    /// The longest step that divides `time`.
    pub fn longest_at(&self, time: f64) -> f64 {
        longest_at(self.longest, time)
    }

    /// Advances to the next block step and removes the particles that are due, in ascending order. They must be inserted again
    /// before the next call.
    pub fn take(&mut self, active: &mut Vec<u32>) -> f64 {
        active.clear();
        self.time = self.next_time();
        let first = halvings(self.longest, self.longest_at(self.time)) as usize;
        for level in &mut self.levels[first..] {
            active.append(level);
        }
        active.sort_unstable();
        self.time
    }

    /// The time of the last block.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Number of particles with steps of the longest length, of half of it, and so on.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts: Vec<usize> = self.levels.iter().map(Vec::len).collect();
        counts.truncate(counts.iter().rposition(|n| *n > 0).map_or(0, |l| l + 1));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_are_due_at_multiples_of_their_steps() {
        let steps = [0.25, 1.0, 0.125, 0.25];
        let mut schedule = Schedule::new(1.0, 0.0, steps.into_iter());
        let mut active = Vec::new();
        for k in 1..=16 {
            let time = schedule.take(&mut active);
            assert_eq!(time, 0.125 * f64::from(k));
            let due = (0..4).filter(|p: &u32| (time / steps[*p as usize]).fract() == 0.0);
            assert_eq!(active, due.collect::<Vec<_>>());
            for p in &active {
                schedule.insert(*p, steps[*p as usize]);
            }
        }
        assert_eq!(schedule.counts(), [1, 0, 2, 1]);
    }
}
