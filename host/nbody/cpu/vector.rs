//! What the solvers need of a vector of `f64` beyond the arithmetic of a pair: loads, stores, and the pull of a
//! body on itself, in lanes.

use kernels_gpu::nbody::Pull;

use super::solvers::TOGETHER;

/// Lanes of `f64` that are loaded from and stored to slices.
pub(super) trait Vector: Pull {
    /// Lanes.
    const WIDTH: usize;
    /// Whether the sums of [`TOGETHER`] vectors would take most of the registers from the weights.
    const FEW_REGISTERS: bool;
    /// Whether separations are computed again when the pulls are added, instead of kept from when their squares were: where they do
    /// not fit into the registers, and subtractions are cheaper than stores.
    const SEPARATIONS_AGAIN: bool;
    /// [`weights`](Pull::weights) of r² among which some zeros are expected: those of bodies with themselves.
    #[inline(always)]
    fn weights_of_some_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
        Self::weights(r2)
    }
    /// [`weights`](Pull::weights) that have been begun.
    type Begun: Copy;
    /// Begins the weights of these r²: the half of the work in which each instruction waits for the one before.
    fn begin(r2: &[Self; TOGETHER]) -> Self::Begun;
    /// Ends what was begun with these r².
    fn end(r2: &[Self; TOGETHER], begun: Self::Begun) -> [Self; TOGETHER];
    /// `x` in every lane.
    fn splat(x: f64) -> Self;
    /// The first [`WIDTH`](Self::WIDTH) numbers of a slice.
    fn load(from: &[f64]) -> Self;
    /// Into the first [`WIDTH`](Self::WIDTH) numbers of a slice.
    fn store(self, to: &mut [f64]);
}

impl Vector for f64 {
    const WIDTH: usize = 1;
    const FEW_REGISTERS: bool = false;
    const SEPARATIONS_AGAIN: bool = false;
    type Begun = ();

    #[inline(always)]
    fn begin(_: &[Self; TOGETHER]) {}

    #[inline(always)]
    fn end(r2: &[Self; TOGETHER], (): ()) -> [Self; TOGETHER] {
        Self::weights(*r2)
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        x
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

#[cfg(target_arch = "x86_64")]
mod lanes {
    use kernels_gpu::{Real, inv_cube};

    use super::super::solvers::TOGETHER;
    use super::{Pull, Vector};
    use crate::simd::{F64x4, F64x8};

    macro_rules! vector {
        ($($name:ident, $n:literal, $slow:ident, $module:ident;)*) => {$(
            impl Pull for $name {
                const TOGETHER: bool = true;

                #[inline(always)]
                fn zero() -> Self {
                    Self::from_f64(0.0)
                }

                #[inline(always)]
                fn mul_add(self, a: Self, b: Self) -> Self {
                    Real::mul_add(self, a, b)
                }

                #[inline(always)]
                fn weight(self) -> Self {
                    Self::weights([self])[0]
                }

                #[inline(always)]
                fn weights<const K: usize>(r2: [Self; K]) -> [Self; K] {
                    if let Some(w) = Self::ordinary_weights(r2) {
                        return w;
                    }
                    Self::slow_weights(r2)
                }
            }

            impl $name {
                /// Weights of any r².
                #[inline(always)]
                fn slow_weights<const K: usize>(r2: [Self; K]) -> [Self; K] {
                    let mut w = [[0.0; $n]; K];
                    for k in 0..K {
                        w[k] = r2[k].to_array();
                        $slow(&mut w[k]);
                    }
                    let mut weights = r2;
                    for k in 0..K {
                        weights[k] = Self::from_array(w[k]);
                    }
                    weights
                }

                /// Weights if all r² are ordinary.
                #[inline(always)]
                fn ordinary_weights<const K: usize>(r2: [Self; K]) -> Option<[Self; K]> {
                    match K {
                        2 => return Self::ordinary_pairs::<K, 1>(r2),
                        4 => return Self::ordinary_pairs::<K, 2>(r2),
                        8 => return Self::ordinary_pairs::<K, 4>(r2),
                        _ => {}
                    }
                    if !Self::all_ordinary(&r2) {
                        return None;
                    }
                    let mut w = r2;
                    for k in 0..K {
                        w[k] = inv_cube::ordinary(r2[k]);
                    }
                    Some(w)
                }
            }

            /// Weights among which some are very large or small. Through memory, so that the way that is always taken keeps to
            /// registers.
            #[cold]
            #[inline(never)]
            fn $slow(r2: &mut [f64; $n]) {
                for x in r2 {
                    *x = x.weight();
                }
            }

            impl Vector for $name {
                const WIDTH: usize = $n;
                // 16 of 4 lanes, 32 of 8.
                const FEW_REGISTERS: bool = $n == 4;
                // Stores of 8 lanes take two cycles; of 4 lanes one, and keeping is faster.
                const SEPARATIONS_AGAIN: bool = $n == 8;

                #[inline(always)]
                fn weights_of_some_zero<const K: usize>(r2: [Self; K]) -> [Self; K] {
                    // (No `map`: it would not be inlined into a function with this instruction set.)
                    let mut filled = r2;
                    for k in 0..K {
                        filled[k] = r2[k].zero_to_one();
                    }
                    let Some(mut w) = Self::ordinary_weights(filled) else {
                        return Self::slow_weights(r2);
                    };
                    for k in 0..K {
                        w[k] = w[k].zero_where_zero(r2[k]);
                    }
                    w
                }

                type Begun = crate::simd::$module::Begun;

                #[inline(always)]
                fn begin(r2: &[Self; TOGETHER]) -> Self::Begun {
                    $name::begin(r2)
                }

                #[inline(always)]
                fn end(r2: &[Self; TOGETHER], begun: Self::Begun) -> [Self; TOGETHER] {
                    if !begun.all_ordinary {
                        return Self::slow_weights(*r2);
                    }
                    $name::end(r2, &begun)
                }

                #[inline(always)]
                fn splat(x: f64) -> Self {
                    Self::from_f64(x)
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

    vector! {
        F64x4, 4, slow4, avx2;
        F64x8, 8, slow8, avx512;
    }
}
