//! Values for the axes of a map.

use serde::{Deserialize, Serialize};

/// One value for both axes, or a value for each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be one number, or two numbers in brackets: [first, second]"
)]
pub enum OneOrTwo<T> {
    /// One.
    One(T),
    /// A value for each axis.
    Two([T; 2]),
}
