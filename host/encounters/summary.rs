//! Statistics of the records of many runs.

use kernels_gpu::encounters::{Outcome, Record};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

pub use super::outcome::is_open;
use super::{Certificate, Encounters, Setup};
use trisolar_ensemble::statistics::median_and_largest;
use trisolar_ensemble::{ClassShare, StepCheck};

/// The lifetimes of runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// The time by which half of all runs have ended, unless fewer have.
    pub median: Option<f64>,
    /// The time by which 90 % have ended.
    pub ninety_percent: Option<f64>,
    /// The tail, if there are enough runs to estimate it.
    pub tail: Option<Tail>,
}

/// The tail of the lifetimes: the share of runs that survive a time t falls as t^-exponent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// The exponent.
    pub exponent: f64,
    /// Its standard error.
    pub error: f64,
    /// The time from which on the exponent holds.
    pub from: f64,
}

/// Errors of energy and angular momentum of the runs that did not fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// Median of |ΔE/E|.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub energy_median: f64,
    /// The largest.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub energy_largest: f64,
    /// Runs whose error is above [`ENERGY_LIMIT`].
    pub energy_above: u64,
    /// [`ENERGY_LIMIT`].
    pub energy_limit: f64,
    /// The largest error of the angular momentum.
    #[serde(with = "trisolar_io::null_is_nan")]
    pub momentum_largest: f64,
}

/// Statistics of the records of many runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of runs.
    pub runs: u64,
    /// The outcomes that occurred, with their shares.
    pub outcomes: Vec<ClassShare>,
    /// The bodies that escaped, with their shares; empty if the bodies have no names.
    pub escapers: Vec<ClassShare>,
    /// Number of open runs, which reached a limit before the encounter was over.
    pub open: u64,
    /// Number of failed runs, in which the error of the energy became too large to go on. They have neither a lifetime nor errors.
    pub failed: u64,
    /// The lifetimes of all runs that did not fail.
    pub lifetimes: Lifetimes,
    /// Mean number of steps per run.
    pub steps: f64,
    /// Mean number of excursions per run.
    pub excursions: f64,
    /// Mean number of jumps per run.
    pub jumps: f64,
    /// Errors of energy and angular momentum.
    pub errors: Errors,
    /// How many outcomes of a sample change with twice the steps, if it was determined.
    #[serde(default)]
    pub step_check: Option<StepCheck>,
    /// The verdicts on all outcomes, if they were determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
}

/// Name of an outcome.
pub fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::ESCAPE => "escape",
        Outcome::IONISATION => "ionisation",
        Outcome::COLLISION => "collision",
        Outcome::TIME => "open: longest time",
        Outcome::STEPS => "open: most steps",
        _ => "failed",
    }
}

/// Whether the run failed.
pub fn has_failed(record: &Record) -> bool {
    record.outcome == Outcome::FAILED.0
}

/// The relative energy error of a run above which there is a warning.
pub const ENERGY_LIMIT: f64 = 1e-6;

/// Least number of runs in the tail for an estimate of its slope.
const MIN_TAIL_RUNS: usize = 50;

/// Counts and sums over some records.
struct Tally {
    /// Records with each number of an outcome.
    outcomes: [u64; 256],
    /// Escapes of each body.
    escapers: [u64; 3],
    steps: u64,
    excursions: u64,
    jumps: u64,
    energy_above: u64,
    momentum_largest: Option<f64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            outcomes: [0; 256],
            escapers: [0; 3],
            steps: 0,
            excursions: 0,
            jumps: 0,
            energy_above: 0,
            momentum_largest: None,
        }
    }
}

/// The larger of two numbers, of which NaN is the largest.
fn larger(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b).is_lt() { b } else { a }
}

impl Tally {
    fn of(records: &[Record]) -> Self {
        let mut all = Self::default();
        for r in records {
            all.outcomes[usize::from(r.outcome)] += 1;
            if r.outcome == Outcome::ESCAPE.0
                && let Some(escapes) = all.escapers.get_mut(usize::from(r.body))
            {
                *escapes += 1;
            }
            all.steps += u64::from(r.steps);
            all.excursions += u64::from(r.excursions);
            all.jumps += u64::from(r.jumps);
            if !has_failed(r) {
                // A NaN counts as above every limit.
                let is_small = r.energy_error.abs() <= ENERGY_LIMIT;
                all.energy_above += u64::from(!is_small);
                let largest = all
                    .momentum_largest
                    .map(|most| larger(most, r.momentum_error));
                all.momentum_largest = largest.or(Some(r.momentum_error));
            }
        }
        all
    }

    fn merged(mut self, other: Self) -> Self {
        let add = |a: &mut [u64], b: &[u64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        add(&mut self.outcomes, &other.outcomes);
        add(&mut self.escapers, &other.escapers);
        self.steps += other.steps;
        self.excursions += other.excursions;
        self.jumps += other.jumps;
        self.energy_above += other.energy_above;
        let both = self.momentum_largest.zip(other.momentum_largest);
        let either = self.momentum_largest.or(other.momentum_largest);
        self.momentum_largest = both.map_or(either, |(a, b)| Some(larger(a, b)));
        self
    }
}

impl Summary {
    /// Summarises the records of an ensemble.
    pub fn of(ensemble: &Encounters) -> Self {
        let records: &[Record] = &ensemble.records;
        let all = records.len() as u64;
        let tally = records.par_chunks(1 << 14).map(Tally::of);
        let tally = tally.reduce(Tally::default, Tally::merged);
        let count = |outcome: Outcome| tally.outcomes[usize::from(outcome.0)];
        let outcomes = Outcome::ALL
            .into_iter()
            .map(|outcome| ClassShare::new(outcome_name(outcome), count(outcome), all));
        let escapes = count(Outcome::ESCAPE);
        let escapers = tally.escapers.into_iter().zip(0..3);
        let escapers = escapers
            .filter(|_| escapes > 0)
            .map(|(n, body)| ClassShare::new(body_name(ensemble, body), n, escapes));
        let mean = |sum: u64| sum as f64 / all.max(1) as f64;
        let sound = records.par_iter().filter(|r| !has_failed(r));
        let [energy_median, energy_largest] =
            median_and_largest(sound.map(|r| r.energy_error.abs()).collect());
        Self {
            runs: all,
            outcomes: outcomes.filter(|share| share.count > 0).collect(),
            escapers: escapers.collect(),
            open: count(Outcome::TIME) + count(Outcome::STEPS),
            failed: count(Outcome::FAILED),
            lifetimes: lifetimes(records),
            steps: mean(tally.steps),
            excursions: mean(tally.excursions),
            jumps: mean(tally.jumps),
            errors: Errors {
                energy_median,
                energy_largest,
                energy_above: tally.energy_above,
                energy_limit: ENERGY_LIMIT,
                momentum_largest: tally.momentum_largest.unwrap_or(f64::NAN),
            },
            step_check: ensemble.step_check,
            certificate: ensemble.certificate.clone(),
        }
    }
}

impl Summary {
    /// A warning if the energy of any run is wrong by more than [`ENERGY_LIMIT`].
    pub fn accuracy_warning(&self) -> Option<String> {
        let errors = &self.errors;
        (errors.energy_above > 0).then(|| {
            format!(
                "the relative error of the energy of {} of {} runs is above {ENERGY_LIMIT:e}; the largest is {:.1e}; more \
                 --steps-per-period or --order 8 make it smaller",
                errors.energy_above, self.runs, errors.energy_largest
            )
        })
    }

    /// A warning if runs failed.
    pub fn failed_warning(&self) -> Option<String> {
        (self.failed > 0).then(|| {
            format!(
                "{} of {} runs failed: their energy became so wrong that their outcome is unknown; more --steps-per-period help, except \
                 where all three bodies meet in one point",
                self.failed, self.runs
            )
        })
    }

    /// Warnings about these runs: large energy errors, runs that a limit ended, and failures.
    pub fn warnings(&self) -> Vec<String> {
        let all = [
            self.accuracy_warning(),
            self.open_warning(),
            self.failed_warning(),
        ];
        all.into_iter().flatten().collect()
    }

    /// A warning if runs are open.
    pub fn open_warning(&self) -> Option<String> {
        (self.open > 0).then(|| {
            format!(
                "{} of {} runs are open: --max-time or --max-steps ended them",
                self.open, self.runs
            )
        })
    }

    /// Checks that no run failed and no run's relative energy error exceeds the user's limit, if there is one.
    ///
    /// # Errors
    /// A message that names the number of failed runs, or the error and the limit.
    pub fn check(&self, most: Option<f64>) -> Result<(), String> {
        let Some(most) = most else {
            return Ok(());
        };
        let mut reasons = Vec::new();
        if self.failed > 0 {
            let Self { failed, runs, .. } = self;
            reasons.push(format!(
                "{failed} of {runs} runs failed, which --max-error does not allow"
            ));
        }
        // An error that is not a number exceeds every limit.
        let largest = self.errors.energy_largest;
        if self.failed < self.runs && (largest.is_nan() || largest > most) {
            reasons.push(format!(
                "the largest relative error of the energy is {largest:.3e}, above --max-error {most}"
            ));
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => Err(reasons.join("; ")),
        }
    }
}

/// A body's number, with its mass where that is the same in all runs.
pub fn body_name(ensemble: &Encounters, body: u8) -> String {
    let number = body + 1;
    let spec = &ensemble.specification;
    let mass = match spec.setup {
        Setup::Burrau => Some([3.0, 4.0, 5.0][usize::from(body)]),
        setup => setup
            .parameters()
            .get(usize::from(body))
            .map(|p| spec.choice(p))
            .filter(|choice| !choice.varies())
            .map(|choice| choice.range()[0]),
    };
    match mass {
        Some(mass) => format!("body {number} (mass {mass})"),
        None => format!("body {number}"),
    }
}

pub(super) fn lifetimes(records: &[Record]) -> Lifetimes {
    let mut times: Vec<(f64, bool)> = (records.par_iter().filter(|r| !has_failed(r)))
        .map(|r| (r.time, is_open(r)))
        .collect();
    times.par_sort_by(|a, b| a.0.total_cmp(&b.0));
    // A run that is still open may last for any time.
    let first_open = times.iter().find(|t| t.1).map_or(f64::INFINITY, |t| t.0);
    let quantile = |p: f64| {
        let at = (p * (times.len() as f64 - 1.0)).round() as usize;
        let time = times.get(at)?.0;
        (time < first_open).then_some(time)
    };
    Lifetimes {
        median: quantile(0.5),
        ninety_percent: quantile(0.9),
        tail: tail(&times),
    }
}

/// The exponent of the longest-lived hundredth (at least 200 runs), by the estimator of Hill (1975) for censored data: an open run
/// contributes its logarithm but does not count as an end.
fn tail(times: &[(f64, bool)]) -> Option<Tail> {
    let count = (times.len() / 100).max(200);
    let begin = times.len().checked_sub(count)?;
    if begin < count {
        return None;
    }
    let from = times[begin].0;
    let longest = &times[begin..];
    let logs: f64 = longest.iter().map(|t| (t.0 / from).ln()).sum();
    let ended = longest.iter().filter(|t| !t.1).count();
    if ended < MIN_TAIL_RUNS || logs <= 0.0 {
        return None;
    }
    let exponent = ended as f64 / logs;
    Some(Tail {
        exponent,
        error: exponent / (ended as f64).sqrt(),
        from,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_power_law_has_its_exponent_also_where_runs_are_cut_off() {
        let n = 100_000;
        for cut in [f64::INFINITY, 3e4] {
            let mut times: Vec<(f64, bool)> = (0..n)
                .map(|i| ((f64::from(i) + 0.5) / f64::from(n)).powf(-1.5))
                .map(|t| (t.min(cut), t > cut))
                .collect();
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            let tail = tail(&times).expect("enough runs");
            assert!((tail.exponent - 2.0 / 3.0).abs() < 0.01, "{cut}: {tail:?}");
        }
    }
}
