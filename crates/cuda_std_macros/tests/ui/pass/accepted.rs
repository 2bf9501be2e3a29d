//! Everything that a kernel may take.
#![deny(warnings)]
#![allow(dead_code)]

use core::mem::MaybeUninit;
use cuda_std::prelude::*;
use cuda_std::{Constant, address_space, externally_visible, gpu_only};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Body {
    position: [f64; 3],
    mass: f64,
}

/// Documented.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn arguments<'a>(
    scalar: f32,
    mut count: u64,
    flag: bool,
    letter: char,
    wide: u128,
    body: Body,
    array: [u32; 4],
    tuple: (u32, f32),
    unit: (),
    pointer: *const Body,
    writable: *mut Body,
    reference: &Body,
    exclusive: &mut Body,
    optional: Option<&'a Body>,
    slice: &'a [Body],
    writable_slice: &mut [f32],
    raw: *const [u8],
    raw_writable: *mut [u8],
    nested: &[[f32; 3]],
    _: usize,
) -> () {
    count += 1;
    let _ = (scalar, count, flag, letter, wide, body, array, tuple, unit, pointer, writable, reference, exclusive);
    let _ = (optional, slice, writable_slice, raw, raw_writable, nested);
}

#[kernel(grid_dim = 2d, block_dim = 2D)]
pub(crate) unsafe extern "C" fn hinted() {}

#[kernel]
#[unsafe(no_mangle)]
pub unsafe fn statics(out: *mut f32) {
    const N: usize = 4;
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<f32>; N] = [MaybeUninit::uninit(); N];
    unsafe {
        TILE[0].write(1.0);
        *out = TILE[0].assume_init();
        let tile = core::ptr::addr_of_mut!(TILE).cast::<f32>();
        *tile.add(1) = 2.0;
        *out.add(1) = TILE[1].assume_init();
        {
            #[address_space(shared)]
            static mut INNER: u32 = 0;
            INNER = 3;
            *out.add(2) = INNER as f32;
        }
    }
}

#[address_space(constant)]
static WEIGHTS: Constant<[u32; 2]> = Constant::new([1, 2]);
#[address_space(constant)]
#[unsafe(no_mangle)]
static mut OLD_STYLE: [u32; 2] = [3, 4];
#[address_space(constant)]
static FIXED: [u32; 2] = [5, 6];
#[address_space(constant)]
#[unsafe(export_name = "named_otherwise")]
static OTHER: cuda_std::Constant<f64> = Constant::new(0.5);

#[kernel]
pub unsafe fn constants(out: *mut u32) {
    unsafe { *out = WEIGHTS[1] + OLD_STYLE[1] + FIXED[1] };
}

#[gpu_only]
pub fn device_side(x: u32) -> u32 {
    x + 1
}

#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn linked() {}

fn main() {
    let mut out = [0.0f32; 3];
    let pointer = out.as_mut_ptr();
    unsafe { cuda_std::emulator::launch(1, 1, 0, || statics(pointer)) }.unwrap();
    assert_eq!(out, [1.0, 2.0, 3.0]);
    let mut sum = 0;
    let pointer = &raw mut sum;
    unsafe {
        WEIGHTS.set([7, 8]);
        cuda_std::emulator::launch(1, 1, 0, || constants(pointer)).unwrap();
    }
    assert_eq!(sum, 8 + 4 + 6);
    assert_eq!((WEIGHTS.name(), OTHER.name()), (Some("WEIGHTS"), Some("named_otherwise")));
    assert!(std::panic::catch_unwind(|| device_side(1)).is_err());
}
