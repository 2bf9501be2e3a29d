//! The entry points: jumps through a table of addresses. They are in assembly because they must pass on any arguments
//! unchanged.
//!
//! A slot of the table first holds the address of `libcuda_lazy_first_call`, which saves the argument registers, fills the
//! table, and jumps through its slot again. All symbols are hidden: only this program or shared object uses them, and the
//! driver's own calls never reach them.

use std::sync::atomic::AtomicPtr;

use crate::SYMBOLS;

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
mod linux_aarch64;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod linux_x86_64;
#[cfg(all(windows, target_arch = "x86_64"))]
mod windows_x86_64;

/// Whether entry points call the driver.
pub const BOUND: bool = true;

unsafe extern "C" {
    #[link_name = "libcuda_lazy_table"]
    static TABLE: [AtomicPtr<()>; SYMBOLS.len()];
}

/// The table of the addresses of [`SYMBOLS`].
pub fn table() -> &'static [AtomicPtr<()>] {
    // SAFETY: the assembly of this system defines one writable, aligned slot of pointer size for each of SYMBOLS.
    unsafe { &TABLE }
}

/// The assembly calls it when the first entry point is used.
extern "C" fn bind() {
    // Either way, the table now holds an address for every entry point.
    let _ = crate::load();
}
