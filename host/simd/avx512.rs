//! 8 lanes of `f64`: AVX-512 F.

use core::arch::x86_64::{
    __m512 as Single, __m512d as Double, __m512i as Int, __mmask8 as Answers, _CMP_EQ_OQ,
    _CMP_LE_OQ, _mm512_add_epi32 as add_epi32, _mm512_add_pd as add_pd,
    _mm512_and_si512 as and_int, _mm512_castpd_si512 as castpd_int,
    _mm512_castps_si512 as castps_int, _mm512_castsi512_pd as castint_pd,
    _mm512_castsi512_ps as castint_ps, _mm512_cmp_pd_mask, _mm512_fmadd_pd as fmadd_pd,
    _mm512_fmadd_ps as fmadd_ps, _mm512_mask_blend_pd, _mm512_mul_pd as mul_pd,
    _mm512_mul_ps as mul_ps, _mm512_or_si512 as or_int, _mm512_set1_epi64 as set1_epi64,
    _mm512_set1_pd as set1_pd, _mm512_slli_epi32 as slli_epi32, _mm512_slli_epi64 as slli_epi64,
    _mm512_srli_epi64 as srli_epi64, _mm512_sub_epi32 as sub_epi32, _mm512_sub_pd as sub_pd,
    _mm512_test_epi64_mask, _mm512_xor_si512 as xor_int,
};

use super::lanes::{functions, lanes};

functions! {
    "avx512f":

    /// `a <= b`, lane by lane.
    fn at_most_raw(a: Double, b: Double) -> Answers {
        _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b)
    }

    /// `yes` where `answers` hold, otherwise `no`.
    fn select_raw(answers: Answers, yes: Double, no: Double) -> Double {
        _mm512_mask_blend_pd(answers, no, yes)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        u32::from(a)
    }

    /// `b` where `test` is 0, otherwise `a`.
    fn blend(a: Double, b: Double, test: Double) -> Double {
        _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(test, set1_pd(0.0)), a, b)
    }

    /// Whether no bit is set in both.
    fn none(a: Int, b: Int) -> bool {
        _mm512_test_epi64_mask(a, b) == 0
    }

    /// Returns the numbers unchanged, but makes the compiler compute all of them before anything that depends on any of them. The processor
    /// finds independent work only among the next instructions, and the compiler would otherwise place one chain of dependent instructions
    /// after the other.
    fn in_step([mut a, mut b, mut c, mut d]: [Single; 4]) -> [Single; 4] {
        // SAFETY: the assembly is empty.
        unsafe {
            core::arch::asm!("/* {0} {1} {2} {3} */", inout(zmm_reg) a, inout(zmm_reg) b, inout(zmm_reg) c, inout(zmm_reg) d,
                options(pure, nomem, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
}

lanes!(
    /// 8 numbers side by side.
    F64x8,
    8
);
