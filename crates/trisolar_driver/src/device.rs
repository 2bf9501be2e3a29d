//! Devices and their properties.

use std::ffi::CStr;

use crate::error::{CudaResult, check, written};
use crate::sys;

macro_rules! attributes {
    ($(#[$doc:meta])* $kind:ident: $($name:ident = $code:literal, $words:literal;)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        #[non_exhaustive]
        pub enum $kind {
            $(#[doc = $words] $name = $code,)*
        }
    };
}
pub(crate) use attributes;

attributes! {
    /// A property of a device that is a number.
    DeviceAttribute:
    MaxThreadsPerBlock = 1, "Threads per block.";
    MaxBlockDimX = 2, "Threads per block along x.";
    MaxBlockDimY = 3, "Threads per block along y.";
    MaxBlockDimZ = 4, "Threads per block along z.";
    MaxGridDimX = 5, "Blocks per grid along x.";
    MaxGridDimY = 6, "Blocks per grid along y.";
    MaxGridDimZ = 7, "Blocks per grid along z.";
    MaxSharedMemoryPerBlock = 8, "Bytes of shared memory per block without opting in to more.";
    TotalConstantMemory = 9, "Bytes of constant memory.";
    WarpSize = 10, "Threads per warp.";
    MaxPitch = 11, "Largest pitch of a two-dimensional copy in bytes.";
    MaxRegistersPerBlock = 12, "32-bit registers per block.";
    ClockRate = 13, "Highest clock in kHz.";
    MultiprocessorCount = 16, "Multiprocessors.";
    KernelExecTimeout = 17, "Whether kernels have a time limit.";
    Integrated = 18, "Whether the device shares the host's memory.";
    CanMapHostMemory = 19, "Whether kernels can access mapped memory of the host.";
    ComputeMode = 20, "The compute mode.";
    ConcurrentKernels = 31, "Whether several kernels can run at a time.";
    EccEnabled = 32, "Whether memory errors are corrected.";
    PciBusId = 33, "The bus on PCI.";
    PciDeviceId = 34, "The device on its PCI bus.";
    TccDriver = 35, "Whether the driver is one without graphics.";
    MemoryClockRate = 36, "Highest clock of the memory in kHz.";
    GlobalMemoryBusWidth = 37, "Width of the memory's bus in bits.";
    L2CacheSize = 38, "Bytes of the second-level cache.";
    MaxThreadsPerMultiprocessor = 39, "Resident threads per multiprocessor.";
    AsyncEngineCount = 40, "Copies that can run beside kernels.";
    UnifiedAddressing = 41, "Whether host and devices share an address space.";
    PciDomainId = 50, "The PCI domain.";
    ComputeCapabilityMajor = 75, "First part of the compute capability.";
    ComputeCapabilityMinor = 76, "Second part of the compute capability.";
    MaxSharedMemoryPerMultiprocessor = 81, "Bytes of shared memory per multiprocessor.";
    MaxRegistersPerMultiprocessor = 82, "32-bit registers per multiprocessor.";
    ManagedMemory = 83, "Whether managed memory is supported.";
    CooperativeLaunch = 95, "Whether cooperative launches are supported.";
    MaxSharedMemoryPerBlockOptin = 97, "Bytes of shared memory per block for kernels that opt in.";
}

/// A GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device(sys::CUdevice);

impl Device {
    /// The number of devices.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError), as for all functions of this crate.
    pub fn num_devices() -> CudaResult<u32> {
        // SAFETY: the driver writes one int.
        written(|count: &mut i32| unsafe { sys::cuDeviceGetCount(count) }).map(|count| count as u32)
    }

    /// The device of this number, in the driver's order.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn get_device(ordinal: u32) -> CudaResult<Self> {
        // SAFETY: the driver writes one device.
        written(|device| unsafe { sys::cuDeviceGet(device, ordinal as i32) }).map(Self)
    }

    /// All devices.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn devices() -> CudaResult<impl Iterator<Item = CudaResult<Self>>> {
        Ok((0..Self::num_devices()?).map(Self::get_device))
    }

    /// Its name.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn name(self) -> CudaResult<String> {
        let mut name = [0_u8; 256];
        // SAFETY: the driver writes at most as many bytes as there are, the last of which is 0.
        check(unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, self.0)
        })?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// The 16 bytes that identify this GPU, the same in every process and every machine.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: the driver writes 16 bytes.
        check(unsafe { sys::cuDeviceGetUuid(&raw mut uuid, self.0) })?;
        Ok(uuid.bytes)
    }

    /// Bytes of memory.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn total_memory(self) -> CudaResult<usize> {
        // SAFETY: the driver writes one number.
        written(|bytes| unsafe { sys::cuDeviceTotalMem(bytes, self.0) })
    }

    /// A property.
    ///
    /// # Errors
    /// [`CudaError`](crate::error::CudaError).
    pub fn get_attribute(self, attribute: DeviceAttribute) -> CudaResult<i32> {
        // SAFETY: the driver writes one int.
        written(|value| unsafe { sys::cuDeviceGetAttribute(value, attribute as i32, self.0) })
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_raw(self) -> sys::CUdevice {
        self.0
    }
}
