//! The parameters that the kernels of whole block steps share.

/// A kernel with the fields of [`State`](crate::device::hermite::problem::State) as parameters, in the place of `at: State`. The compiler knows
/// that a pointer parameter points to global memory, but not that a pointer in a structure does. `everywhere` is null.
macro_rules! kernel_at_state {
    (
        $(#[$attribute:meta])*
        pub unsafe fn $name:ident[$($generics:tt)*]($job:ident: $problem:ty, $at:ident: State, $($more:tt)*) $body:block
    ) => {
        $(#[$attribute])*
        pub unsafe fn $name<$($generics)*>(
            $job: $problem,
            stars: *mut f64,
            rest: *mut f64,
            moved: *mut f64,
            predicted: *mut f64,
            active: *mut u32,
            forces: *mut f64,
            partial: *mut f64,
            levels: *const core::sync::atomic::AtomicU32,
            control: *const core::sync::atomic::AtomicU32,
            report: *const core::sync::atomic::AtomicU64,
            $($more)*
        ) {
            let $at = crate::device::hermite::problem::State {
                stars,
                rest,
                moved,
                predicted,
                active,
                forces,
                partial,
                levels,
                control,
                report,
                everywhere: core::ptr::null(),
            };
            $body
        }
    };
}
pub(super) use kernel_at_state;
