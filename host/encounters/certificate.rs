//! Whether the outcome of every run is that of the motion, or depends on the step or on rounding: all runs are integrated again, with twice
//! the steps, and with a step of which only the last digits differ.

use std::sync::atomic::{AtomicU8, Ordering};

use kernels_gpu::encounters::{Outcome, Record};
use serde::{Deserialize, Serialize};

use super::outcome::{class, class_of};
use super::{Executor, Sink, Task, Validated};
use trisolar_ensemble::{ClassShare, StepCheck, Verdict};
use trisolar_run::{EngineError, Monitor, RunOptions};

/// The relative change of the steps whose last digits differ: every operation is rounded otherwise, and the error of the step is the same.
const LAST_DIGITS: f64 = 8.0 * f64::EPSILON;
/// Lifetimes are counted in intervals whose ends have this ratio.
const RATIO: f64 = 2.0;

/// The verdicts on the outcomes of an ensemble.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The share of runs of each [`Verdict`], in their order. A run agrees if the same body escapes, or it ends in the same other way, with
    /// twice the steps and with other roundings; rounding decides it if it ends otherwise with other roundings; the step does if it
    /// ends otherwise with twice the steps alone. It is undecided if one of the three failed.
    pub verdicts: [ClassShare; Verdict::ALL.len()],
    /// How many outcomes rounding decides, against the time to the end.
    pub lifetimes: Vec<Lifetime>,
    /// The [`Verdict`] on each run.
    #[serde(skip)]
    pub of_runs: Vec<u8>,
}

/// Runs whose time to the end is in an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// The lower end of the interval (time).
    pub from: f64,
    /// The upper end (time).
    pub to: f64,
    /// Number of runs.
    pub runs: u64,
    /// Those of them whose outcome rounding decides.
    pub rounding: ClassShare,
}

/// The classes of the outcomes of runs.
struct Classes(Vec<AtomicU8>);

impl Sink<Validated> for Classes {
    fn put(&self, first: u64, records: &[Record]) -> Result<(), EngineError> {
        for (kept, record) in self.0[first as usize..].iter().zip(records) {
            kept.store(class(record), Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Classes {
    fn of(
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Vec<u8>, EngineError> {
        let runs = spec.runs();
        let all = Self((0..runs).map(|_| AtomicU8::new(0)).collect());
        executor.stream(&Task::new(spec, &[0..runs], &all), options, monitor)?;
        Ok(all.0.into_iter().map(AtomicU8::into_inner).collect())
    }
}

impl Certificate {
    /// Integrates all runs again, whose records are known: with twice the steps, and with other roundings. Returns the number of outcomes that
    /// change with twice the steps, too. It takes three times as long as the runs. `None` if twice the steps are not allowed.
    ///
    /// # Errors
    /// Those of the computation, also if it is interrupted.
    pub fn of(
        executor: &dyn Executor<Validated>,
        spec: &Validated,
        records: &[Record],
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<(Self, StepCheck)>, EngineError> {
        let again = [2.0, 1.0 + LAST_DIGITS].map(|factor| spec.with_steps_times(factor));
        let [Some(finer), Some(rounded)] = again else {
            return Ok(None);
        };
        let finer = Classes::of(executor, &finer, options, monitor)?;
        let rounded = Classes::of(executor, &rounded, options, monitor)?;
        let failed = class_of(Outcome::FAILED, 0);
        let classes = records.iter().map(class).zip(finer.iter().zip(&rounded));
        let of_runs: Vec<u8> = (classes.clone())
            .map(|(own, (&finer, &rounded))| match [own, finer, rounded] {
                all if all.contains(&failed) => Verdict::Undecided,
                [own, _, rounded] if own != rounded => Verdict::Rounding,
                [own, finer, _] if own != finer => Verdict::Step,
                _ => Verdict::Agrees,
            } as u8)
            .collect();
        let all = records.len() as u64;
        let changed = classes.filter(|(own, (finer, _))| own != *finer).count();
        let found = Self {
            verdicts: Verdict::shares(&of_runs),
            lifetimes: lifetimes(records, &of_runs),
            of_runs,
        };
        Ok(Some((found, StepCheck::new(all, all, changed as u64))))
    }
}

/// The share of outcomes that rounding decides, against the time to the end; of all runs that did not fail.
fn lifetimes(records: &[Record], of_runs: &[u8]) -> Vec<Lifetime> {
    let mut counts = std::collections::BTreeMap::<i32, [u64; 2]>::new();
    for (record, verdict) in records.iter().zip(of_runs) {
        if *verdict != Verdict::Undecided as u8 && record.time > 0.0 {
            let [runs, rounding] = counts
                .entry(record.time.log(RATIO).floor() as i32)
                .or_default();
            *runs += 1;
            *rounding += u64::from(*verdict == Verdict::Rounding as u8);
        }
    }
    let found = |(power, [runs, rounding]): (i32, [u64; 2])| Lifetime {
        from: RATIO.powi(power),
        to: RATIO.powi(power + 1),
        runs,
        rounding: ClassShare::new(Verdict::Rounding.name(), rounding, runs),
    };
    counts.into_iter().map(found).collect()
}
