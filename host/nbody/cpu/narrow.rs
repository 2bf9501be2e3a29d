//! Vectors of `f32` and of float-float numbers for the solvers. Planes stay `f64`: they hold numbers that the narrower type
//! has exactly, and sums of rows, which are rounded to it when they are next used.

use core::ops::{Add, Mul, Neg, Sub};

use kernels_gpu::Real;
use kernels_gpu::nbody::Pull;
use kernels_gpu::number::FloatFloat;

use super::solvers::TOGETHER;
use super::vector::Vector;

/// A [`Real`] that bodies are met in. r² must not be 0: the softening has a
/// [floor](kernels_gpu::nbody::scalar::softening_floor_f32).
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow<R>(pub R);

impl<R: Real> Add for Narrow<R> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}

impl<R: Real> Sub for Narrow<R> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}

impl<R: Real> Mul for Narrow<R> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(self.0 * o.0)
    }
}

impl<R: Real> Neg for Narrow<R> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<R: Real> Pull for Narrow<R> {
    const TOGETHER: bool = true;

    #[inline(always)]
    fn zero() -> Self {
        Self(R::from_f64(0.0))
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self(self.0.mul_add(a.0, b.0))
    }

    #[inline(always)]
    fn weight(self) -> Self {
        Self(self.0.inv_cube())
    }
}

/// `f32` numbers side by side that can be had one by one.
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

#[cfg(target_arch = "x86_64")]
impl Singles for crate::simd::F32x8 {
    const COUNT: usize = 8;

    #[inline(always)]
    fn put(from: &[f32]) -> Self {
        let mut a = [0.0; 8];
        a.copy_from_slice(&from[..8]);
        Self::from_array(a)
    }

    #[inline(always)]
    fn get(self, to: &mut [f32]) {
        to[..8].copy_from_slice(&self.to_array());
    }
}

/// Numbers side by side at most.
const MOST: usize = 8;

macro_rules! vector_of_singles {
    ($($single:ty),*) => {$(
        impl Vector for Narrow<$single> {
            const WIDTH: usize = <$single as Singles>::COUNT;
            const FEW_REGISTERS: bool = true;
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
                Self(<$single as Real>::from_f64(x))
            }

            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let mut a = [0.0; MOST];
                for (a, x) in a.iter_mut().zip(&from[..Self::WIDTH]) {
                    *a = *x as f32;
                }
                Self(<$single>::put(&a))
            }

            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                let mut a = [0.0; MOST];
                self.0.get(&mut a);
                for (x, a) in to[..Self::WIDTH].iter_mut().zip(a) {
                    *x = f64::from(a);
                }
            }
        }

        impl Vector for Narrow<FloatFloat<$single>> {
            const WIDTH: usize = <$single as Singles>::COUNT;
            // Their sums are in memory anyway.
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
                Self(FloatFloat::from_f64(x))
            }

            #[inline(always)]
            fn load(from: &[f64]) -> Self {
                let (mut high, mut low) = ([0.0; MOST], [0.0; MOST]);
                for ((high, low), x) in high.iter_mut().zip(&mut low).zip(&from[..Self::WIDTH]) {
                    *high = *x as f32;
                    *low = (*x - f64::from(*high)) as f32;
                }
                Self(FloatFloat::from_parts(<$single>::put(&high), <$single>::put(&low)))
            }

            #[inline(always)]
            fn store(self, to: &mut [f64]) {
                let (mut high, mut low) = ([0.0; MOST], [0.0; MOST]);
                let parts = self.0.parts();
                parts.0.get(&mut high);
                parts.1.get(&mut low);
                for ((x, high), low) in to[..Self::WIDTH].iter_mut().zip(high).zip(low) {
                    *x = f64::from(high) + f64::from(low);
                }
            }
        }
    )*};
}

vector_of_singles!(f32);
#[cfg(target_arch = "x86_64")]
vector_of_singles!(crate::simd::F32x8);
