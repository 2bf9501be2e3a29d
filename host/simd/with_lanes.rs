//! Loops over lanes of f64, inside functions that have the instruction set.

/// Calls `$function::<lanes, …>` inside a function that has the instruction set.
#[macro_export]
macro_rules! with_lanes {
    ($simd:expr, $call:ident [$($generic:tt)*] ($($argument:ident: $type:ty),*)) => {{
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn avx2($($argument: $type),*) {
            $call::<$crate::F64x4 $($generic)*>($($argument),*);
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn avx512($($argument: $type),*) {
            $call::<$crate::F64x8 $($generic)*>($($argument),*);
        }
        #[cfg(target_arch = "aarch64")]
        #[target_feature(enable = "neon")]
        fn neon($($argument: $type),*) {
            $call::<$crate::F64x2 $($generic)*>($($argument),*);
        }
        match $simd {
            $crate::Simd::Scalar => $call::<f64 $($generic)*>($($argument),*),
            // SAFETY: callers have only instruction sets that the machine has.
            #[cfg(target_arch = "x86_64")]
            $crate::Simd::Avx2 => unsafe { avx2($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            $crate::Simd::Avx512 => unsafe { avx512($($argument),*) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            $crate::Simd::Neon => unsafe { neon($($argument),*) },
        }
    }};
}
