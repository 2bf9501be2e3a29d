//! Faults that end a kernel on a GPU, or make its results undefined there, are errors in the emulator which name block and thread.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

use std::hint::black_box;
use std::ptr::NonNull;

use cuda_std::emulator::{self, Launch};
use cuda_std::prelude::*;
use cuda_std::shared_array;

/// A buffer of the emulator.
struct Buffer(NonNull<u8>);

impl Buffer {
    fn new<T: Copy>(values: &[T]) -> Self {
        let start = emulator::allocate(size_of_val(values)).unwrap();
        unsafe {
            start
                .cast::<T>()
                .copy_from_nonoverlapping(NonNull::from_ref(values).cast(), values.len())
        };
        Self(start)
    }

    fn pointer<T>(&self) -> *mut T {
        self.0.as_ptr().cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        unsafe { emulator::free(self.0) };
    }
}

/// The message of a launch of one block of 32 threads that fails.
fn said(kernel: impl Fn()) -> String {
    let launch = Launch::new(3, 32).workers(1);
    unsafe { launch.run(kernel) }
        .expect_err("a fault")
        .to_string()
}

/// Runs `fault` in thread 5 of block 1.
fn in_one_thread(fault: impl Fn()) {
    if thread::block_idx_x() == 1 && thread::thread_idx_x() == 5 {
        fault();
    }
}

const WHO: &str = "thread (5, 0, 0) of block (1, 0, 0)";

#[track_caller]
fn names(message: &str, what: &str) {
    assert!(
        message.starts_with(WHO) && message.contains(what),
        "{message}"
    );
}

#[test]
fn an_access_right_after_a_buffer_is_named() {
    let data = Buffer::new(&[1.0f32; 100]);
    let message = said(|| in_one_thread(|| unsafe { *data.pointer::<f32>().add(100) = 2.0 }));
    names(&message, "right after the end of a buffer of 400 bytes");
    let read = || unsafe { black_box(*data.pointer::<f32>().add(100)) };
    names(
        &said(|| in_one_thread(|| _ = read())),
        "right after the end of a buffer of 400 bytes",
    );
    // The launch after it works.
    unsafe { emulator::launch(1, 32, 0, || _ = black_box(*data.pointer::<f32>())) }.unwrap();
}

#[test]
fn an_access_far_outside_is_named() {
    let data = Buffer::new(&[1.0f32; 100]);
    let far = |bytes: isize| {
        let place = data.pointer::<u8>().wrapping_offset(bytes).cast::<f32>();
        said(|| in_one_thread(|| unsafe { place.write_unaligned(1.0) }))
    };
    names(
        &far(2 << 30),
        "2147483248 bytes after the end of a buffer of 400 bytes",
    );
    names(
        &far(-(2 << 30)),
        "2147483648 bytes before a buffer of 400 bytes",
    );
    names(
        &said(|| in_one_thread(|| unsafe { *black_box(16 as *mut u8) = 1 })),
        "a null pointer",
    );
}

#[test]
fn a_write_where_no_page_ends_is_found_after_the_launch() {
    let data = Buffer::new(&[1u8; 101]);
    let message = said(|| in_one_thread(|| unsafe { *data.pointer::<u8>().add(101) = 0 }));
    assert_eq!(message, "a kernel wrote right after a buffer of 101 bytes");
    let message = said(|| in_one_thread(|| unsafe { *data.pointer::<u8>().sub(1) = 0 }));
    assert_eq!(message, "a kernel wrote right before a buffer of 101 bytes");
}

#[test]
fn a_freed_buffer_is_named() {
    let data = Buffer::new(&[1u64; 10]);
    let dangling = data.pointer::<u64>();
    drop(data);
    let message = said(|| in_one_thread(|| unsafe { *dangling.add(3) = 1 }));
    names(&message, "at byte 24 of a freed buffer of 80 bytes");
}

#[test]
fn an_access_outside_of_a_shared_array_is_named() {
    let beyond = |index: usize| {
        said(move || {
            let tile = shared_array![f32; 64];
            in_one_thread(|| unsafe {
                black_box(*tile.add(black_box(index)));
            });
        })
    };
    names(
        &beyond(64),
        "read right after the end of [f32; 64] of 256 bytes in shared memory",
    );
}

#[inline(never)]
fn recursion(depth: u64) -> u64 {
    let here = black_box([depth; 32]);
    if depth == u64::MAX {
        0
    } else {
        recursion(black_box(depth + 1)) + here[7]
    }
}

#[test]
fn a_full_stack_is_named() {
    let message = said(|| in_one_thread(|| _ = black_box(recursion(0))));
    names(&message, "overflowed its stack of 262144 bytes");
    #[inline(never)]
    fn large() {
        let mut array = [0u8; 1_600_000];
        black_box(&mut array);
    }
    let large = || in_one_thread(large);
    names(&said(large), "overflowed its stack of 262144 bytes");
    unsafe { Launch::new(2, 32).stack_bytes(8 << 20).run(large) }.unwrap();
}

#[test]
fn a_broken_contract_is_named_where_it_is_checked() {
    if !cfg!(debug_assertions) {
        return;
    }
    let data = Buffer::new(&[0u64; 16]);
    let odd = data.pointer::<u8>().wrapping_add(1).cast::<u64>();
    let message = said(|| in_one_thread(|| unsafe { *black_box(odd) = 1 }));
    names(&message, "misaligned pointer dereference");
    assert!(message.contains("tests/faults.rs:"), "{message}");
    let slice = [1, 2, 3];
    let message =
        said(|| in_one_thread(|| _ = black_box(unsafe { *slice.get_unchecked(black_box(3)) })));
    names(&message, "slice::get_unchecked");
    // The thread that has been stopped is not panicking, and others go on.
    unsafe { emulator::launch(4, 64, 0, || _ = thread::sync_threads_count(1)) }.unwrap();
}

#[test]
fn an_invalid_instruction_is_named() {
    let message = said(|| in_one_thread(|| std::process::abort()));
    names(&message, "was aborted");
}

#[test]
fn threads_run_in_random_order_unless_the_natural_one_is_asked_for() {
    let order = |launch: Launch| {
        let list = std::sync::Mutex::new(Vec::new());
        let run = || list.lock().unwrap().push(thread::thread_idx_x());
        unsafe { launch.workers(1).run(run) }.unwrap();
        list.into_inner().unwrap()
    };
    let natural: Vec<u32> = (0..64).collect();
    assert_eq!(order(Launch::new(1, 64).natural_order()), natural);
    assert_ne!(order(Launch::new(1, 64)), natural);
    assert_eq!(order(Launch::new(1, 64)), order(Launch::new(1, 64)));
}
