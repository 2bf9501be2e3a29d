//! The code that the `f32` lanes of all instruction sets share; built as [`lanes`](super::lanes) are, and with the
//! same conditions for every unsafe block.

macro_rules! lanes_single {
    ($(#[$doc:meta])* $name:ident, $n:literal) => {
        use core::ops::{Add, Mul, Neg, Sub};

        use kernels_gpu::number::inv_cube::{Short, inv_cube_single};
        use kernels_gpu::number::{GUESS, Single};
        use kernels_gpu::{Mask, PerLane, Real};

        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name(Register);

        /// The results of a comparison, lane by lane.
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct Holds(Answers);

        impl $name {
            /// The lanes.
            #[inline(always)]
            pub fn to_array(self) -> [f32; $n] {
                // SAFETY: same size, and every bit pattern is a number.
                unsafe { core::mem::transmute(self.0) }
            }

            /// From the lanes.
            #[inline(always)]
            pub fn from_array(a: [f32; $n]) -> Self {
                // SAFETY: same size.
                Self(unsafe { core::mem::transmute::<[f32; $n], Register>(a) })
            }
        }

        impl Mask for Holds {
            #[inline(always)]
            fn all(self) -> bool {
                // SAFETY: see `lanes`.
                unsafe { bits(self.0) == (1 << $n) - 1 }
            }
            #[inline(always)]
            fn lane(self, lane: usize) -> bool {
                // SAFETY: see `lanes`.
                unsafe { bits(self.0) >> lane & 1 == 1 }
            }
        }

        impl Short for $name {
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { set1_ps(x) })
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { fmadd_ps(self.0, a.0, b.0) })
            }
        }

        impl Single for $name {
            type Alone = f32;

            #[inline(always)]
            fn guess_root(self) -> Self {
                // SAFETY: see `lanes`.
                unsafe {
                    let half = srli_epi32::<1>(castps_int(self.0));
                    Self(castint_ps(sub_epi32(set1_epi32(GUESS as i32), half)))
                }
            }
        }

        impl PerLane for $name {
            type One = f32;

            #[inline(always)]
            fn spread(one: &f32) -> Self {
                Self::from_f32(*one)
            }

            #[inline(always)]
            fn lane(&self, lane: usize) -> f32 {
                self.to_array()[lane]
            }

            #[inline(always)]
            fn set_lane(&mut self, lane: usize, from: &Self) {
                let mut a = self.to_array();
                a[lane] = from.to_array()[lane];
                *self = Self::from_array(a);
            }
        }

        impl Real for $name {
            type Lane = f32;
            const LANES: usize = $n;
            const TOGETHER: bool = true;
            const HAS_SOFTENING_FLOOR: bool = true;
            type Mask = Holds;
            kernels_gpu::own_constants_and_forces!($n);

            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                Self::from_f32(x as f32)
            }

            #[inline(always)]
            fn to_f64(self, lane: usize) -> f64 {
                f64::from(self.lane(lane))
            }

            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                Short::mul_add(self, a, b)
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> Holds {
                // SAFETY: see `lanes`.
                Holds(unsafe { at_most_raw(self.0, other.0) })
            }

            #[inline(always)]
            fn select(mask: Holds, yes: Self, no: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { select_raw(mask.0, yes.0, no.0) })
            }

            #[inline(always)]
            fn inv_cube(self) -> Self {
                inv_cube_single(self, self.guess_root())
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { add_ps(self.0, o.0) })
            }
        }

        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { sub_ps(self.0, o.0) })
            }
        }

        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                // SAFETY: see `lanes`.
                Self(unsafe { mul_ps(self.0, o.0) })
            }
        }

        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                // SAFETY: see `lanes`.
                unsafe {
                    let sign = set1_epi32(i32::MIN);
                    Self(castint_ps(xor_int(castps_int(self.0), sign)))
                }
            }
        }
    };
}

pub(super) use lanes_single;
