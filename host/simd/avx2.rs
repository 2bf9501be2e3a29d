//! 4 lanes of `f64` in AVX2 and FMA registers.
//!
//! Methods are `#[inline(always)]` so that they end up inside a function that enables the instruction set; only such
//! functions may use these types.

use core::arch::x86_64::*;
use core::ops::{Add, Mul, Neg, Sub};

use kernels_gpu::inv_cube::{
    self, GUESS_BASE, MANTISSA_BASE, ORDINARY_BASE, ORDINARY_WIDTH, Seeded, Short, WIDEN_BASE,
};
use kernels_gpu::{Lanes, Mask, Real};

// SAFETY of every unsafe block in this file: the intrinsics need AVX2 and FMA. The types are private to the CPU engines,
// which use them only inside functions with that target feature, entered after asking the CPU for it.

/// 4 numbers side by side.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F64x4(__m256d);

/// The `f32` seeds of a [`F64x4`], each in the upper half of its lane; the lower halves are 0.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Seed(__m256);

/// A comparison's answers.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Holds(__m256d);

/// `x` in the upper half of each lane, 0 in the lower.
#[inline(always)]
fn upper(x: u32) -> __m256i {
    // SAFETY: see the top of the file.
    unsafe { _mm256_set1_epi64x((u64::from(x) << 32) as i64) }
}

impl F64x4 {
    /// Upper halves of the bits, less the base of the ordinary range.
    #[inline(always)]
    fn offset(self) -> __m256i {
        // SAFETY: see the top of the file.
        unsafe {
            let high = _mm256_and_si256(_mm256_castpd_si256(self.0), upper(u32::MAX));
            _mm256_sub_epi32(high, upper(ORDINARY_BASE))
        }
    }

    #[inline(always)]
    fn to_array(self) -> [f64; 4] {
        // SAFETY: same size, and every bit pattern is a number.
        unsafe { core::mem::transmute(self.0) }
    }

    #[inline(always)]
    fn from_array(a: [f64; 4]) -> Self {
        // SAFETY: same size.
        Self(unsafe { core::mem::transmute::<[f64; 4], __m256d>(a) })
    }

    /// The path on which some lane is outside the ordinary range.
    #[cold]
    #[inline(never)]
    fn inv_cubes_by_lane(r2: [Self; 3]) -> [Self; 3] {
        r2.map(|x| Self::from_array(x.to_array().map(inv_cube::inv_cube)))
    }
}

impl Mask for Holds {
    #[inline(always)]
    fn all(self) -> bool {
        // SAFETY: see the top of the file.
        unsafe { _mm256_movemask_pd(self.0) == 0xf }
    }
    #[inline(always)]
    fn lane(self, lane: usize) -> bool {
        // SAFETY: see the top of the file.
        unsafe { _mm256_movemask_pd(self.0) >> lane & 1 == 1 }
    }
}

impl Real for F64x4 {
    type Mask = Holds;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_set1_pd(x) })
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_fmadd_pd(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Holds {
        // SAFETY: see the top of the file.
        Holds(unsafe { _mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0) })
    }

    #[inline(always)]
    fn inv_cube(self) -> Self {
        Self::inv_cubes([self; 3])[0]
    }

    #[inline(always)]
    fn inv_cubes(r2: [Self; 3]) -> [Self; 3] {
        // SAFETY: see the top of the file.
        let ordinary = unsafe {
            let or = |a, b| _mm256_or_si256(a, b);
            let any = or(or(r2[0].offset(), r2[1].offset()), r2[2].offset());
            // ORDINARY_WIDTH is a power of two.
            let beyond = upper(!(ORDINARY_WIDTH - 1));
            _mm256_testz_si256(any, beyond) == 1
        };
        if ordinary {
            [
                inv_cube::ordinary(r2[0]),
                inv_cube::ordinary(r2[1]),
                inv_cube::ordinary(r2[2]),
            ]
        } else {
            Self::inv_cubes_by_lane(r2)
        }
    }
}

impl Lanes for F64x4 {
    const COUNT: usize = 4;

    #[inline(always)]
    fn set_lane(&mut self, lane: usize, from: Self) {
        let mut a = self.to_array();
        a[lane] = from.to_array()[lane];
        *self = Self::from_array(a);
    }
}

impl Seeded for F64x4 {
    type Short = Seed;

    #[inline(always)]
    fn guess(self) -> (Seed, Seed) {
        let t = self.offset();
        // SAFETY: see the top of the file.
        unsafe {
            let m = _mm256_add_epi32(_mm256_slli_epi32::<3>(t), upper(MANTISSA_BASE));
            let y = _mm256_sub_epi32(upper(GUESS_BASE), _mm256_slli_epi32::<2>(t));
            (Seed(_mm256_castsi256_ps(m)), Seed(_mm256_castsi256_ps(y)))
        }
    }

    #[inline(always)]
    fn widen(seed: Seed) -> Self {
        // SAFETY: see the top of the file.
        unsafe {
            // As one 64-bit number: what leaves the upper half enters the lower.
            let bits = _mm256_srli_epi64::<3>(_mm256_castps_si256(seed.0));
            Self(_mm256_castsi256_pd(_mm256_add_epi32(bits, upper(WIDEN_BASE))))
        }
    }
}

impl Short for Seed {
    #[inline(always)]
    fn from_f32(x: f32) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_castsi256_ps(upper(x.to_bits())) })
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_fmadd_ps(self.0, a.0, b.0) })
    }
}

impl Mul for Seed {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_mul_ps(self.0, o.0) })
    }
}

impl Add for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_add_pd(self.0, o.0) })
    }
}

impl Sub for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_sub_pd(self.0, o.0) })
    }
}

impl Mul for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        // SAFETY: see the top of the file.
        Self(unsafe { _mm256_mul_pd(self.0, o.0) })
    }
}

impl Neg for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: see the top of the file.
        unsafe {
            let sign = _mm256_set1_epi64x(i64::MIN);
            Self(_mm256_castsi256_pd(_mm256_xor_si256(_mm256_castpd_si256(self.0), sign)))
        }
    }
}
