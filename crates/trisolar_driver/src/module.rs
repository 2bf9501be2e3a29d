//! Modules of kernels and their variables.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::ptr;

use crate::error::{CudaError, CudaResult, check, handle};
use crate::function::Function;
use crate::memory::{DeviceCopy, DevicePointer};
use crate::sys;

/// An option of the driver's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleJitOption {
    /// Largest number of registers per thread.
    MaxRegisters(u32),
    /// Optimisation level, 0 to 4.
    OptLevel(u32),
    /// Whether to keep debug information.
    GenerateDebugInfo(bool),
    /// Whether to keep the lines of the source.
    GenerateLineInfo(bool),
}

impl ModuleJitOption {
    fn raw(self) -> (i32, usize) {
        match self {
            Self::MaxRegisters(count) => (0, count as usize),
            Self::OptLevel(level) => (7, level as usize),
            Self::GenerateDebugInfo(on) => (11, usize::from(on)),
            Self::GenerateLineInfo(on) => (13, usize::from(on)),
        }
    }
}

/// Kernels that are loaded on a device.
#[derive(Debug)]
pub struct Module(sys::CUmodule);

// SAFETY: the driver's modules may be used by any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles PTX for the current context's device.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn from_ptx(ptx: impl AsRef<str>, options: &[ModuleJitOption]) -> CudaResult<Self> {
        let text = CString::new(ptx.as_ref()).map_err(|_| CudaError::InvalidPtx)?;
        Self::load(text.as_ptr().cast(), options)
    }

    /// Loads compiled code for the current context's device.
    ///
    /// # Errors
    /// [`CudaError`].
    ///
    /// # Safety
    /// The bytes are a complete cubin or fatbin.
    pub unsafe fn from_binary(bytes: &[u8], options: &[ModuleJitOption]) -> CudaResult<Self> {
        Self::load(bytes.as_ptr().cast(), options)
    }

    fn load(image: *const c_void, options: &[ModuleJitOption]) -> CudaResult<Self> {
        let (mut names, mut values): (Vec<i32>, Vec<*mut c_void>) = (options.iter())
            .map(|option| option.raw())
            .map(|(name, value)| (name, ptr::without_provenance_mut(value)))
            .unzip();
        // SAFETY: the image is complete, and there are as many names and values as their number says.
        handle(|raw| unsafe {
            sys::cuModuleLoadDataEx(
                raw,
                image,
                names.len() as u32,
                names.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        })
        .map(Self)
    }

    /// A kernel.
    ///
    /// # Errors
    /// [`CudaError::NotFound`] if there is none of this name.
    pub fn get_function(&self, name: impl AsRef<str>) -> CudaResult<Function<'_>> {
        let name = CString::new(name.as_ref()).map_err(|_| CudaError::NotFound)?;
        // SAFETY: the module is loaded, and the name ends with a 0.
        handle(|raw| unsafe { sys::cuModuleGetFunction(raw, self.0, name.as_ptr()) })
            .map(Function::of)
    }

    /// A variable of the kernels, in global or constant memory.
    ///
    /// # Errors
    /// [`CudaError::NotFound`] if there is none of this name, [`CudaError::InvalidValue`] if its size is not that of `T`.
    pub fn get_global<T: DeviceCopy>(&self, name: &CStr) -> CudaResult<Symbol<'_, T>> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, and the driver writes two numbers.
        check(unsafe {
            sys::cuModuleGetGlobal(&raw mut address, &raw mut bytes, self.0, name.as_ptr())
        })?;
        if bytes != size_of::<T>() {
            return Err(CudaError::InvalidValue);
        }
        Ok(Symbol {
            address: DevicePointer::from_raw(address),
            module: PhantomData,
        })
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_inner(&self) -> sys::CUmodule {
        self.0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // A failure means that the device is lost.
        // SAFETY: the module is loaded, and its functions and variables do not outlive it.
        let _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}

/// A variable of a module.
#[derive(Debug)]
pub struct Symbol<'a, T: DeviceCopy> {
    address: DevicePointer<T>,
    module: PhantomData<&'a Module>,
}

impl<T: DeviceCopy> Symbol<'_, T> {
    /// Sets the variable. Kernels that are launched afterwards read this value.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn copy_from(&mut self, value: &T) -> CudaResult<()> {
        let from = ptr::from_ref(value).cast();
        // SAFETY: both sides have the size of `T`.
        check(unsafe { sys::cuMemcpyHtoD(self.address.as_raw(), from, size_of::<T>()) })
    }

    /// Reads the variable.
    ///
    /// # Errors
    /// [`CudaError`].
    pub fn copy_to(&self, value: &mut T) -> CudaResult<()> {
        let to = ptr::from_mut(value).cast();
        // SAFETY: both sides have the size of `T`, for which any bytes are valid.
        check(unsafe { sys::cuMemcpyDtoH(to, self.address.as_raw(), size_of::<T>()) })
    }

    /// Its address on the device.
    #[must_use]
    pub fn as_device_ptr(&self) -> DevicePointer<T> {
        self.address
    }
}
