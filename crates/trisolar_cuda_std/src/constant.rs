//! Constant memory: variables that the host sets and kernels read.

use core::cell::UnsafeCell;
use core::ops::Deref;

use crate::Plain;

/// A value in constant memory, which the host can set between launches and kernels read by dereferencing it.
///
/// All threads of a warp that read the same element get it at the speed of a register. The variables of a program have 64 KiB in
/// all.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::{Constant, address_space};
///
/// #[address_space(constant)]
/// pub static WEIGHTS: Constant<[f32; 3]> = Constant::new([1.0, 2.0, 1.0]);
///
/// /// # Safety
/// /// `out` is valid for a number.
/// #[kernel]
/// pub unsafe fn weigh(out: *mut f32) {
///     // SAFETY: the caller guarantees the place.
///     unsafe { *out = WEIGHTS.iter().sum() };
/// }
///
/// let mut sum = 0.0;
/// let out = &raw mut sum;
/// // SAFETY: no kernel runs at the moment, and `out` is a number.
/// unsafe {
///     WEIGHTS.set([1.0, 3.0, 1.0]);
///     cuda_std::emulator::launch(1, 1, 0, || weigh(out)).unwrap();
/// }
/// assert_eq!(sum, 5.0);
/// ```
///
/// On a GPU, `set_constant` of `trisolar-device` or `Module::get_global` with the static's name sets the value. The static's name
/// must be the only one in the program.
#[repr(transparent)]
#[derive(Debug)]
pub struct Constant<T: Plain>(UnsafeCell<T>);

// SAFETY: the value changes only in `set`, whose caller guarantees that no other thread reads it then.
unsafe impl<T: Plain + Sync> Sync for Constant<T> {}

impl<T: Plain> Constant<T> {
    /// A constant with this value at the start of the program.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Sets the value that kernels read in the emulator.
    ///
    /// # Safety
    /// No kernel that reads it runs at the same time, in any thread, and no reference to the value exists.
    #[cfg(not(target_arch = "nvptx64"))]
    pub unsafe fn set(&self, value: T) {
        // SAFETY: the caller guarantees that nothing else accesses it.
        unsafe { *self.0.get() = value };
    }

    /// The name by which a GPU's module knows this variable; `None` if it is no static with `#[address_space(constant)]`.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        let here = core::ptr::from_ref(self).cast();
        (CONSTANTS.iter())
            .find(|constant| constant.address == here)
            .map(|constant| constant.name)
    }
}

impl<T: Plain> Deref for Constant<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the value changes only where no references to it exist.
        unsafe { &*self.0.get() }
    }
}

/// The constants of the program, which the linker collects.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
#[linkme::distributed_slice]
pub static CONSTANTS: [ConstantStatic];

/// A constant with its name. Only the macro uses this type.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
#[derive(Debug)]
pub struct ConstantStatic {
    address: *const u8,
    name: &'static str,
}

// SAFETY: the address is only compared.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl Sync for ConstantStatic {}

#[cfg(not(target_arch = "nvptx64"))]
impl ConstantStatic {
    #[must_use]
    pub const fn new<T: Plain>(constant: &'static Constant<T>, name: &'static str) -> Self {
        Self {
            address: core::ptr::from_ref(constant).cast(),
            name,
        }
    }
}
