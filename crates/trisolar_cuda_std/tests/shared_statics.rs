//! Statics of shared memory in the emulator: each block has its own, whichever way it takes the address.
#![allow(
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    static_mut_refs
)]

use std::mem::MaybeUninit;
use std::ptr::{addr_of, addr_of_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use cuda_std::emulator::{Launch, launch};
use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

#[address_space(shared)]
static mut WORDS: [u32; 64] = [0; 64];

mod elsewhere {
    #[cuda_std::address_space(shared)]
    pub static mut BYTES: std::mem::MaybeUninit<[u8; 64]> = std::mem::MaybeUninit::uninit();
}

/// Takes the address in every way that the language allows outside of a kernel.
fn addresses() -> [*mut u32; 5] {
    let of_slice: &mut [u32] = unsafe { &mut WORDS };
    [
        (&raw mut WORDS).cast(),
        addr_of_mut!(WORDS) as *mut u32,
        addr_of!(WORDS).cast_mut().cast(),
        unsafe { WORDS.as_mut_ptr() },
        of_slice.as_mut_ptr(),
    ]
}

#[kernel]
unsafe fn turn_around(data: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let slot = unsafe { &mut *data.add(thread::index_1d() as usize) };
    unsafe {
        *addresses()[t % 5].add(t) = *slot;
        (&raw mut elsewhere::BYTES)
            .cast::<u8>()
            .add(t)
            .write(*slot as u8);
        thread::sync_threads();
        *slot = WORDS[63 - t] * 2 + u32::from(elsewhere::BYTES.assume_init_ref()[63 - t] & 1);
    }
}

fn turned_around(first: u32, workers: usize) {
    let mut data: Vec<u32> = (first..first + 64 * 100).collect();
    let pointer = data.as_mut_ptr();
    let launch = Launch::new(100, 64).workers(workers).seed(first.into());
    let stats = unsafe { launch.run(|| turn_around(pointer)) }.unwrap();
    assert_eq!(stats.shared_bytes, 4 * 64 + 64);
    for (i, found) in (0..).zip(&data) {
        let across = first + i / 64 * 64 + 63 - i % 64;
        assert_eq!(*found, 2 * across + across % 2, "{i}");
    }
}

#[test]
fn each_block_has_its_own_statics_while_other_launches_run() {
    std::thread::scope(|scope| {
        for launch in 0..4 {
            scope.spawn(move || turned_around(launch * 1001, 3));
        }
    });
}

static ARRIVED: AtomicU64 = AtomicU64::new(0);

#[address_space(shared)]
static mut KEPT: MaybeUninit<u64> = MaybeUninit::uninit();

/// Each block stores a number in shared memory, waits until all blocks have done so, and reads it back.
#[kernel]
unsafe fn meet(out: *mut u64) {
    let block = u64::from(thread::block_idx_x());
    unsafe {
        (&raw mut KEPT).cast::<u64>().write(1000 + block);
        ARRIVED.fetch_add(1, Ordering::AcqRel);
        while ARRIVED.load(Ordering::Acquire) < u64::from(thread::grid_dim_x()) {
            thread::nanosleep(10);
        }
        *out.add(block as usize) = KEPT.assume_init();
    }
}

#[test]
fn blocks_that_wait_for_each_other_keep_their_statics() {
    let mut out = [0; 5];
    let pointer = out.as_mut_ptr();
    unsafe { Launch::new(5, 1).workers(5).run(|| meet(pointer)) }.unwrap();
    assert_eq!(out, [1000, 1001, 1002, 1003, 1004]);
}

/// Like every static of a generic function, this one is shared by all types.
#[allow(
    clippy::extra_unused_type_parameters,
    reason = "a static of a generic function is shared by all types"
)]
fn counter<T>() -> &'static AtomicU32 {
    #[address_space(shared)]
    static COUNT: AtomicU32 = AtomicU32::new(0);
    &COUNT
}

/// Every array of a generic function exists once for each type.
fn array<T>() -> *mut T {
    shared_array![T; 32]
}

#[kernel]
unsafe fn counted(out: *mut u32) {
    #[address_space(shared)]
    static mut PAIR: (u32, &str) = (0, "");
    const PLACE: *mut (u32, &str) = &raw mut PAIR;

    let t = thread::thread_idx_x();
    if thread::first() {
        counter::<u8>().store(1, Ordering::Relaxed);
        unsafe { PAIR = (7, "seven") };
    }
    unsafe {
        *array::<u32>().add(t as usize) = t;
        *array::<f32>().add(t as usize) = -1.0;
    }
    thread::sync_threads();
    counter::<u16>().fetch_add(2, Ordering::Relaxed);
    thread::sync_threads();
    let text = unsafe { format!("{} {}", (*PLACE).0, PAIR.1) };
    unsafe {
        *out = counter::<String>().load(Ordering::Relaxed);
        *out.add(1) = text.len() as u32;
        *out.add(2) = *array::<u32>().add(31);
    }
}

#[test]
fn instances_of_a_generic_function_share_its_statics_but_not_its_arrays() {
    let mut out = [0; 3];
    let pointer = out.as_mut_ptr();
    unsafe { launch(1, 32, 0, || counted(pointer)) }.unwrap();
    assert_eq!(out, [65, 7, 31]);
}

#[kernel]
unsafe fn not_written(out: *mut u32) {
    unsafe { *out.add(thread::block_idx_x() as usize) = WORDS[5] };
}

#[test]
fn a_block_sees_neither_the_initial_value_nor_another_blocks_values() {
    turned_around(3, 1);
    let mut out = [0; 3];
    let pointer = out.as_mut_ptr();
    let stats = unsafe { launch(3, 1, 0, || not_written(pointer)) }.unwrap();
    assert_eq!(out, [0x7e7e_7e7e; 3]);
    assert_eq!(stats.shared_bytes, 0);
}

#[address_space(shared)]
static mut OF_BLOCK: [u32; 2] = [0; 2];

#[test]
fn every_block_of_a_cluster_has_its_own_statics() {
    let mut found = vec![0; 8];
    let places = found.as_mut_ptr();
    let kernel = || {
        let i = thread::thread_idx_x() as usize;
        let block = thread::block_idx_x() as usize;
        // SAFETY: every thread has places of its own, and a barrier lies between writing and reading.
        unsafe {
            let own = (&raw mut OF_BLOCK).cast::<u32>();
            *own.add(i) = (10 * block + i) as u32;
            cuda_std::cluster::sync();
            *places.add(2 * block + i) = *own.add(1 - i);
        }
    };
    // SAFETY: four blocks of two threads and eight places.
    unsafe { Launch::new(4, 2).cluster(2).run(kernel) }.unwrap();
    assert_eq!(found, [1, 0, 11, 10, 21, 20, 31, 30]);
}
