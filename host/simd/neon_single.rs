//! 4 lanes of `f32`: NEON, which every aarch64 processor has.

use core::arch::aarch64::{
    float32x4_t as Register, uint32x4_t as Answers, uint32x4_t as Int, vaddq_f32 as add_ps,
    vaddvq_u32, vandq_u32, vbslq_f32 as select_raw, vcleq_f32 as at_most_raw,
    vdupq_n_f32 as set1_ps, vdupq_n_u32, veorq_u32 as xor_int, vfmaq_f32, vld1q_u32,
    vmulq_f32 as mul_ps, vreinterpretq_f32_u32 as castint_ps, vreinterpretq_u32_f32 as castps_int,
    vshrq_n_u32 as srli_epi32, vsubq_f32 as sub_ps, vsubq_u32 as sub_epi32,
};

use super::lanes::functions;
use super::lanes_single::lanes_single;

functions! {
    "neon":

    /// `a b + c`.
    fn fmadd_ps(a: Register, b: Register, c: Register) -> Register {
        vfmaq_f32(c, a, b)
    }

    /// `x` in each lane.
    fn set1_epi32(x: i32) -> Int {
        vdupq_n_u32(x as u32)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        // SAFETY: four numbers are read from an array of four.
        let places = unsafe { vld1q_u32([1, 2, 4, 8].as_ptr()) };
        vaddvq_u32(vandq_u32(a, places))
    }
}

lanes_single!(
    /// 4 numbers side by side.
    F32x4,
    4
);
