//! NVIDIA's driver from Rust. The types and their methods are those of the crate `cust`, but a program needs no CUDA toolkit, no
//! driver and no environment variable to be built: the driver is found when [`init`] is called, and without one `init` fails with
//! [`CudaError::NoDevice`].
//!
//! The crate `trisolar-device` has typed launches, and an emulator for machines without a GPU, on top of it. Use this crate for what
//! `trisolar-device` does not offer: modules of your own, two-dimensional copies, constants of kernels.
//!
//! ```no_run
//! use trisolar_driver::{launch, memory::DeviceBuffer, module::Module, quick_init, stream::{Stream, StreamFlags}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let _context = quick_init()?;
//! let module = Module::from_ptx(std::fs::read_to_string("kernels.ptx")?, &[])?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//! let data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
//! // SAFETY: the kernel is `scale(by: f32, data: *mut f32, n: usize)`.
//! unsafe { launch!(module.scale<<<8, 128, 0, stream>>>(2.0_f32, data.as_device_ptr(), data.len()))? };
//! stream.synchronize()?;
//! println!("{:?}", &data.as_host_vec()?[..3]);
//! # Ok(())
//! # }
//! ```
//!
//! Differences from `cust`: [`memory::DeviceCopy`] is `cuda_std::Plain`, which glam's vectors of the kernels' version implement; and
//! graphs, linkers, managed memory and textures are missing.

pub mod context;
pub mod device;
pub mod error;
pub mod event;
pub mod function;
pub mod memory;
pub mod module;
pub mod stream;
pub mod sys;

use context::Context;
use device::Device;
use error::{CudaError, CudaResult, check, written};

/// Options of [`init`], of which there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CudaFlags(u32);

impl CudaFlags {
    /// No option.
    #[must_use]
    pub const fn empty() -> Self {
        Self(0)
    }
}

/// Finds the driver and initialises it. This must be called before anything else.
///
/// # Errors
/// [`CudaError::NoDevice`] without a driver or a GPU.
pub fn init(flags: CudaFlags) -> CudaResult<()> {
    libcuda_lazy::load().map_err(|_| CudaError::NoDevice)?;
    // SAFETY: the argument is a number.
    check(unsafe { sys::cuInit(flags.0) })
}

/// Initialises the driver and makes the context of the first device current.
///
/// # Errors
/// [`CudaError`].
pub fn quick_init() -> CudaResult<Context> {
    init(CudaFlags::empty())?;
    Context::new(Device::get_device(0)?)
}

/// A version of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaApiVersion(i32);

impl CudaApiVersion {
    /// The highest version that the driver supports.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn get() -> CudaResult<Self> {
        // SAFETY: the driver writes one int.
        written(|version| unsafe { sys::cuDriverGetVersion(version) }).map(Self)
    }

    /// The number before the point.
    #[must_use]
    pub fn major(self) -> i32 {
        self.0 / 1000
    }

    /// The number after the point.
    #[must_use]
    pub fn minor(self) -> i32 {
        self.0 % 1000 / 10
    }
}

/// Queues a kernel: `launch!(module.name<<<grid, block, shared_bytes, stream>>>(arguments…))`, or a [`function::Function`] in place of
/// `module.name`. It must be in an `unsafe` block, because nothing compares the arguments' types with the kernel's; the launches of
/// `trisolar-device` do.
#[macro_export]
macro_rules! launch {
    ($module:ident . $name:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($argument:expr),* $(,)?)) => {
        match $module.get_function(::core::stringify!($name)) {
            Ok(function) => $crate::launch!(function<<<$grid, $block, $shared, $stream>>>($($argument),*)),
            Err(error) => Err(error),
        }
    };
    ($function:ident <<<$grid:expr, $block:expr, $shared:expr, $stream:ident>>>($($argument:expr),* $(,)?)) => {
        $stream.launch(
            &$function,
            $crate::function::GridSize::from($grid),
            $crate::function::BlockSize::from($block),
            $shared,
            // The temporaries live until the driver has copied them.
            &[$((&raw const *$crate::by_reference(&$argument)).cast_mut().cast::<::core::ffi::c_void>()),*],
        )
    };
}

/// An argument of a launch, which is copied bit by bit.
#[doc(hidden)]
pub fn by_reference<T: Copy>(value: &T) -> &T {
    value
}
