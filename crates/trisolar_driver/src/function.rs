//! Kernels, and the sizes of their grids.

use std::marker::PhantomData;

use crate::device::attributes;
use crate::error::{CudaResult, check, written};
use crate::sys;

macro_rules! size {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            /// Along x.
            pub x: u32,
            /// Along y.
            pub y: u32,
            /// Along z.
            pub z: u32,
        }

        impl $name {
            /// In one dimension.
            #[must_use]
            pub const fn x(x: u32) -> Self {
                Self::xyz(x, 1, 1)
            }

            /// In two dimensions.
            #[must_use]
            pub const fn xy(x: u32, y: u32) -> Self {
                Self::xyz(x, y, 1)
            }

            /// In three dimensions.
            #[must_use]
            pub const fn xyz(x: u32, y: u32, z: u32) -> Self {
                Self { x, y, z }
            }
        }

        impl From<u32> for $name {
            fn from(x: u32) -> Self {
                Self::x(x)
            }
        }

        impl From<(u32, u32)> for $name {
            fn from((x, y): (u32, u32)) -> Self {
                Self::xy(x, y)
            }
        }

        impl From<(u32, u32, u32)> for $name {
            fn from((x, y, z): (u32, u32, u32)) -> Self {
                Self::xyz(x, y, z)
            }
        }
    };
}

size! {
    /// The number of a grid's blocks.
    GridSize
}
size! {
    /// The number of a block's threads.
    BlockSize
}

attributes! {
    /// A property of a kernel.
    FunctionAttribute:
    MaxThreadsPerBlock = 0, "Largest number of threads per block.";
    SharedMemorySizeBytes = 1, "Bytes of static shared memory per block.";
    ConstSizeBytes = 2, "Bytes of constant memory.";
    LocalSizeBytes = 3, "Bytes of local memory per thread.";
    NumRegisters = 4, "Registers per thread.";
    PtxVersion = 5, "The architecture of the PTX, times 10.";
    BinaryVersion = 6, "The architecture of the code, times 10.";
    MaxDynamicSharedSizeBytes = 8, "Bytes of dynamic shared memory per block that a launch may ask for.";
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'a> {
    raw: sys::CUfunction,
    module: PhantomData<&'a ()>,
}

// SAFETY: the driver's functions may be used by any thread.
unsafe impl Send for Function<'_> {}
// SAFETY: as above.
unsafe impl Sync for Function<'_> {}

impl Function<'_> {
    /// The function, which must not outlive its module.
    pub(crate) fn of(raw: sys::CUfunction) -> Self {
        Self {
            raw,
            module: PhantomData,
        }
    }

    /// A property.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn get_attribute(&self, attribute: FunctionAttribute) -> CudaResult<i32> {
        // SAFETY: the function's module is loaded, and the driver writes one int.
        written(|value| unsafe { sys::cuFuncGetAttribute(value, attribute as i32, self.raw) })
    }

    /// Allows launches to ask for this much dynamic shared memory, which without this call is at most 48 KiB.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn set_max_dynamic_shared_bytes(&mut self, bytes: u32) -> CudaResult<()> {
        let attribute = FunctionAttribute::MaxDynamicSharedSizeBytes as i32;
        // SAFETY: the function's module is loaded.
        check(unsafe { sys::cuFuncSetAttribute(self.raw, attribute, bytes as i32) })
    }

    /// Blocks of this size that a multiprocessor can hold at a time.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn max_active_blocks_per_multiprocessor(
        &self,
        block_size: BlockSize,
        dynamic_shared_bytes: usize,
    ) -> CudaResult<u32> {
        let threads = (block_size.x * block_size.y * block_size.z) as i32;
        let call = |blocks: &mut i32| {
            // SAFETY: the function's module is loaded, and the driver writes one int.
            unsafe {
                sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    blocks,
                    self.raw,
                    threads,
                    dynamic_shared_bytes,
                )
            }
        };
        written(call).map(|blocks| blocks as u32)
    }

    /// The driver's handle.
    #[must_use]
    pub fn to_raw(&self) -> sys::CUfunction {
        self.raw
    }
}
