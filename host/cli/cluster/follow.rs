//! A run on several processes: what the other ranks need of the run that rank 0 records, and their part of it.

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use trisolar::divergence::EngineError;
use trisolar::hermite::{
    Cluster, Counters, HermiteError, OpenDevices, Parts, Specification, Star, bodies_of,
};
use trisolar::nbody::Ranks;

use super::begin::{Begun, InitialState};
use super::stops::Stops;
use crate::{Failure, interrupt};

/// Number of block steps after which the ranks tell each other whether one of them wants to pause.
const BLOCKS_PER_CHECK: u64 = 16;

/// The ranks of a run, which pause together; none without a launcher.
#[derive(Debug, Default)]
pub(super) struct Together {
    ranks: Option<Rc<dyn Ranks>>,
    /// Block steps since the beginning of the run.
    blocks: u64,
}

impl Together {
    pub(super) fn new(ranks: Option<Rc<dyn Ranks>>) -> Self {
        Self { ranks, blocks: 0 }
    }

    /// Whether there is one process only.
    pub(super) fn is_alone(&self) -> bool {
        self.ranks.is_none()
    }

    /// Whether the run pauses after this block step, because a rank wants to.
    pub(super) fn pauses(&mut self, here: bool) -> bool {
        self.blocks += 1;
        match &self.ranks {
            None => here,
            Some(ranks) => self.blocks.is_multiple_of(BLOCKS_PER_CHECK) && ranks.any(here),
        }
    }

    /// Whether a signal has arrived on any rank.
    pub(super) fn interrupted(&self) -> bool {
        let here = interrupt::interrupted();
        self.ranks.as_ref().map_or(here, |ranks| ranks.any(here))
    }
}

/// The state of a run and the course of rank 0, as far as the engine takes part in it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Course {
    specification: Specification,
    /// Time of the last block and the counters of a resumed run; `None` for a start model.
    resumed: Option<(f64, Counters)>,
    particles: usize,
    /// Number of neighbours of each particle in the Ahmad–Cohen scheme.
    neighbours: Vec<usize>,
    end: f64,
    stops: Stops,
    /// The time of the last line of diagnostics, on the clock of the file.
    looked: Option<f64>,
    /// The time of a snapshot that is written again.
    again: Option<f64>,
    /// Whether the particles are evaluated at the end once more.
    last_state: bool,
}

/// The state, without what is in the [`Course`].
struct State {
    stars: Vec<Star>,
    parts: Vec<Parts>,
}

impl Course {
    /// The run as bytes for the other ranks.
    pub(super) fn bytes(begun: &Begun) -> Vec<u8> {
        let (stars, parts, resumed) = match &begun.state {
            InitialState::Start(start) => (Star::of(start.bodies()), &[][..], None),
            InitialState::Resumed(checkpoint, _) => (
                checkpoint.stars.clone(),
                &checkpoint.parts[..],
                Some((checkpoint.time, checkpoint.counters.clone())),
            ),
        };
        let time = resumed.as_ref().map_or(0.0, |(time, _)| *time);
        let series = begun.state.series();
        let missing = begun
            .output
            .missing_snapshot(series.len(), time, begun.times);
        let course = Self {
            specification: begun.state.specification().clone(),
            resumed,
            particles: stars.len(),
            neighbours: parts.iter().map(|p| p.neighbours.len()).collect(),
            end: begun.times.end,
            stops: Stops::new(begun.times.every, stars.len(), &begun.output),
            looked: series.last().map(|row| row[0]),
            again: missing.map(|(_, time)| time),
            last_state: begun.output.wants_last_state(),
        };
        let head = serde_json::to_vec(&course).expect("plain numbers and names");
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        let mut put = |number: f64| bytes.extend(number.to_le_bytes());
        for star in &stars {
            [star.mass, star.time, star.step]
                .into_iter()
                .for_each(&mut put);
            let terms = star.taylor.iter();
            terms.flat_map(|v| [v.x, v.y, v.z]).for_each(&mut put);
        }
        for part in parts {
            [part.radius, part.time, part.step]
                .into_iter()
                .for_each(&mut put);
            let forces = part.irregular.iter().chain(&part.regular);
            forces.flat_map(|v| [v.x, v.y, v.z]).for_each(&mut put);
            part.neighbours
                .iter()
                .map(|n| f64::from(*n))
                .for_each(&mut put);
        }
        bytes
    }

    /// Reads [`bytes`](Self::bytes) of the same program.
    fn read(bytes: &[u8]) -> Option<(Self, State)> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (head, numbers) = rest.split_at_checked(length)?;
        let course: Self = serde_json::from_slice(head).ok()?;
        let mut numbers = numbers
            .as_chunks::<8>()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b));
        let mut next = || numbers.next();
        let mut stars = Vec::with_capacity(course.particles);
        for _ in 0..course.particles {
            let (mass, time, step) = (next()?, next()?, next()?);
            let mut star = Star::new(mass, Default::default(), Default::default());
            (star.time, star.step) = (time, step);
            for v in &mut star.taylor {
                (v.x, v.y, v.z) = (next()?, next()?, next()?);
            }
            stars.push(star);
        }
        let mut parts = Vec::with_capacity(course.neighbours.len());
        for count in &course.neighbours {
            let mut part = Parts {
                radius: next()?,
                time: next()?,
                step: next()?,
                neighbours: Vec::new(),
                irregular: Default::default(),
                regular: Default::default(),
            };
            for v in part.irregular.iter_mut().chain(&mut part.regular) {
                (v.x, v.y, v.z) = (next()?, next()?, next()?);
            }
            let neighbours = (0..*count).map(|_| next().map(|n| n as u32));
            part.neighbours = neighbours.collect::<Option<_>>()?;
            parts.push(part);
        }
        Some((course, State { stars, parts }))
    }
}

/// Takes part in the run that rank 0 has sent as `bytes` and records. `open` opens the devices of this rank.
pub(super) fn follow(
    bytes: &[u8],
    ranks: Option<Rc<dyn Ranks>>,
    open: impl FnOnce(&Specification, usize, f64) -> Result<OpenDevices, Failure>,
) -> Result<(), Failure> {
    let broken = || Failure::Failed("what rank 0 sent is incomplete".into());
    let (course, state) = Course::read(bytes).ok_or_else(broken)?;
    let begun = course.resumed.as_ref().map_or(0.0, |(time, _)| *time);
    let duration = course.end - begun;
    let devices = open(&course.specification, course.particles, duration)?;
    let mut together = Together::new(ranks);
    course
        .follow(state, &devices, &mut together)
        .map_err(|error| match error {
            HermiteError::Engine(error) => error.into(),
            // Rank 0 has the same error and reports it.
            _ => Failure::Elsewhere(1),
        })
}

impl Course {
    /// Makes the calls to the engine that rank 0 makes, in the same order.
    fn follow(
        self,
        State { stars, parts }: State,
        devices: &OpenDevices,
        together: &mut Together,
    ) -> Result<(), HermiteError> {
        let engine = devices.engine()?;
        let spec = self.specification;
        let clock = spec.clone();
        let mut cluster = match self.resumed {
            Some((time, counters)) => Cluster::resumed(spec, stars, parts, time, counters, engine)?,
            None => {
                let start = spec
                    .validate(bodies_of(&stars))
                    .map_err(|error| HermiteError::from(EngineError::Sink(error.to_string())))?;
                Cluster::new(&start, engine)?
            }
        };
        if let Some(time) = self.again {
            cluster.at(time)?;
        }
        let mut looked = self.looked;
        let mut stop = self.stops.first_at(cluster.time());
        loop {
            let time = self.stops.time(stop).min(self.end);
            if time >= cluster.time() {
                while !cluster.advance(time, &mut |_| !together.pauses(interrupt::interrupted()))? {
                    if together.interrupted() {
                        return Err(EngineError::Cancelled.into());
                    }
                }
                let shown = clock.on_the_clock(time);
                if !self.stops.is_line(stop) && time < self.end {
                    cluster.at(time)?;
                } else if looked.is_none_or(|last| clock.is_before(last, shown)) {
                    let stars = cluster.at(time)?;
                    cluster.potentials(&stars)?;
                    looked = Some(shown);
                }
                if time >= self.end {
                    break;
                }
            }
            stop += 1;
        }
        if self.last_state {
            cluster.at(self.end)?;
        }
        Ok(())
    }
}
