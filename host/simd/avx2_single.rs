//! 8 lanes of `f32`: AVX2 and FMA.

use core::arch::x86_64::{
    __m256 as Register, __m256 as Answers, _CMP_LE_OQ, _mm256_add_ps as add_ps, _mm256_blendv_ps,
    _mm256_castps_si256 as castps_int, _mm256_castsi256_ps as castint_ps, _mm256_cmp_ps,
    _mm256_fmadd_ps as fmadd_ps, _mm256_movemask_ps, _mm256_mul_ps as mul_ps,
    _mm256_set1_epi32 as set1_epi32, _mm256_set1_ps as set1_ps, _mm256_srli_epi32 as srli_epi32,
    _mm256_sub_epi32 as sub_epi32, _mm256_sub_ps as sub_ps, _mm256_xor_si256 as xor_int,
};

use super::lanes::functions;
use super::lanes_single::lanes_single;

functions! {
    "avx2,fma":

    /// `a <= b`, lane by lane.
    fn at_most_raw(a: Register, b: Register) -> Answers {
        _mm256_cmp_ps::<_CMP_LE_OQ>(a, b)
    }

    /// `yes` where `answers` hold, otherwise `no`.
    fn select_raw(answers: Answers, yes: Register, no: Register) -> Register {
        _mm256_blendv_ps(no, yes, answers)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        _mm256_movemask_ps(a) as u32
    }
}

lanes_single!(
    /// 8 numbers side by side.
    F32x8,
    8
);
