//! Operations on lanes that the solvers need beyond the arithmetic of a pair: loads, stores, and the force of a body on itself.
//!
//! Planes are of `f64` in every precision. Those of `f32` and of float-float numbers hold numbers that the narrower type has exactly, and
//! sums of rows, which are rounded to it when they are next used. Their softening length has a
//! [floor](kernels_gpu::physics::softening::softening_floor_f32), so that r² = 0 does not occur.

use kernels_gpu::Real;
use kernels_gpu::number::FloatFloat;

use super::field::VECTORS_TOGETHER;

/// Lanes that are loaded from and stored to slices of `f64`.
pub(super) trait Vector: Real {
    /// Whether the sums of [`VECTORS_TOGETHER`] vectors would take most of the registers from the inverse cubes.
    const FEW_REGISTERS: bool;
    /// Whether separations are computed again when the forces are added, instead of kept from when their squares were: because they
    /// do not fit into the registers, and subtractions are cheaper than stores.
    const SEPARATIONS_AGAIN: bool;
    /// [`inv_cubes_or_zero`](Real::inv_cubes_or_zero) of r² among which some zeros are expected: those of bodies with themselves.
    #[inline(always)]
    fn inv_cubes_of_some_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        Self::inv_cubes(r2)
    }
    /// Inverse cubes whose computation has begun.
    type Begun: Copy;
    /// Begins the inverse cubes of these r²: the half of the work in which each instruction depends on the previous one.
    fn begin(r2: &[Self; VECTORS_TOGETHER]) -> Self::Begun;
    /// Completes the inverse cubes of these r².
    fn end(r2: &[Self; VECTORS_TOGETHER], begun: Self::Begun) -> [Self; VECTORS_TOGETHER];
    /// As many numbers from a slice as there are lanes.
    fn load(from: &[f64]) -> Self;
    /// As many numbers to a slice as there are lanes.
    fn store(self, to: &mut [f64]);
}

/// For a [`Vector`] whose r⁻³ are computed as a whole, by this function.
macro_rules! all_at_the_end {
    ($inv_cubes:ident) => {
        type Begun = ();

        #[inline(always)]
        fn begin(_: &[Self; VECTORS_TOGETHER]) {}

        #[inline(always)]
        fn end(r2: &[Self; VECTORS_TOGETHER], (): ()) -> [Self; VECTORS_TOGETHER] {
            Self::$inv_cubes(*r2)
        }
    };
}

impl Vector for f64 {
    const FEW_REGISTERS: bool = false;
    const SEPARATIONS_AGAIN: bool = false;
    all_at_the_end!(inv_cubes_or_zero);

    #[inline(always)]
    fn inv_cubes_of_some_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        Self::inv_cubes_or_zero(r2)
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        from[0]
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[0] = self;
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod lanes {
    use kernels_gpu::number::inv_cube::{Seeded, inv_cube_or_zero};

    use super::super::field::VECTORS_TOGETHER;
    use super::Vector;
    #[cfg(target_arch = "aarch64")]
    use trisolar_simd::F64x2;
    #[cfg(target_arch = "x86_64")]
    use trisolar_simd::{F64x4, F64x8};

    macro_rules! vector {
        ($($name:ident, $n:literal, $module:ident;)*) => {$(
            impl Vector for $name {
                // 16 of 4 lanes, 32 of 2 and of 8.
                const FEW_REGISTERS: bool = $n == 4;
                // A store of 8 lanes takes two cycles; a store of 4 lanes takes one, so keeping them is faster.
                const SEPARATIONS_AGAIN: bool = $n == 8;

                #[inline(always)]
                fn inv_cubes_of_some_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
                    // (No `map`: it would not be inlined into a function with this instruction set.)
                    let mut filled = r2;
                    for k in 0..K {
                        filled[k] = r2[k].zero_to_one();
                    }
                    let Some(mut w) = Self::if_ordinary(filled) else {
                        return Self::by_lane(r2, inv_cube_or_zero);
                    };
                    for k in 0..K {
                        w[k] = w[k].zero_where_zero(r2[k]);
                    }
                    w
                }

                type Begun = trisolar_simd::$module::Begun;

                #[inline(always)]
                fn begin(r2: &[Self; VECTORS_TOGETHER]) -> Self::Begun {
                    $name::begin(r2)
                }

                #[inline(always)]
                fn end(r2: &[Self; VECTORS_TOGETHER], begun: Self::Begun) -> [Self; VECTORS_TOGETHER] {
                    if !begun.all_ordinary {
                        return Self::by_lane(*r2, inv_cube_or_zero);
                    }
                    $name::end(r2, &begun)
                }

                #[inline(always)]
                fn load(from: &[f64]) -> Self {
                    let mut a = [0.0; $n];
                    a.copy_from_slice(&from[..$n]);
                    Self::from_array(a)
                }

                #[inline(always)]
                fn store(self, to: &mut [f64]) {
                    to[..$n].copy_from_slice(&self.to_array());
                }
            }
        )*};
    }

    #[cfg(target_arch = "aarch64")]
    vector! {
        F64x2, 2, neon;
    }
    #[cfg(target_arch = "x86_64")]
    vector! {
        F64x4, 4, avx2;
        F64x8, 8, avx512;
    }
}

/// Vectors of `f32` whose numbers can be read one by one.
trait Singles: Copy {
    const COUNT: usize;
    fn put(from: &[f32]) -> Self;
    fn get(self, to: &mut [f32]);
}

impl Singles for f32 {
    const COUNT: usize = 1;

    #[inline(always)]
    fn put(from: &[f32]) -> Self {
        from[0]
    }

    #[inline(always)]
    fn get(self, to: &mut [f32]) {
        to[0] = self;
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! singles {
    ($name:ty, $n:literal) => {
        impl Singles for $name {
            const COUNT: usize = $n;

            #[inline(always)]
            fn put(from: &[f32]) -> Self {
                let mut a = [0.0; $n];
                a.copy_from_slice(&from[..$n]);
                Self::from_array(a)
            }

            #[inline(always)]
            fn get(self, to: &mut [f32]) {
                to[..$n].copy_from_slice(&self.to_array());
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
singles!(trisolar_simd::F32x8, 8);
#[cfg(target_arch = "aarch64")]
singles!(trisolar_simd::F32x4, 4);

/// Largest number of `f32` lanes.
const MAX_F32_LANES: usize = 8;

macro_rules! vector_of_singles {
    ($($single:ty),*) => {$(
        impl Vector for $single {
            const FEW_REGISTERS: bool = true;
            const SEPARATIONS_AGAIN: bool = false;
            all_at_the_end!(inv_cubes);

            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let mut a = [0.0; MAX_F32_LANES];
                for (a, x) in a.iter_mut().zip(&from[..<$single as Singles>::COUNT]) {
                    *a = *x as f32;
                }
                <$single>::put(&a)
            }

            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                let mut a = [0.0; MAX_F32_LANES];
                self.get(&mut a);
                for (x, a) in to[..<$single as Singles>::COUNT].iter_mut().zip(a) {
                    *x = f64::from(a);
                }
            }
        }

        impl Vector for FloatFloat<$single> {
            // Their sums are in memory anyway.
            const FEW_REGISTERS: bool = false;
            const SEPARATIONS_AGAIN: bool = false;
            all_at_the_end!(inv_cubes);

            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let (mut high, mut low) = ([0.0; MAX_F32_LANES], [0.0; MAX_F32_LANES]);
                let from = &from[..<$single as Singles>::COUNT];
                for ((high, low), x) in high.iter_mut().zip(&mut low).zip(from) {
                    *high = *x as f32;
                    *low = (*x - f64::from(*high)) as f32;
                }
                Self::from_parts(<$single>::put(&high), <$single>::put(&low))
            }

            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                let (mut high, mut low) = ([0.0; MAX_F32_LANES], [0.0; MAX_F32_LANES]);
                let parts = self.parts();
                parts.0.get(&mut high);
                parts.1.get(&mut low);
                let to = &mut to[..<$single as Singles>::COUNT];
                for ((x, high), low) in to.iter_mut().zip(high).zip(low) {
                    *x = f64::from(high) + f64::from(low);
                }
            }
        }
    )*};
}

vector_of_singles!(f32);
#[cfg(target_arch = "x86_64")]
vector_of_singles!(trisolar_simd::F32x8);
#[cfg(target_arch = "aarch64")]
vector_of_singles!(trisolar_simd::F32x4);
