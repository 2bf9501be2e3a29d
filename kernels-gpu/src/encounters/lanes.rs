//! Encounters in progress on a CPU, one in each lane: a lane takes the next run when its own has ended.

use super::run::{Encounter, Record, Settings, Verdict};
use super::start::Start;
use super::step::{Pairs, Scheme, StepControl, StepMasses, Watch, advance};
use crate::number::Bits;

/// The largest number of lanes.
pub const MAX_LANES: usize = 8;

/// The source of runs and the destination of their records.
pub trait Runs {
    /// Returns the number of the next run, if there is one.
    fn next(&mut self) -> Option<u64>;
    /// Returns the start of a run.
    fn start(&mut self, run: u64) -> Start;
    /// Whether [`before`](Self::before) is called.
    #[inline(always)]
    fn is_watched(&self) -> bool {
        false
    }

    /// Receives the state of a run before each block of steps.
    fn before(&mut self, encounter: &Encounter, state: &Pairs<f64>, control: &StepControl<f64>) {
        let _ = (encounter, state, control);
    }

    /// Receives the record and the final state of a run.
    fn ended(&mut self, run: u64, record: &Record, state: &Pairs<f64>);
    /// Whether to stop; called after each block of steps.
    fn stopped(&mut self) -> bool {
        false
    }
}

/// Evaluates the pericentres of all lanes.
struct Passages<'a> {
    encounters: &'a mut [Option<Encounter>; MAX_LANES],
}

impl<R: Bits> Watch<R> for Passages<'_> {
    #[inline(always)]
    fn passage(&mut self, s: &Pairs<R>, until: R, turned: &[R::High; 3], near: &mut R::High) {
        let mut lane = 0;
        while lane < R::LANES {
            let t = [
                R::high_lane(&turned[0], lane),
                R::high_lane(&turned[1], lane),
                R::high_lane(&turned[2], lane),
            ];
            if (t[0] | t[1] | t[2]) < 0
                && let Some(encounter) = &mut self.encounters[lane]
                && encounter.passage(&s.take(lane), until.to_f64(lane), t)
            {
                R::set_high_lane(near, lane, encounter.near());
            }
            lane += 1;
        }
    }
}

/// Integrates all runs; returns the number of blocks of steps, each of which is taken by all lanes.
#[inline(always)]
pub fn integrate<R: Bits, S: Scheme>(settings: &Settings, scheme: S, runs: &mut impl Runs) -> u64 {
    const { assert!(R::LANES <= MAX_LANES) };
    // Lanes without a run compute an arbitrary orbit.
    let idle = Pairs {
        x: [[1.0, 0.0, 0.0]; 3],
        ..Pairs::default()
    };
    let idle_masses = StepMasses {
        first: 1.0,
        second: 1.0,
        potential: [1.0; 3],
        rate: 1.0,
    };
    let mut s = Pairs::<R>::of(&idle);
    let mut masses = StepMasses::<R>::of(&idle_masses);
    let mut control = StepControl::<R>::new();
    let mut encounters = [None; MAX_LANES];
    let mut record = Record::default();
    let (mut busy, mut more, mut blocks) = (0, true, 0);
    loop {
        let mut lane = 0;
        while lane < R::LANES && more {
            if encounters[lane].is_none() {
                if let Some(run) = runs.next() {
                    let start = runs.start(run);
                    let new = Encounter::begin(run, &start, settings);
                    s.put(lane, &start.pairs);
                    masses.put(lane, &new.masses.step);
                    control.put(lane, &new.control(settings));
                    control.watch_from(lane, &start.pairs);
                    R::set_high_lane(&mut control.near, lane, new.near());
                    encounters[lane] = Some(new);
                    busy += 1;
                } else {
                    more = false;
                }
            }
            lane += 1;
        }
        if busy == 0 || runs.stopped() {
            return blocks;
        }
        if runs.is_watched() {
            for (lane, encounter) in encounters.iter().enumerate().take(R::LANES) {
                if let Some(encounter) = encounter {
                    let control = encounter.control(settings);
                    runs.before(encounter, &s.take(lane), &control);
                }
            }
        }
        // The last block of a run may be shorter. Its lane takes it alone, in all lanes of these vectors.
        let shorter = |encounter: &Option<Encounter>| {
            encounter.is_some_and(|encounter| encounter.block(settings) < settings.block)
        };
        let alone = encounters.iter().position(shorter);
        let others = alone.map(|lane| (lane, encounters, s, masses, control));
        let mut count = settings.block;
        if let Some(lane) = alone {
            let encounter = encounters[lane].unwrap_or_default();
            count = encounter.block(settings);
            encounters = [None; MAX_LANES];
            encounters[lane] = Some(encounter);
            s = Pairs::of(&s.take(lane));
            masses = StepMasses::of(&encounter.masses.step);
            control = control.spread(lane);
        }
        let mut watch = Passages {
            encounters: &mut encounters,
        };
        advance(&mut s, &masses, &mut control, count, scheme, &mut watch);
        blocks += 1;
        let mut lane = 0;
        while lane < R::LANES {
            if let Some(encounter) = &mut encounters[lane] {
                let mut state = s.take(lane);
                let verdict = encounter.look(&mut state, settings, &mut record);
                if verdict == Verdict::Ended {
                    runs.ended(encounter.run, &record, &state);
                    encounters[lane] = None;
                    busy -= 1;
                } else {
                    if verdict == Verdict::GoOn {
                        s.time.set_lane(lane, &R::from_f64(state.time));
                    } else {
                        s.put(lane, &state);
                        control.watch_from(lane, &state);
                    }
                    control.left.set_lane(lane, &R::from_f64(encounter.left()));
                    R::set_high_lane(&mut control.near, lane, encounter.near());
                }
            }
            lane += 1;
        }
        if let Some(others) = others {
            // With its last block the run has ended.
            let lane;
            (lane, encounters, s, masses, control) = others;
            encounters[lane] = None;
        }
    }
}
