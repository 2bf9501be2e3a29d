//! `f32` as a [`Real`].

use crate::inv_cube::{Short, inv_cube_single};
use crate::real::fma_f32;
use crate::{Lanes, Real};

/// `f32` numbers, one or several side by side.
pub trait Single: Real + Short {
    /// A guess of r⁻¹ for r² such that m·y² is in [0.9297, 1.0645], from the bits.
    fn guess_root(self) -> Self;
}

/// What the bits of r² (halved) are taken from for the guess.
pub const GUESS: u32 = 0x5f37_0000;

impl Single for f32 {
    #[inline(always)]
    fn guess_root(self) -> Self {
        f32::from_bits(GUESS.wrapping_sub(self.to_bits() >> 1))
    }
}

impl Real for f32 {
    type Mask = bool;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn now(self) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            let mut x = self;
            // SAFETY: no instruction at all; the register only has to hold the number at this point.
            unsafe { core::arch::asm!("/* {0} */", inout(reg32) x, options(nomem, nostack)) };
            x
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self
        }
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        fma_f32(self, a, b)
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> bool {
        self <= other
    }

    /// To within 4 ULP where r² and r⁻³ are normal numbers; 0 or +∞ where r⁻³ leaves their range.
    #[inline(always)]
    fn inv_cube(self) -> Self {
        inv_cube_single(self, self.guess_root())
    }
}

impl Lanes for f32 {
    const COUNT: usize = 1;

    #[inline(always)]
    fn set_lane(&mut self, _lane: usize, from: Self) {
        *self = from;
    }
}
