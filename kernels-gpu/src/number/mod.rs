//! Numbers other than `f64` as a [`Real`](crate::Real): a precision mode of divergence maps each.
//!
//! | mode | state | r⁻³ | CPU and GPU |
//! |---|---|---|---|
//! | exact | `f64` | `f64`, [`inv_cube`](crate::inv_cube) | equal bits |
//! | fast | [`Fast`]: `f64` | `f64`, seeded by the GPU's approximate reciprocal root | equal to within rounding |
//! | mixed | [`Mixed`]: `f64` | `f32` | equal bits |
//! | f32 | `f32` | `f32` | equal bits |
//! | fixed | [`Fixed`]: 64-bit integers | `f64` | equal bits |
//! | float-float | [`FloatFloat`]: a sum of two `f32` | float-float, seeded in `f32` | equal bits |

mod fast;
mod fixed;
mod float_float;
mod mixed;
mod single;

pub use fast::Fast;
pub use fixed::{FRACTION_BITS, Fixed};
pub use float_float::FloatFloat;
pub use mixed::Mixed;
pub use single::{GUESS, Single};

/// Sums, products and the sign of a wrapper, by those of what it wraps.
macro_rules! forward {
    ($name:ident $(<$v:ident: $bound:path>)?) => {
        impl$(<$v: $bound>)? core::ops::Add for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self(self.0 + o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Sub for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self(self.0 - o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Mul for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self(self.0 * o.0)
            }
        }
        impl$(<$v: $bound>)? core::ops::Neg for $name$(<$v>)? {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }
    };
}
use forward;
