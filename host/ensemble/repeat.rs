//! Whether values depend on how they were computed: a sample of the items is computed again.

use serde::Serialize;

use super::statistics::wilson;

/// How many values of a sample change when they are computed again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepCheck {
    /// Items in the sample.
    pub sample: u64,
    /// Those that were compared: of a map of divergence, those whose twins part with either step; of other maps, those with a finite value;
    /// of other ensembles all.
    pub compared: u64,
    /// Those of them that change: by more than 5 % (of the time of the run, of the value, or of the range of colours) in a map, to another
    /// outcome in other ensembles.
    pub changed: u64,
    /// `changed / compared`, 0 if none was compared.
    pub share: f64,
}

impl StepCheck {
    /// Makes the result from the numbers of items.
    pub fn new(sample: u64, compared: u64, changed: u64) -> Self {
        Self {
            sample,
            compared,
            changed,
            share: changed as f64 / compared.max(1) as f64,
        }
    }

    /// As text for a summary: `what` are the values in the plural, and `change` what they do.
    pub fn in_words(&self, what: &str, change: &str) -> String {
        let Self {
            compared, changed, ..
        } = *self;
        if compared == 0 {
            return format!("nothing to compare among {} sampled {what}", self.sample);
        }
        let [low, high] = wilson(changed as f64, compared as f64).map(|share| 100.0 * share);
        format!(
            "{:.1} % ({changed} of {compared} sampled {what}; 95 % interval {low:.0} to {high:.0} %) {change}",
            100.0 * self.share,
        )
    }
}
