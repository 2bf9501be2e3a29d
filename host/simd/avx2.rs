//! 4 lanes of `f64`: AVX2 and FMA.

use core::arch::x86_64::{
    __m256 as Single, __m256d as Double, __m256d as Answers, __m256i as Int, _CMP_EQ_OQ,
    _CMP_LE_OQ, _mm256_add_epi32 as add_epi32, _mm256_add_pd as add_pd,
    _mm256_and_si256 as and_int, _mm256_blendv_pd, _mm256_castpd_si256 as castpd_int,
    _mm256_castps_si256 as castps_int, _mm256_castsi256_pd as castint_pd,
    _mm256_castsi256_ps as castint_ps, _mm256_cmp_pd, _mm256_fmadd_pd as fmadd_pd,
    _mm256_fmadd_ps as fmadd_ps, _mm256_movemask_pd, _mm256_mul_pd as mul_pd,
    _mm256_mul_ps as mul_ps, _mm256_or_si256 as or_int, _mm256_set1_epi64x as set1_epi64,
    _mm256_set1_pd as set1_pd, _mm256_slli_epi32 as slli_epi32, _mm256_slli_epi64 as slli_epi64,
    _mm256_srli_epi64 as srli_epi64, _mm256_sub_epi32 as sub_epi32, _mm256_sub_pd as sub_pd,
    _mm256_testz_si256, _mm256_xor_si256 as xor_int,
};

use super::lanes::{functions, lanes};

functions! {
    "avx2,fma":

    /// `a <= b`, lane by lane.
    fn at_most_raw(a: Double, b: Double) -> Answers {
        _mm256_cmp_pd::<_CMP_LE_OQ>(a, b)
    }

    /// `yes` where `answers` hold, otherwise `no`.
    fn select_raw(answers: Answers, yes: Double, no: Double) -> Double {
        _mm256_blendv_pd(no, yes, answers)
    }

    /// The answers as bits.
    fn bits(a: Answers) -> u32 {
        _mm256_movemask_pd(a) as u32
    }

    /// `b` where `test` is 0, otherwise `a`.
    fn blend(a: Double, b: Double, test: Double) -> Double {
        _mm256_blendv_pd(a, b, _mm256_cmp_pd::<_CMP_EQ_OQ>(test, set1_pd(0.0)))
    }

    /// Whether no bit is set in both.
    fn none(a: Int, b: Int) -> bool {
        _mm256_testz_si256(a, b) == 1
    }

    /// Returns the numbers unchanged, but makes the compiler compute all of them before anything that depends on any of them. The processor
    /// finds independent work only among the next instructions, and the compiler would otherwise place one chain of dependent instructions
    /// after the other.
    fn in_step([mut a, mut b, mut c, mut d]: [Single; 4]) -> [Single; 4] {
        // SAFETY: the assembly is empty.
        unsafe {
            core::arch::asm!("/* {0} {1} {2} {3} */", inout(ymm_reg) a, inout(ymm_reg) b, inout(ymm_reg) c, inout(ymm_reg) d,
                options(pure, nomem, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
}

lanes!(
    /// 4 numbers side by side.
    F64x4,
    4
);
