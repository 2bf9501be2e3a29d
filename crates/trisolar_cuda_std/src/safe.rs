//! Launches of kernels that are safe functions.

use core::fmt;

use crate::{Kernel, Plain, RawSlice, RawSliceMut};

/// A kernel that is a safe function. [`#[kernel]`](macro@crate::kernel) implements this trait.
///
/// Its launch is safe, too: `device.run::<Scale>(grid, (0.5, &mut data))` of `trisolar-device`, or
/// [`run_safe`](crate::emulator::Launch::run_safe) of the emulator. An array that the kernel reads is passed as `&`, one that it writes as
/// `&mut`, so that no array can be given twice where a thread could see what another one writes.
///
/// A kernel for which this cannot be checked does not compile:
/// ```compile_fail
/// use cuda_std::prelude::*;
/// #[kernel]
/// pub fn fill(data: &mut [f32]) {
///     data.fill(1.0);
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the kernel `{Self}` is an `unsafe fn`",
    label = "an `unsafe` kernel",
    note = "launch it by `unsafe {{ device.launch::<…>(…) }}`, or let it take `Each<'_, T>` in place of pointers"
)]
pub trait SafeKernel: Kernel {
    /// What a launch takes, with arrays in the memory `M`.
    type Given<'a, M: Memory + ?Sized>;

    /// The arguments of a launch of this many blocks.
    ///
    /// # Errors
    /// [`ArgumentError`] where the length of an array is wrong, or the array is elsewhere.
    fn arguments<M: Memory + ?Sized>(
        memory: &M,
        blocks: u32,
        given: Self::Given<'_, M>,
    ) -> Result<Self::Arguments, ArgumentError>;
}

/// Memory in which a kernel's arrays are.
pub trait Memory {
    /// An array.
    type Array<T: Plain>: ?Sized + 'static;

    /// The elements of an array that a kernel's parameter of this name reads.
    ///
    /// # Errors
    /// [`ArgumentError::Elsewhere`].
    fn slice<T: Plain>(
        &self,
        name: &'static str,
        array: &Self::Array<T>,
    ) -> Result<RawSlice<T>, ArgumentError>;

    /// The same for a parameter that is written.
    ///
    /// # Errors
    /// [`ArgumentError::Elsewhere`].
    fn slice_mut<T: Plain>(
        &self,
        name: &'static str,
        array: &mut Self::Array<T>,
    ) -> Result<RawSliceMut<T>, ArgumentError>;
}

/// The lengths of a launch's arrays, as far as they have been seen.
#[derive(Debug)]
pub struct Lengths {
    blocks: u32,
    each: Option<(&'static str, usize)>,
}

impl Lengths {
    /// Nothing has been seen of a launch of this many blocks.
    #[must_use]
    pub fn of_grid(blocks: u32) -> Self {
        Self { blocks, each: None }
    }

    /// An `Each` or `EachRef`.
    ///
    /// # Errors
    /// [`ArgumentError::Length`] if it is not as long as one before.
    pub fn each(&mut self, name: &'static str, length: usize) -> Result<(), ArgumentError> {
        let (other, expected) = *self.each.get_or_insert((name, length));
        if length == expected {
            return Ok(());
        }
        Err(ArgumentError::Length {
            name,
            length,
            other,
            expected,
        })
    }

    /// A `PerBlock`.
    ///
    /// # Errors
    /// [`ArgumentError::Blocks`] if it has not one element for each block.
    pub fn per_block(&self, name: &'static str, length: usize) -> Result<(), ArgumentError> {
        let blocks = self.blocks;
        if length == blocks as usize {
            return Ok(());
        }
        Err(ArgumentError::Blocks {
            name,
            length,
            blocks,
        })
    }
}

/// An array that does not fit to a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Two arrays whose elements belong together have different lengths.
    Length {
        /// The kernel's parameter.
        name: &'static str,
        /// Its elements.
        length: usize,
        /// The parameter before.
        other: &'static str,
        /// The elements of that one.
        expected: usize,
    },
    /// An array has not one element for each block.
    Blocks {
        /// The kernel's parameter.
        name: &'static str,
        /// Its elements.
        length: usize,
        /// The blocks of the launch.
        blocks: u32,
    },
    /// An array is not on the device of the launch.
    Elsewhere {
        /// The kernel's parameter.
        name: &'static str,
    },
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length {
                name,
                length,
                other,
                expected,
            } => write!(
                f,
                "`{name}` has {length} elements, but `{other}` has {expected}: all Each and EachRef of a launch have the same length"
            ),
            Self::Blocks {
                name,
                length,
                blocks,
            } => write!(
                f,
                "`{name}` has {length} elements, but the grid has {blocks} blocks: a PerBlock has an element for each block"
            ),
            Self::Elsewhere { name } => {
                write!(f, "`{name}` is on another device than the launch")
            }
        }
    }
}

impl core::error::Error for ArgumentError {}
