//! Start values: fixed, drawn from a distribution, or an axis of a map.

use core::f64::consts::PI;

use cuda_std::{GpuFloat, Plain};

use crate::random::uniform;

/// One degree in radians.
const DEGREE: f64 = PI / 180.0;

/// How a parameter gets its values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Law {
    /// The kind of the law: one of the constants of this type.
    pub kind: u32,
    /// Padding, which is 0.
    pub unused: u32,
    /// The value, or the least value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
}

impl Law {
    /// The value `low` in every run.
    pub const FIXED: u32 = 0;
    /// Uniform from `low` to `high`.
    pub const UNIFORM: u32 = 1;
    /// An angle whose cosine is uniform.
    pub const ISOTROPIC: u32 = 2;
    /// A number whose square is uniform.
    pub const SQUARE: u32 = 3;
    /// An axis along the columns of a map: `low` + column / width · (`high` - `low`).
    pub const COLUMNS: u32 = 4;
    /// An axis along the rows of a map: `low` + row / height · (`high` - `low`).
    pub const ROWS: u32 = 5;
    /// x of body 3, uniform in the region of Agekyan & Anosova (1967).
    pub const REGION_X: u32 = 6;
    /// y of body 3 in that region.
    pub const REGION_Y: u32 = 7;
}

// SAFETY: the type is repr(C) and consists of numbers without padding, for which every bit pattern is valid.
unsafe impl Plain for Law {}

impl Law {
    /// The value of the parameter with this number in a run, for a seed and the columns and rows of a map; the region of Agekyan & Anosova is
    /// not drawn here.
    #[cfg_attr(target_arch = "nvptx64", inline(never))]
    pub fn value(&self, seed: u64, size: [u64; 2], parameter: u32, run: u64) -> f64 {
        let drawn = || uniform(seed, run, parameter);
        let low = self.low;
        match self.kind {
            Self::ISOTROPIC => {
                let (from, to) = (
                    GpuFloat::cos(low * DEGREE),
                    GpuFloat::cos(self.high * DEGREE),
                );
                GpuFloat::acos(from + (to - from) * drawn()) * (180.0 / PI)
            }
            Self::SQUARE => {
                GpuFloat::sqrt(low * low + (self.high * self.high - low * low) * drawn())
            }
            _ => self.even_value(seed, size, parameter, run),
        }
    }

    /// Whether the values are evenly distributed: those of fixed and uniform numbers, and of axes of a map.
    pub fn is_even(&self) -> bool {
        matches!(
            self.kind,
            Self::FIXED | Self::UNIFORM | Self::COLUMNS | Self::ROWS
        )
    }

    /// The value by a law that [is even](Self::is_even).
    #[inline(always)]
    pub fn even_value(&self, seed: u64, size: [u64; 2], parameter: u32, run: u64) -> f64 {
        let (low, width) = (self.low, self.high - self.low);
        match self.kind {
            Self::UNIFORM => low + width * uniform(seed, run, parameter),
            Self::COLUMNS => low + (run % size[0]) as f64 / size[0] as f64 * width,
            Self::ROWS => low + (run / size[0]) as f64 / size[1] as f64 * width,
            _ => low,
        }
    }
}
