//! 2 lanes of `f64`: NEON, which every aarch64 processor has.

use core::arch::aarch64::{
    float32x4_t as Single, float64x2_t as Double, uint64x2_t as Answers, uint64x2_t as Int,
    vaddq_f64 as add_pd, vaddq_u32, vandq_u64 as and_int, vbslq_f64 as select_raw, vceqzq_f64,
    vcleq_f64 as at_most_raw, vdupq_n_f64 as set1_pd, vdupq_n_u64, veorq_u64 as xor_int, vfmaq_f32,
    vfmaq_f64, vgetq_lane_u64, vmaxvq_u32, vmulq_f32 as mul_ps, vmulq_f64 as mul_pd,
    vorrq_u64 as or_int, vreinterpretq_f32_u64 as castint_ps, vreinterpretq_f64_u64 as castint_pd,
    vreinterpretq_u32_u64 as halves, vreinterpretq_u64_f32 as castps_int,
    vreinterpretq_u64_f64 as castpd_int, vreinterpretq_u64_u32 as of_halves, vshlq_n_u32,
    vshlq_n_u64 as slli_epi64, vshrq_n_u64 as srli_epi64, vsubq_f64 as sub_pd, vsubq_u32,
};

use super::lanes::{functions, lanes};

functions! {
    "neon":

    /// `a b + c`.
    fn fmadd_pd(a: Double, b: Double, c: Double) -> Double {
        vfmaq_f64(c, a, b)
    }

    /// `a b + c`.
    fn fmadd_ps(a: Single, b: Single, c: Single) -> Single {
        vfmaq_f32(c, a, b)
    }

    /// `a + b`, in halves of lanes.
    fn add_epi32(a: Int, b: Int) -> Int {
        of_halves(vaddq_u32(halves(a), halves(b)))
    }

    /// `a - b`, in halves of lanes.
    fn sub_epi32(a: Int, b: Int) -> Int {
        of_halves(vsubq_u32(halves(a), halves(b)))
    }

    /// Halves of lanes, shifted to the left.
    fn slli_epi32<const BITS: i32>(a: Int) -> Int {
        of_halves(vshlq_n_u32::<BITS>(halves(a)))
    }

    /// `x` in each lane.
    fn set1_epi64(x: i64) -> Int {
        vdupq_n_u64(x as u64)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        (vgetq_lane_u64::<0>(a) & 1 | vgetq_lane_u64::<1>(a) & 2) as u32
    }

    /// `b` where `test` is 0, otherwise `a`.
    fn blend(a: Double, b: Double, test: Double) -> Double {
        select_raw(vceqzq_f64(test), b, a)
    }

    /// Whether no bit is set in both.
    fn none(a: Int, b: Int) -> bool {
        vmaxvq_u32(halves(and_int(a, b))) == 0
    }

    /// Returns the numbers unchanged, but makes the compiler compute all of them before anything that depends on any of them, as the
    /// function of this name for AVX2 does.
    fn in_step([mut a, mut b, mut c, mut d]: [Single; 4]) -> [Single; 4] {
        // SAFETY: the assembly is empty.
        unsafe {
            core::arch::asm!("/* {0:v} {1:v} {2:v} {3:v} */", inout(vreg) a, inout(vreg) b, inout(vreg) c, inout(vreg) d,
                options(pure, nomem, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
}

lanes!(
    /// 2 numbers side by side.
    F64x2,
    2
);
