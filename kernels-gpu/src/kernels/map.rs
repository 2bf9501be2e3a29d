//! Maps: the value of every pixel, computed by threads that fetch the next pixel when theirs is done. Each row of
//! [`methods`](crate::methods) has one entry point, and a second one if masses that are the same for all pixels are faster.

use cuda_std::prelude::*;

use crate::device::fetch::{self, MassiveThread, Ring, Shared, Starts, Thread};
use crate::integrator::{self, Integrator};
use crate::map::{Job, Point};
use crate::quantity::{self, Quantity};

/// The entry points of a row of [`methods`](crate::methods). Twins with steps of their own keep what the loop over stages does not need in
/// local memory, so that more threads are resident.
macro_rules! entries {
    // Not so in double-double, where one state of a system fills the registers.
    ([] Divergence $q:ident, $integrator:ident $i:ident, $precision:tt double_double, $($rest:tt)*) => {
        entries! { [kernel] Divergence $q, $integrator $i, $precision double_double, $($rest)* }
    };
    ([] Divergence $q:ident, Regularised2 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised2 $($rest)* }
    };
    ([] Divergence $q:ident, Regularised6 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised6 $($rest)* }
    };
    ([] Divergence $q:ident, Regularised8 $($rest:tt)*) => {
        entries! { [kernel(max_registers = 128)] Divergence $q, Regularised8 $($rest)* }
    };
    ([] $($row:tt)*) => {
        entries! { [kernel] $($row)* }
    };
    (
        $kernel:tt $quantity:ident $q:ident, $integrator:ident $i:ident, {$precision:ty} $p:ident,
        $($uniform:ident)?
    ) => {
        pastey::paste! {
            #[doc = concat!("[`map`](fetch::map): ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
            ///
            /// # Safety
            /// The same as for [`map`](fetch::map).
            #$kernel
            pub unsafe fn [<map_ $q _ $i _ $p>](
                job: Job,
                slice_ns: u64,
                ring: Ring<<quantity::$quantity as Quantity>::Value>,
                threads: *mut MassiveThread<
                    quantity::$quantity,
                    <integrator::$integrator as Integrator>::OnMaps,
                    $precision,
                >,
                shared: *const Shared,
                starts: Starts,
            ) {
                // SAFETY: the caller guarantees this.
                unsafe { fetch::map(&job, slice_ns, &ring, threads, shared, starts) };
            }

            $(
                #[doc = concat!("[`map_uniform`](fetch::map_uniform): ", stringify!($q), ", ", stringify!($i), ", ", stringify!($p), ".")]
                ///
                /// # Safety
                /// The same as for [`map_uniform`](fetch::map_uniform).
                #$kernel
                pub unsafe fn [<map_ $uniform _ $q _ $i _ $p>](
                    job: Job,
                    slice_ns: u64,
                    ring: Ring<<quantity::$quantity as Quantity>::Value>,
                    threads: *mut Thread<
                        quantity::$quantity,
                        <integrator::$integrator as Integrator>::OnMaps,
                        $precision,
                    >,
                    shared: *const Shared,
                    points: *const Point,
                ) {
                    // SAFETY: the caller guarantees this.
                    unsafe { fetch::map_uniform(&job, slice_ns, &ring, threads, shared, points) };
                }
            )?
        }
    };
}

crate::methods!({entries} []);
