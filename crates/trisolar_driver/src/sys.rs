//! The functions of the driver that this crate calls, with the types and constants of NVIDIA's driver API.
//!
//! `libcuda_lazy` defines their symbols and finds the functions at run time.
#![allow(missing_docs, non_snake_case, non_camel_case_types)]

use std::ffi::{c_char, c_int, c_uint, c_void};

pub type CUresult = c_uint;
pub type CUdevice = c_int;
pub type CUcontext = *mut c_void;
pub type CUmodule = *mut c_void;
pub type CUfunction = *mut c_void;
pub type CUstream = *mut c_void;
pub type CUevent = *mut c_void;
pub type CUdeviceptr = u64;

/// Results of calls that callers of this module compare with.
pub mod cudaError_enum {
    pub const CUDA_SUCCESS: u32 = 0;
    pub const CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
    pub const CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: u32 = 720;
}

/// Attributes of devices that have no variant of [`DeviceAttribute`](crate::device::DeviceAttribute).
pub mod CUdevice_attribute_enum {
    pub const CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: i32 = 95;
}

/// Attributes of functions that have no variant of [`FunctionAttribute`](crate::function::FunctionAttribute) in cust.
pub mod CUfunction_attribute_enum {
    pub const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: i32 = 8;
}

/// Options of the driver's compiler that have no variant of [`ModuleJitOption`](crate::module::ModuleJitOption).
pub mod CUjit_option_enum {
    pub const CU_JIT_ERROR_LOG_BUFFER: i32 = 5;
    pub const CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: i32 = 6;
}

/// The kinds of memory of a two-dimensional copy.
pub mod CUmemorytype_enum {
    pub const CU_MEMORYTYPE_HOST: u32 = 1;
    pub const CU_MEMORYTYPE_DEVICE: u32 = 2;
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUuuid {
    pub bytes: [u8; 16],
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: c_uint,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: *mut c_void,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: c_uint,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: *mut c_void,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

macro_rules! functions {
    ($($name:ident = $symbol:literal ($($arg:ident: $ty:ty),*);)*) => {
        unsafe extern "C" {
            $(#[link_name = $symbol] pub fn $name($($arg: $ty),*) -> CUresult;)*
        }
        /// The symbols of all functions above.
        #[cfg(test)]
        pub const SYMBOLS: &[&str] = &[$($symbol),*];
    };
}

functions! {
    cuInit = "cuInit" (flags: c_uint);
    cuDriverGetVersion = "cuDriverGetVersion" (version: *mut c_int);
    cuDeviceGetCount = "cuDeviceGetCount" (count: *mut c_int);
    cuDeviceGet = "cuDeviceGet" (device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName = "cuDeviceGetName" (name: *mut c_char, length: c_int, device: CUdevice);
    cuDeviceGetUuid = "cuDeviceGetUuid" (uuid: *mut CUuuid, device: CUdevice);
    cuDeviceTotalMem = "cuDeviceTotalMem_v2" (bytes: *mut usize, device: CUdevice);
    cuDeviceGetAttribute = "cuDeviceGetAttribute" (value: *mut c_int, attribute: c_int, device: CUdevice);
    cuDeviceCanAccessPeer = "cuDeviceCanAccessPeer" (can: *mut c_int, device: CUdevice, peer: CUdevice);
    cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain" (context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease_v2" (device: CUdevice);
    cuCtxSetCurrent = "cuCtxSetCurrent" (context: CUcontext);
    cuCtxSynchronize = "cuCtxSynchronize" ();
    cuCtxGetDevice = "cuCtxGetDevice" (device: *mut CUdevice);
    cuCtxSetLimit = "cuCtxSetLimit" (limit: c_int, value: usize);
    cuCtxGetLimit = "cuCtxGetLimit" (value: *mut usize, limit: c_int);
    cuCtxEnablePeerAccess = "cuCtxEnablePeerAccess" (peer: CUcontext, flags: c_uint);
    cuModuleLoadDataEx = "cuModuleLoadDataEx" (module: *mut CUmodule, image: *const c_void, options: c_uint, names: *mut c_int, values: *mut *mut c_void);
    cuModuleUnload = "cuModuleUnload" (module: CUmodule);
    cuModuleGetFunction = "cuModuleGetFunction" (function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleGetGlobal = "cuModuleGetGlobal_v2" (address: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char);
    cuFuncGetAttribute = "cuFuncGetAttribute" (value: *mut c_int, attribute: c_int, function: CUfunction);
    cuFuncSetAttribute = "cuFuncSetAttribute" (function: CUfunction, attribute: c_int, value: c_int);
    cuOccupancyMaxActiveBlocksPerMultiprocessor = "cuOccupancyMaxActiveBlocksPerMultiprocessor" (blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize);
    cuLaunchKernel = "cuLaunchKernel" (function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    cuLaunchCooperativeKernel = "cuLaunchCooperativeKernel" (function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, arguments: *mut *mut c_void);
    cuStreamCreateWithPriority = "cuStreamCreateWithPriority" (stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamSynchronize = "cuStreamSynchronize" (stream: CUstream);
    cuStreamWaitEvent = "cuStreamWaitEvent" (stream: CUstream, event: CUevent, flags: c_uint);
    cuStreamDestroy = "cuStreamDestroy_v2" (stream: CUstream);
    cuEventCreate = "cuEventCreate" (event: *mut CUevent, flags: c_uint);
    cuEventRecord = "cuEventRecord" (event: CUevent, stream: CUstream);
    cuEventQuery = "cuEventQuery" (event: CUevent);
    cuEventSynchronize = "cuEventSynchronize" (event: CUevent);
    cuEventElapsedTime = "cuEventElapsedTime" (milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuEventDestroy = "cuEventDestroy_v2" (event: CUevent);
    cuMemGetInfo = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    cuMemAlloc = "cuMemAlloc_v2" (address: *mut CUdeviceptr, bytes: usize);
    cuMemAllocPitch = "cuMemAllocPitch_v2" (address: *mut CUdeviceptr, pitch: *mut usize, width: usize, height: usize, element: c_uint);
    cuMemFree = "cuMemFree_v2" (address: CUdeviceptr);
    cuMemAllocHost = "cuMemAllocHost_v2" (address: *mut *mut c_void, bytes: usize);
    cuMemFreeHost = "cuMemFreeHost" (address: *mut c_void);
    cuMemcpyHtoD = "cuMemcpyHtoD_v2" (to: CUdeviceptr, from: *const c_void, bytes: usize);
    cuMemcpyDtoH = "cuMemcpyDtoH_v2" (to: *mut c_void, from: CUdeviceptr, bytes: usize);
    cuMemcpyDtoD = "cuMemcpyDtoD_v2" (to: CUdeviceptr, from: CUdeviceptr, bytes: usize);
    cuMemcpyHtoDAsync = "cuMemcpyHtoDAsync_v2" (to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync = "cuMemcpyDtoHAsync_v2" (to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyDtoDAsync = "cuMemcpyDtoDAsync_v2" (to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpyPeerAsync = "cuMemcpyPeerAsync" (to: CUdeviceptr, to_context: CUcontext, from: CUdeviceptr, from_context: CUcontext, bytes: usize, stream: CUstream);
    cuMemcpy2D = "cuMemcpy2D_v2" (copy: *const CUDA_MEMCPY2D);
    cuMemcpy2DAsync = "cuMemcpy2DAsync_v2" (copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemsetD8 = "cuMemsetD8_v2" (to: CUdeviceptr, byte: u8, count: usize);
    cuMemsetD8Async = "cuMemsetD8Async" (to: CUdeviceptr, byte: u8, count: usize, stream: CUstream);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_function_has_a_symbol_that_is_bound_at_run_time() {
        for symbol in super::SYMBOLS {
            assert!(libcuda_lazy::SYMBOLS.contains(symbol), "{symbol}");
        }
    }
}
