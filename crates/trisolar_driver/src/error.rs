//! The driver's error codes.

use crate::sys::CUresult;

/// The result of a call of the driver.
pub type CudaResult<T> = Result<T, CudaError>;

macro_rules! errors {
    ($($name:ident = $code:literal, $words:literal;)*) => {
        /// An error of the driver, by its code. Codes that have no variant here are [`UnknownError`](Self::UnknownError).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        #[repr(u32)]
        #[non_exhaustive]
        pub enum CudaError {
            $(
                #[doc = concat!("Code ", stringify!($code), ": ", $words, ".")]
                #[error($words)]
                $name = $code,
            )*
        }

        impl CudaError {
            fn of(code: CUresult) -> Self {
                match code {
                    $($code => Self::$name,)*
                    _ => Self::UnknownError,
                }
            }
        }
    };
}

errors! {
    InvalidValue = 1, "an argument is out of range";
    OutOfMemory = 2, "out of memory";
    NotInitialized = 3, "the driver has not been initialised";
    Deinitialized = 4, "the driver is shutting down";
    NoDevice = 100, "there is no NVIDIA driver or no GPU on this machine";
    InvalidDevice = 101, "there is no such device";
    InvalidImage = 200, "the kernels' image is invalid";
    InvalidContext = 201, "no context is current";
    MapFailed = 205, "memory could not be mapped";
    UnmapFailed = 206, "memory could not be unmapped";
    NoBinaryForGpu = 209, "there is no code for this GPU";
    EccUncorrectable = 214, "an uncorrectable memory error occurred";
    UnsupportedLimit = 215, "the limit is not supported";
    InvalidPtx = 218, "the PTX does not compile";
    UnsupportedPtxVersion = 222, "the PTX is too new for this driver";
    InvalidSource = 300, "the kernels' source is invalid";
    FileNotFound = 301, "a file was not found";
    InvalidHandle = 400, "a handle is invalid";
    NotFound = 500, "a name was not found";
    NotReady = 600, "the work is not finished";
    IllegalAddress = 700, "a kernel accessed an invalid address";
    LaunchOutOfResources = 701, "the launch needs more registers or shared memory than there are";
    LaunchTimeout = 702, "a kernel ran too long";
    PeerAccessAlreadyEnabled = 704, "access to the other device is already enabled";
    PeerAccessNotEnabled = 705, "access to the other device is not enabled";
    AssertError = 710, "a kernel stopped at an assertion";
    HostMemoryAlreadyRegistered = 712, "the host's memory is already registered";
    HostMemoryNotRegistered = 713, "the host's memory is not registered";
    HardwareStackError = 714, "a kernel overflowed its stack";
    IllegalInstruction = 715, "a kernel stopped at a trap or an illegal instruction";
    MisalignedAddress = 716, "a kernel accessed a misaligned address";
    InvalidAddressSpace = 717, "a kernel accessed memory of the wrong kind";
    InvalidProgramCounter = 718, "a kernel jumped to an invalid address";
    LaunchFailed = 719, "a kernel failed";
    NotPermitted = 800, "the operation is not permitted";
    NotSupported = 801, "the operation is not supported";
    UnknownError = 999, "an unknown error";
    InvalidMemoryAllocation = 100_100, "the size of an array overflows";
}

/// The result of a call that returned this code.
pub(crate) fn check(code: CUresult) -> CudaResult<()> {
    match code {
        0 => Ok(()),
        code => Err(CudaError::of(code)),
    }
}

/// The value that a call wrote.
pub(crate) fn written<T: Default>(call: impl FnOnce(&mut T) -> CUresult) -> CudaResult<T> {
    let mut value = T::default();
    check(call(&mut value))?;
    Ok(value)
}

/// The handle that a call wrote.
pub(crate) fn handle<T>(call: impl FnOnce(&mut *mut T) -> CUresult) -> CudaResult<*mut T> {
    let mut value = std::ptr::null_mut();
    check(call(&mut value))?;
    Ok(value)
}
