//! Statics and arrays of shared memory, used in every form that the language allows.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn, static_mut_refs)]

mod elsewhere;

use core::mem::MaybeUninit;
use core::ptr::{addr_of, addr_of_mut};
use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

#[address_space(shared)]
pub static mut SLOTS: [MaybeUninit<u32>; 32] = [const { MaybeUninit::uninit() }; 32];

/// Has an initial value, although shared memory cannot keep one.
#[address_space(shared)]
static mut TABLE: MaybeUninit<[f32; 64]> = MaybeUninit::new([1.5; 64]);

#[address_space(shared)]
static TICKETS: AtomicU32 = AtomicU32::new(7);

#[address_space(shared)]
static mut FLAG: bool = true;

/// Is not used.
#[address_space(shared)]
pub static mut UNUSED: [f64; 4096] = [0.0; 4096];

static mut GLOBAL: [f32; 64] = [2.5; 64];

/// One thread of each warp writes and all threads read; no address leaves shared memory.
#[kernel]
pub unsafe fn broadcast(out: *mut u32, n: u32) {
    let lane = thread::thread_idx_x() % 32;
    let warp = (thread::thread_idx_x() / 32 % 32) as usize;
    if lane == 0 {
        SLOTS[warp] = MaybeUninit::new(n);
    }
    thread::sync_threads();
    *out = SLOTS[warp].assume_init();
}

/// Takes the address in every way that the language allows, each in a function of its own.
#[kernel]
pub unsafe fn addresses(data: *mut f32, i: usize) {
    fn raw() -> *mut f32 {
        (&raw mut TABLE).cast()
    }
    fn raw_const() -> *const f32 {
        (&raw const TABLE).cast()
    }
    fn of_macro() -> *mut f32 {
        addr_of_mut!(TABLE) as *mut f32
    }
    fn of_macro_const() -> *const f32 {
        addr_of!(TABLE) as *const f32
    }
    fn of_reference() -> *mut f32 {
        unsafe { &mut TABLE as *mut _ as *mut f32 }
    }
    fn of_method() -> *mut f32 {
        unsafe { TABLE.as_mut_ptr().cast() }
    }
    *raw().add(i) = *data;
    *of_macro().add(i + 1) = *data.add(1);
    *of_reference().add(i + 2) = *data.add(2);
    *of_method().add(i + 3) = *data.add(3);
    thread::sync_threads();
    *data = *raw_const().add(i + 4);
    *data.add(1) = *of_macro_const().add(i + 5);
    *data.add(2) = TABLE.assume_init_ref()[6];
    *data.add(3) = elsewhere::first();
}

/// Reads and writes whole values, and uses an atomic.
#[kernel]
pub unsafe fn whole(out: *mut u32) {
    TICKETS.store(0, Ordering::Relaxed);
    FLAG = *out > 3;
    thread::sync_threads();
    let ticket = TICKETS.fetch_add(2, Ordering::Relaxed);
    let _ = TICKETS.compare_exchange(3, 4, Ordering::AcqRel, Ordering::Acquire);
    *out.add(1) = if FLAG { ticket } else { TICKETS.load(Ordering::Acquire) };
}

#[inline(never)]
unsafe fn sum(list: &[f32]) -> f32 {
    list.iter().sum()
}

/// The address goes to memory, to a function, and into a choice among other addresses.
#[kernel]
pub unsafe fn escapes(data: *mut f32, places: *mut *const f32, n: usize) {
    let shared = addr_of_mut!(TABLE).cast::<f32>();
    let place = if n > 3 { shared } else { addr_of_mut!(GLOBAL).cast() };
    *place.add(n) = *data;
    *places = shared;
    *places.add(1) = place;
    *data = sum(core::slice::from_raw_parts(shared, n));
    *data.add(1) = sum(core::slice::from_raw_parts(place, n));
    *data.add(2) = (shared as usize % 1000) as f32;
    *data.add(3) = shared.offset_from(*places.add(2)) as f32;
}

/// A static and an array within the kernel, and one in a loop.
#[kernel]
pub unsafe fn own(data: *mut u64, n: usize) {
    #[address_space(shared)]
    static mut TILE: [[u64; 16]; 16] = [[0; 16]; 16];
    let array = shared_array![u64; 256];
    let (x, y) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let mut total = 0;
    for k in 0..n {
        TILE[y][x] = *data.add(k * 256 + y * 16 + x);
        *array.add(y * 16 + x) = TILE[y][x] * 3;
        thread::sync_threads();
        for j in 0..16 {
            total += TILE[j][x] ^ *array.add(y * 16 + j);
        }
        thread::sync_threads();
    }
    *data.add(y * 16 + x) = total;
}

/// Shared memory that one crate declares, a second one writes and a third one reads.
#[kernel]
pub unsafe fn crates(data: *mut u64) {
    let t = thread::thread_idx_x() as usize;
    device_check_rows::put(t, *data.add(t));
    thread::sync_threads();
    *data.add(t) = device_check_columns::get(t).into_iter().sum();
}

#[cfg(feature = "address_in_static")]
mod refused {
    pub struct Place(pub *mut [core::mem::MaybeUninit<u32>; 32]);
    unsafe impl Sync for Place {}
    pub static PLACE: Place = Place(&raw mut super::SLOTS);

    #[super::kernel]
    pub unsafe fn address_in_static(i: usize) {
        (*core::ptr::read_volatile(&PLACE.0))[i].write(3);
    }
}

#[cfg(feature = "constant")]
#[address_space(shared)]
pub static CONSTANT: [f32; 4] = [1.0; 4];
