//! Runs PTX, the text that a GPU's driver gets, on any machine, and watches what it does.
//!
//! A [`Module`] is decoded once to an array of instructions whose operands are places in a register file. A [`Machine`] holds a module's
//! variables and runs its kernels on memory that a [`Memory`] knows, with the bits that the PTX manual defines. Every access is checked:
//! bounds, freed memory, alignment, reads of what nothing has written, and data races, for which words remember who used them last and
//! threads remember what barriers, fences and atomics have ordered before them. The first fault ends a launch with a [`Fault`] that says the
//! kernel, block, thread, source line and instruction.
//!
//! ```
//! use trisolar_ptx::{Grid, Machine, Memory, Module};
//!
//! let text = "
//! .version 7.0
//! .target sm_70
//! .address_size 64
//! .visible .entry double(.param .u64 x) {
//!     .reg .b32 %r<3>;
//!     .reg .b64 %rd<4>;
//!     ld.param.b64 %rd1, [x];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.b32 %r2, [%rd3];
//!     shl.b32 %r2, %r2, 1;
//!     st.global.b32 [%rd3], %r2;
//!     ret;
//! }";
//! let mut machine = Machine::new(Module::decode(text).unwrap());
//! let mut memory = Memory::new();
//! let mut x = [1_u32, 2, 3, 4];
//! let address = x.as_mut_ptr() as u64;
//! // SAFETY: `x` outlives the launch, and nothing else uses it meanwhile.
//! unsafe { memory.add(address, size_of_val(&x), true) };
//! machine.launch(&mut memory, "double", Grid::new(1, 4), &[&address.to_ne_bytes()]).unwrap();
//! assert_eq!(x, [2, 4, 6, 8]);
//! ```

mod arithmetic;
mod decode;
mod fault;
mod instruction;
mod machine;
mod memory;
mod order;
mod rounding;
mod run;
mod thread;
mod warp;

pub use decode::{DecodeError, Module};
pub use fault::{Fault, Kind, Place};
pub use machine::Machine;
pub use memory::Memory;
pub use thread::{Grid, Stats};
