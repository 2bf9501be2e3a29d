//! The solvers compiled for each instruction set.

use super::solvers::{self, Field, ROW, Sums, T};
use super::team::Shared;
use super::vector::Vector;

/// [`solvers::basic`] for a number of bodies from one on, in lanes.
pub(super) type BasicEntry = unsafe fn(&Field<'_>, usize, usize, &[Shared<'_>; 3]);
/// [`solvers::reduced`] of a row, in lanes.
pub(super) type ReducedEntry =
    unsafe fn(&Field<'_>, usize, &mut dyn FnMut(usize, &Sums<T>)) -> Sums<ROW>;

/// The solvers in one instruction set, in two and three dimensions.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub basic: [BasicEntry; 2],
    pub reduced: [ReducedEntry; 2],
    /// Bodies that [`basic`](Self::basic) takes side by side.
    pub width: usize,
}

macro_rules! entries {
    ($($(#[$cfg:meta])* $name:ident, $vector:ty $(, $feature:literal)?;)*) => {$(
        $(#[$cfg])*
        pub(super) mod $name {
            use super::{Entries, Field, ROW, Shared, Sums, T, Vector, solvers};

            pub(in super::super) const LANES: Entries = Entries {
                basic: [basic::<2>, basic::<3>],
                reduced: [reduced::<2>, reduced::<3>],
                width: solvers::TOGETHER * <$vector>::WIDTH,
            };

            /// # Safety
            /// The machine has the instruction set, and nobody else uses the bodies' places in `out`.
            $(#[target_feature(enable = $feature)])?
            #[allow(unused_unsafe)]
            unsafe fn basic<const D: usize>(
                f: &Field<'_>,
                first: usize,
                count: usize,
                out: &[Shared<'_>; 3],
            ) {
                const WIDTH: usize = <$vector>::WIDTH;
                for i in (first..first + count).step_by(solvers::TOGETHER * WIDTH) {
                    let sums = solvers::basic::<$vector, D>(f, i);
                    for (k, a) in sums.into_iter().enumerate() {
                        for (out, a) in out.iter().zip(a) {
                            // SAFETY: the caller's promise.
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
    scalar, f64;
    #[cfg(target_arch = "x86_64")]
    avx2, crate::simd::F64x4, "avx2,fma";
    #[cfg(target_arch = "x86_64")]
    avx512, crate::simd::F64x8, "avx512f";
}
