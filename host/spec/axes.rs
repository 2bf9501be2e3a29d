//! Values for the axes of a map.

use glam::DVec3;
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

/// One value for all components, or a vector.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be one number, or three numbers in brackets: [x, y, z]"
)]
pub enum OneOrThree {
    /// The same number along x, y and z.
    One(f64),
    /// A vector.
    Three(DVec3),
}
