//! 16 lanes of `f32`: AVX-512 F.

use core::arch::x86_64::{
    __m512 as Register, __mmask16 as Answers, _CMP_LE_OQ, _mm512_add_ps as add_ps,
    _mm512_castps_si512 as castps_int, _mm512_castsi512_ps as castint_ps, _mm512_cmp_ps_mask,
    _mm512_fmadd_ps as fmadd_ps, _mm512_mask_blend_ps, _mm512_mul_ps as mul_ps,
    _mm512_set1_epi32 as set1_epi32, _mm512_set1_ps as set1_ps, _mm512_srli_epi32 as srli_epi32,
    _mm512_sub_epi32 as sub_epi32, _mm512_sub_ps as sub_ps, _mm512_xor_si512 as xor_int,
};

use super::lanes::functions;
use super::lanes_single::lanes_single;

functions! {
    "avx512f":

    /// `a <= b`, lane by lane.
    fn at_most_raw(a: Register, b: Register) -> Answers {
        _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b)
    }

    /// `yes` where `answers` hold, otherwise `no`.
    fn select_raw(answers: Answers, yes: Register, no: Register) -> Register {
        _mm512_mask_blend_ps(answers, no, yes)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        u32::from(a)
    }
}

lanes_single!(
    /// 16 numbers side by side.
    F32x16,
    16
);
