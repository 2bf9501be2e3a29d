//! Shares of the items of an ensemble, with confidence intervals.

use serde::{Deserialize, Serialize};

use super::statistics::wilson;

/// The share of the items that belong to a class, with its 95 % confidence interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassShare {
    /// The name of the class.
    pub what: String,
    /// Number of its items.
    pub count: u64,
    /// The share of all items; 0 if there are none.
    pub share: f64,
    /// The interval of Wilson (1927).
    pub interval: [f64; 2],
}

impl ClassShare {
    /// The share of `count` of `all` items.
    pub fn new(what: impl Into<String>, count: u64, all: u64) -> Self {
        let all = all.max(1);
        Self {
            what: what.into(),
            count,
            share: count as f64 / all as f64,
            interval: wilson(count as f64, all as f64),
        }
    }
}
