//! What the solvers need of a vector of `f64` beyond the arithmetic of a pair: loads, stores, and the pull of a
//! body on itself, in lanes.

use kernels_gpu::nbody::Pull;

/// Lanes of `f64` that are loaded from and stored to slices.
pub(super) trait Vector: Pull {
    /// Lanes.
    const WIDTH: usize;
    /// `x` in every lane.
    fn splat(x: f64) -> Self;
    /// The first [`WIDTH`](Self::WIDTH) numbers of a slice.
    fn load(from: &[f64]) -> Self;
    /// Into the first [`WIDTH`](Self::WIDTH) numbers of a slice.
    fn store(self, to: &mut [f64]);
}

impl Vector for f64 {
    const WIDTH: usize = 1;

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

    use super::{Pull, Vector};
    use crate::simd::{F64x4, F64x8};

    macro_rules! vector {
        ($($name:ident, $n:literal, $slow:ident;)*) => {$(
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
                    // Mostly those of a body with itself: r² = 0. (No `map`: it would not be inlined into a function with this
                    // instruction set.)
                    let mut filled = r2;
                    for k in 0..K {
                        filled[k] = r2[k].zero_to_one();
                    }
                    if let Some(mut w) = Self::ordinary_weights(filled) {
                        for k in 0..K {
                            w[k] = w[k].zero_where_zero(r2[k]);
                        }
                        return w;
                    }
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
            }

            impl $name {
                /// Weights if all r² are ordinary.
                #[inline(always)]
                fn ordinary_weights<const K: usize>(r2: [Self; K]) -> Option<[Self; K]> {
                    if K % 2 == 0 {
                        return Self::ordinary_pairs(r2);
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
        F64x4, 4, slow4;
        F64x8, 8, slow8;
    }
}
