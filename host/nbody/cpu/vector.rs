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
                    // No `map`: it would not be inlined into a function with this instruction set.
                    let mut w = r2;
                    if Self::all_ordinary(&r2) {
                        for k in 0..K {
                            w[k] = inv_cube::ordinary(r2[k]);
                        }
                    } else {
                        for k in 0..K {
                            w[k] = $slow(r2[k]);
                        }
                    }
                    w
                }
            }

            /// Weights among which some are not ordinary: mostly those of a body with itself.
            #[cold]
            #[inline(always)]
            fn $slow(r2: $name) -> $name {
                let given = r2.to_array();
                let filled = $name::from_array(given.map(|x| if x == 0.0 { 1.0 } else { x }));
                if $name::all_ordinary(&[filled]) {
                    let mut w = inv_cube::ordinary(filled).to_array();
                    for (w, given) in w.iter_mut().zip(given) {
                        if given == 0.0 {
                            *w = 0.0;
                        }
                    }
                    $name::from_array(w)
                } else {
                    $name::from_array(given.map(Pull::weight))
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
