//! Values for the axes of a map.

use std::ops::Index;

use glam::DVec3;
use kernels_gpu::Real as _;
use kernels_gpu::number::DoubleDouble;
use serde::{Deserialize, Serialize};

use crate::decimal;

/// A place on a map: a coordinate along each axis, with up to 106 bits. In files it is two numbers, or two decimal texts if it has more
/// digits than `f64` numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "CenterInFile", into = "CenterInFile")]
pub struct Center {
    nearest: [f64; 2],
    rest: [f64; 2],
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be two numbers in brackets: [first, second], in quotes if they have more than 17 digits"
)]
enum CenterInFile {
    Numbers([f64; 2]),
    Texts([Coordinate; 2]),
}

/// A coordinate as a number or as a decimal text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Coordinate {
    Number(f64),
    Text(Decimal),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Decimal([f64; 2]);

impl TryFrom<String> for Decimal {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let value = decimal::parse(text.trim());
        value.map(Self).ok_or(format!("'{text}' is not a number"))
    }
}

impl From<Decimal> for String {
    fn from(value: Decimal) -> Self {
        decimal::text(value.0)
    }
}

impl From<CenterInFile> for Center {
    fn from(read: CenterInFile) -> Self {
        match read {
            CenterInFile::Numbers(nearest) => nearest.into(),
            CenterInFile::Texts(coordinates) => Self::of(coordinates.map(|read| match read {
                Coordinate::Number(nearest) => [nearest, 0.0],
                Coordinate::Text(Decimal(value)) => value,
            })),
        }
    }
}

impl From<Center> for CenterInFile {
    fn from(center: Center) -> Self {
        match center.rest {
            [0.0, 0.0] => Self::Numbers(center.nearest),
            _ => Self::Texts(center.long().map(|value| Coordinate::Text(Decimal(value)))),
        }
    }
}

impl From<[f64; 2]> for Center {
    fn from(nearest: [f64; 2]) -> Self {
        Self {
            nearest,
            rest: [0.0; 2],
        }
    }
}

impl Center {
    /// The place with these coordinates: the nearest number, and what that lacks.
    pub fn of([x, y]: [[f64; 2]; 2]) -> Self {
        Self {
            nearest: [x[0], y[0]],
            rest: [x[1], y[1]],
        }
    }

    /// The nearest numbers to its coordinates.
    pub fn nearest(&self) -> [f64; 2] {
        self.nearest
    }

    /// Its coordinates: the nearest number, and what that lacks.
    pub fn long(&self) -> [[f64; 2]; 2] {
        [0, 1].map(|k| [self.nearest[k], self.rest[k]])
    }

    /// The place that is this far away along each axis.
    #[must_use]
    pub fn moved(&self, by: [f64; 2]) -> Self {
        let long = self.long();
        Self::of([0, 1].map(|k| {
            let sum = DoubleDouble::<f64>::from_long(long[k]) + DoubleDouble::from_f64(by[k]);
            sum.parts().into()
        }))
    }

    /// Replaces a coordinate.
    pub fn set(&mut self, axis: usize, x: f64) {
        (self.nearest[axis], self.rest[axis]) = (x, 0.0);
    }

    /// Its coordinates as decimal texts.
    pub fn texts(&self) -> [String; 2] {
        self.long().map(decimal::text)
    }
}

/// The nearest number to a coordinate.
impl Index<usize> for Center {
    type Output = f64;

    fn index(&self, axis: usize) -> &f64 {
        &self.nearest[axis]
    }
}

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
