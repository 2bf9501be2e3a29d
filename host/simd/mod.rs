//! Vectors of `f64` and `f32` as a [`Real`](kernels_gpu::Real): the physics, several numbers at a time. Which instruction set is used
//! is decided at run time; every one gives the same bits.

use std::fmt;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx2_single;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
#[cfg(target_arch = "x86_64")]
mod avx512_single;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes_single;

#[cfg(target_arch = "x86_64")]
pub use avx2::F64x4;
#[cfg(target_arch = "x86_64")]
pub use avx2_single::F32x8;
#[cfg(target_arch = "x86_64")]
pub use avx512::F64x8;
#[cfg(target_arch = "x86_64")]
pub use avx512_single::F32x16;

/// An instruction set that the CPU engines have lanes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simd {
    /// One number at a time, for any machine.
    Scalar,
    /// 4 lanes; AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 8 lanes; AVX-512 F.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Simd {
    /// All that this machine can run, slowest first.
    pub fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut list = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                list.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f") {
                list.push(Self::Avx512);
            }
        }
        list
    }

    /// The fastest that this machine can run.
    pub fn best() -> Self {
        *Self::available()
            .last()
            .expect("the scalar one is always there")
    }

    /// Numbers side by side.
    pub fn lanes(self) -> usize {
        match self {
            Self::Scalar => 1,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 4,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 8,
        }
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar if has_fma() => "scalar",
            Self::Scalar => "scalar, software fused multiply-add (slow)",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "AVX-512",
        })
    }
}

/// Whether the machine has a fused multiply-add instruction. Without it results are the same, but slow to come.
pub fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}
