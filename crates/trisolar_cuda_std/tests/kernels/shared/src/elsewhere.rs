//! A second module, which refers to the static by its path.

use cuda_std::address_space;

#[address_space(shared)]
static mut FIRST: f32 = 1.0;

/// Reads two statics, one of which is declared in the crate's root.
pub fn first() -> f32 {
    let slots = core::ptr::addr_of_mut!(crate::SLOTS).cast::<f32>();
    unsafe { *slots + *(&raw mut FIRST) }
}
