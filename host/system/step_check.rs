//! Whether values depend on the step: a sample of the items is followed again with half the step, or with a smaller tolerance.

use trisolar_ensemble::{Repeat, Repeated, StepCheck, changes};
use trisolar_equations::{Column, Kind};
use trisolar_run::{EngineError, Monitor, RunOptions};

use crate::table::Rows;
use crate::{Equations, Validated};

/// Items that are followed again.
const CHECKED: u64 = 64;
/// The tolerance of steps of their own length is divided by this.
const FINER: f64 = 32.0;
/// A number changes if it differs by more than this share of the range of all of them.
const TOLERANCE: f64 = 0.05;

impl<Q: Equations> Validated<Q> {
    /// The same items with half the step, or a 32nd of the tolerance. `None` for iterated maps, and if that is not allowed.
    fn finer(&self) -> Option<Self> {
        let mut finer = self.specification().clone();
        finer.step = 0.5 * self.job().step;
        finer.tolerance /= FINER;
        finer.most_steps = finer.most_steps.saturating_mul(4);
        let finer = Self::new(self.equations().clone(), finer).ok();
        finer.filter(|_| self.about().kind != Kind::Map)
    }

    /// The first column of up to 64 items that are followed again on the CPU with half the step, or a 32nd of the tolerance. `None` for iterated maps,
    /// and if that is not allowed.
    ///
    /// # Errors
    /// Those of the computation, also if it is interrupted.
    pub fn sample(
        &self,
        options: &RunOptions,
        monitor: &dyn Monitor,
    ) -> Result<Option<Repeated<f64>>, EngineError> {
        let first = |rows: Rows<'_>| -> Vec<f64> {
            let rows = rows.numbers.chunks(rows.width);
            rows.map(|row| row[0]).collect()
        };
        let finer = self.finer();
        let repeat = finer.map(|finer| Repeat::new(finer, self.count(), CHECKED));
        repeat
            .map(|r| r.compute(options, monitor, first))
            .transpose()
    }

    /// How many first columns of items, whose columns are `numbers`, the [sample](Self::sample) has otherwise: with another outcome, or by more than 5 % of
    /// the range of all.
    pub fn step_check(&self, numbers: &[f64], again: &Repeated<f64>) -> StepCheck {
        let column = || numbers.iter().copied().step_by(self.width());
        let least = column().fold(f64::INFINITY, f64::min);
        let greatest = column().fold(f64::NEG_INFINITY, f64::max);
        let exact = self.columns()[0] == Column::NAMES[Column::OUTCOME.0 as usize];
        changes(again, |item, again| {
            let own = numbers[item as usize * self.width()];
            let range = match greatest > least {
                true => greatest - least,
                false => own.abs(),
            };
            let near = !exact && (own - again).abs() <= TOLERANCE * range;
            near || own == *again || own.is_nan() && again.is_nan()
        })
    }
}
