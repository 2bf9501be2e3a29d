//! `f32` as a [`Real`], which uses only IEEE operations and has the same bits on every machine. (N-body runs on GPUs compute in
//! [`FastF32`](super::FastF32) instead.)

use super::inv_cube::{Seeded, Short, inv_cube_single};
use super::{Precision, Real, fma_f32, one_lane, single_lane};

/// `f32` numbers, one or several side by side.
pub trait Single: Real<Lane = <Self as Single>::Alone> + Short {
    /// The number of a single lane.
    type Alone: Single;

    /// A guess y of r⁻¹ from the bits of m = r², such that m·y² is in [0.9297, 1.0645].
    fn guess_root(self) -> Self;
}

/// The constant from which [`Single::guess_root`] subtracts half of the bits of r².
pub const GUESS: u32 = 0x5f37_0000;

impl Single for f32 {
    type Alone = Self;

    #[inline(always)]
    fn guess_root(self) -> Self {
        f32::from_bits(GUESS.wrapping_sub(self.to_bits() >> 1))
    }
}

single_lane!(f32);

impl Real for f32 {
    const TOGETHER: bool = false;
    const HAS_SOFTENING_FLOOR: bool = true;
    one_lane!();

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn to_f64(self, _lane: usize) -> f64 {
        self as f64
    }

    #[inline(always)]
    fn now(self) -> Self {
        super::known_here!(reg32, self)
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma_f32(self, a, b)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }

    /// Accurate to 4 ULP where r² and r⁻³ are normal numbers; 0 or +∞ where r⁻³ is out of their range.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        inv_cube_single(self, self.guess_root())
    }
}

impl Precision for f32 {
    const NAME: &'static str = "f32";
    const HELP: &'static str = "32 bits; 1.9 times as fast as f64 on an H200, grainy";
    /// Its square must not overflow.
    const LARGEST: f64 = 1e18;
    type OnLanes<D: Seeded, S: Single> = S;
}
