//! The times at which a run is looked at.

use serde::{Deserialize, Serialize};

use super::outputs::OutputArgs;

/// The lines of diagnostics, and times between them at which the paths of few particles are recorded.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stops {
    every: f64,
    /// The number of stops from one line to the next.
    per_line: u64,
}

/// How many states of particles are recorded from one line to the next at most. More particles are recorded at the lines only, since
/// every state needs the force of all others.
const STATES_PER_LINE: usize = 256;
/// Largest number of stops from one line to the next.
const MAX_PER_LINE: usize = 64;

impl Stops {
    pub(super) fn new(every: f64, particles: usize, output: &OutputArgs) -> Self {
        let per_line = match output.want_tracks() {
            true => (STATES_PER_LINE / particles.max(1)).clamp(1, MAX_PER_LINE),
            false => 1,
        };
        Self {
            every,
            per_line: per_line as u64,
        }
    }

    /// The stop at a line.
    fn first_of(self, line: u64) -> u64 {
        line * self.per_line
    }

    /// The last stop at a line that is not after this time.
    pub(super) fn first_at(self, time: f64) -> u64 {
        self.first_of((time / self.every).floor() as u64)
    }

    /// Whether there is a line of diagnostics.
    pub(super) fn is_line(self, stop: u64) -> bool {
        stop.is_multiple_of(self.per_line)
    }

    /// The time of a stop on the run's own clock.
    pub(super) fn time(self, stop: u64) -> f64 {
        let (line, part) = (stop / self.per_line, stop % self.per_line);
        line as f64 * self.every + part as f64 * (self.every / self.per_line as f64)
    }

    /// Whether there is a stop at this time.
    pub(super) fn has(self, time: f64) -> bool {
        let near = self.first_at(time);
        (near..=near + self.per_line).any(|stop| self.time(stop) == time)
    }

    /// The number of points to draw from one stop to the next.
    pub(super) fn points(self) -> usize {
        MAX_PER_LINE / self.per_line as usize
    }
}
