//! The times at which a run is recorded.

use serde::{Deserialize, Serialize};

/// Records at equal intervals and at the end, and between them the times at which paths of bodies are recorded, on the run's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stops {
    /// The time between two records.
    pub every: f64,
    /// The end of the run.
    pub end: f64,
    /// Where paths are recorded between two records.
    pub between: Between,
}

/// The stops between two records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Between {
    /// They divide the time into this number of parts.
    Parts(u64),
    /// They are multiples of this time.
    Multiples(f64),
}

/// A time at which a run stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// The time.
    pub time: f64,
    /// Whether the run is recorded; otherwise only the paths of bodies are.
    pub is_record: bool,
}

/// How many states of bodies are recorded from one record to the next at most.
const STATES_PER_RECORD: usize = 256;
/// Largest number of times at which they are recorded, and of points that are drawn, from one record to the next.
const MAX_PER_RECORD: usize = 64;

/// How often the paths of `n` bodies are recorded from one record to the next: several times if the bodies are few.
pub fn paths_per_record(n: usize) -> u64 {
    (STATES_PER_RECORD / n.max(1)).clamp(1, MAX_PER_RECORD) as u64
}

/// The number of points to draw from one recorded state of the paths of `n` bodies to the next.
pub fn points_per_state(n: usize) -> usize {
    MAX_PER_RECORD / paths_per_record(n) as usize
}

impl Stops {
    /// The first stop that is not before this time.
    pub fn from(&self, time: f64) -> Option<Stop> {
        let line = (time / self.every).floor();
        let near: Vec<(f64, bool)> = match self.between {
            Between::Parts(parts) => {
                // The neighbouring intervals as well, because the quotient is rounded.
                let near = [line - 1.0, line, line + 1.0, line + 2.0];
                let part = |line: f64, k: u64| {
                    let at = line * self.every + k as f64 * (self.every / parts as f64);
                    (at, k == 0)
                };
                let stops = near.map(|line| (0..parts).map(move |k| part(line, k)));
                stops.into_iter().flatten().collect()
            }
            Between::Multiples(of) => {
                let multiple = |of: f64, k: f64| ((time / of).floor() + k) * of;
                let paths = [0.0, 1.0].map(|k| (multiple(of, k), false));
                let records = [0.0, 1.0].map(|k| (multiple(self.every, k), true));
                [records, paths].concat()
            }
        };
        let later = near.into_iter().filter(|(at, _)| *at >= time);
        // Of a record and a state of paths at the same time, the record comes first.
        let first = later.min_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let (at, is_record) = first.unwrap_or((self.end, true));
        (time <= self.end).then_some(Stop {
            time: at.min(self.end),
            is_record: is_record || at >= self.end,
        })
    }

    /// The first stop after this time.
    pub fn after(&self, time: f64) -> Option<Stop> {
        match time < self.end {
            true => self.from(time.next_up()),
            false => None,
        }
    }

    /// Whether there is a stop at this time, wherever the run ends.
    pub fn has(&self, time: f64) -> bool {
        let endless = Self {
            end: f64::INFINITY,
            ..*self
        };
        endless.from(time).is_some_and(|stop| stop.time == time)
    }
}
