//! The orbit of one item: its states at equal times.

use trisolar_equations::job::STIFF;
use trisolar_equations::{Column, Kind, Law};
use trisolar_simd::Simd;

use crate::{Equations, Validated};

/// States of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Orbit {
    /// Time and state at each time, row by row.
    pub numbers: Vec<f64>,
    /// Numbers of a row.
    pub width: usize,
    /// The name of the outcome that ended the item before its time, if one did.
    pub outcome: Option<String>,
}

impl Orbit {
    /// Follows the only item of a specification and returns its states at its start and at `samples` equal times (of an iterated map, at most
    /// one for each iteration). `None` if `cancelled` returned true, which is called between them.
    pub fn of<Q: Equations>(
        spec: &Validated<Q>,
        samples: u64,
        mut cancelled: impl FnMut() -> bool,
    ) -> Option<Self> {
        let about = spec.about();
        let states = (1_u64 << about.state.len()) - 1;
        let mut job = *spec.job();
        job.columns = 1 << Column::OUTCOME.0 | 1 << Column::TIME.0 | states << Column::STATE.0;
        job.tangent = 0;
        let samples = match about.kind {
            Kind::Map => samples.min(job.end as u64),
            _ => samples,
        };
        let [end, step] = [spec.specification().end, spec.specification().step];
        let first = |i: u64| {
            let place = end * (i as f64 / samples as f64);
            if about.kind == Kind::Map {
                place.round()
            } else {
                place
            }
        };
        let width = 1 + about.state.len();
        let mut numbers = Vec::new();
        // The start as the equations complete it: the state after no step.
        let mut row = vec![0.0; width + 1];
        let whole_end = job.end;
        for i in 0..=samples {
            if cancelled() {
                return None;
            }
            let [from, to] = if i == 0 {
                [0.0; 2]
            } else {
                [first(i - 1), first(i)]
            };
            job.begin = from;
            job.end = to - from;
            if i == 0 {
                job.steps = 0;
                job.end = whole_end;
            } else if job.method.is_adaptive() {
                job.steps = spec.specification().most_steps;
            } else {
                let steps = match about.kind {
                    Kind::Map => job.end,
                    _ => (job.end / step - 1e-6).ceil().max(1.0),
                };
                job.steps = steps as u64;
                job.step = job.end / steps;
            }
            let mut write = |_, place: usize, number| row[place] = number;
            spec.equations()
                .follow(Simd::Scalar, &job, &[0], &mut write);
            let [outcome, time] = [row[0], row[1]];
            let state = &row[2..];
            // No step is taken at the start, which an integrator with steps of its own calls stiff.
            let open = outcome == 0.0 || i == 0 && outcome == STIFF;
            numbers.push(if open { to } else { from + time });
            numbers.extend(state);
            if !open {
                let name = about.outcome_names().nth((outcome - STIFF) as usize);
                return Some(Self {
                    numbers,
                    width,
                    outcome: Some(name.unwrap_or_default().to_owned()),
                });
            }
            for (law, value) in job.start.iter_mut().zip(state) {
                *law = Law {
                    low: *value,
                    ..Law::default()
                };
            }
        }
        Some(Self {
            numbers,
            width,
            outcome: None,
        })
    }
}
