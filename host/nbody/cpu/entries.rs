//! The solvers compiled for each instruction set.

use kernels_gpu::Real;
use kernels_gpu::number::FloatFloat;

use super::field::{Field, ROW, Sums, T, VECTORS_IN_FEW_REGISTERS, VECTORS_TOGETHER};
use super::pool::DisjointSlice;
use super::solvers;
use super::vector::Vector;

/// [`solvers::basic`] for some bodies from the first given one on, in lanes.
pub(super) type BasicEntry = unsafe fn(&Field<'_>, usize, usize, &[DisjointSlice<'_>; 3]);
/// [`solvers::reduced`] of a row, in lanes.
pub(super) type ReducedEntry =
    unsafe fn(&Field<'_>, usize, &mut dyn FnMut(usize, &Sums<T>)) -> Sums<ROW>;

/// to += h · by for all numbers of whole vectors.
pub(super) type AdvanceEntry = unsafe fn(&mut [f64], &[f64], f64);

/// The solvers in one instruction set, in two and three dimensions.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub basic: [BasicEntry; 2],
    pub reduced: [ReducedEntry; 2],
    /// to += h · by, fused, for whole vectors.
    pub advance: AdvanceEntry,
    /// Bodies that [`basic`](Self::basic) computes together.
    pub width: usize,
}

#[inline(always)]
fn advance_in<V: Vector>(to: &mut [f64], by: &[f64], h: f64) {
    let h = V::from_f64(h);
    let vectors = to.chunks_exact_mut(V::LANES).zip(by.chunks_exact(V::LANES));
    for (to, by) in vectors {
        h.mul_add(V::load(by), V::load(to)).store(to);
    }
}

/// The last argument is the number of dimensions in which plane problems are computed: 3 gives the same bits, and less code where
/// speed matters less.
macro_rules! entries {
    ($($(#[$cfg:meta])* $name:ident, $vector:ty, $plane:literal $(, $feature:literal)?;)*) => {$(
        $(#[$cfg])*
        pub(super) mod $name {
            #[allow(unused_imports)]
            use super::{
                Entries, VECTORS_IN_FEW_REGISTERS, Field, FloatFloat, ROW, Real, DisjointSlice, Sums, T, VECTORS_TOGETHER, Vector, advance_in,
                solvers,
            };

            pub(in super::super) const LANES: Entries = Entries {
                basic: [basic::<$plane>, basic::<3>],
                reduced: [reduced::<$plane>, reduced::<3>],
                advance,
                width: VECTORS_TOGETHER * <$vector as Real>::LANES,
            };

            /// # Safety
            /// The machine has the instruction set.
            $(#[target_feature(enable = $feature)])?
            unsafe fn advance(to: &mut [f64], by: &[f64], h: f64) {
                advance_in::<$vector>(to, by, h);
            }

            /// # Safety
            /// The machine has the instruction set, and no other thread uses the bodies' places in `out`.
            $(#[target_feature(enable = $feature)])?
            #[allow(unused_unsafe)]
            unsafe fn basic<const D: usize>(
                f: &Field<'_>,
                first: usize,
                count: usize,
                out: &[DisjointSlice<'_>; 3],
            ) {
                // SAFETY: the caller guarantees this.
                unsafe {
                    if <$vector>::FEW_REGISTERS {
                        basic_of::<D, { VECTORS_IN_FEW_REGISTERS }>(f, first, count, out);
                    } else {
                        basic_of::<D, { VECTORS_TOGETHER }>(f, first, count, out);
                    }
                }
            }

            /// # Safety
            /// As [`basic`].
            $(#[target_feature(enable = $feature)])?
            #[allow(unused_unsafe)]
            unsafe fn basic_of<const D: usize, const M: usize>(
                f: &Field<'_>,
                first: usize,
                count: usize,
                out: &[DisjointSlice<'_>; 3],
            ) {
                const WIDTH: usize = <$vector as Real>::LANES;
                for i in (first..first + count).step_by(M * WIDTH) {
                    let sums = solvers::basic::<$vector, D, M>(f, i);
                    for (k, a) in sums.into_iter().enumerate() {
                        for (out, a) in out.iter().zip([a.x, a.y, a.z]) {
                            // SAFETY: the caller guarantees this.
                            a.store(unsafe { out.range(i + k * WIDTH, WIDTH) });
                        }
                    }
                }
            }

            /// # Safety
            /// The machine has the instruction set.
            $(#[target_feature(enable = $feature)])?
            unsafe fn reduced<const D: usize>(
                f: &Field<'_>,
                row: usize,
                behind: &mut dyn FnMut(usize, &Sums<T>),
            ) -> Sums<ROW> {
                solvers::reduced::<$vector, D>(f, row, &mut |base, sums| behind(base, sums))
            }
        }
    )*};
}

entries! {
    scalar, f64, 3;
    #[cfg(target_arch = "x86_64")]
    scalar_fma, f64, 3, "fma";
    #[cfg(target_arch = "x86_64")]
    avx2, trisolar_simd::F64x4, 2, "avx2,fma";
    #[cfg(target_arch = "x86_64")]
    avx512, trisolar_simd::F64x8, 2, "avx512f";
    #[cfg(target_arch = "aarch64")]
    neon, trisolar_simd::F64x2, 2, "neon";
    single, f32, 3;
    #[cfg(target_arch = "x86_64")]
    single_avx2, trisolar_simd::F32x8, 3, "avx2,fma";
    #[cfg(target_arch = "aarch64")]
    single_neon, trisolar_simd::F32x4, 3, "neon";
    double, FloatFloat<f32>, 3;
    #[cfg(target_arch = "x86_64")]
    double_avx2, FloatFloat<trisolar_simd::F32x8>, 3, "avx2,fma";
    #[cfg(target_arch = "aarch64")]
    double_neon, FloatFloat<trisolar_simd::F32x4>, 3, "neon";
}
