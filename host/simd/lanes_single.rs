//! The code that the `f32` lanes of all instruction sets share; built as [`lanes`](super::lanes) are, and with the
//! same conditions for every unsafe block.

macro_rules! lanes_single {
    ($(#[$doc:meta])* $name:ident, $n:literal) => {
        use kernels_gpu::number::inv_cube::{Short, inv_cube_single};
        use kernels_gpu::number::{GUESS, Single};
        use kernels_gpu::{PerLane, Real};

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

        crate::lanes::numbers!(
            $(#[$doc])*
            $name, $n of f32 in Register,
            add_ps sub_ps mul_ps fmadd_ps castps_int castint_ps,
            {
                const HAS_SOFTENING_FLOOR: bool = true;

                #[inline(always)]
                fn from_f64(x: f64) -> Self {
                    Self::from_f32(x as f32)
                }

                #[inline(always)]
                fn inv_cube(self) -> Self {
                    inv_cube_single(self, self.guess_root())
                }
            }
        );
    };
}

pub(super) use lanes_single;
