//! Kernels with one fault each. The interpreter of PTX finds it in a line that ends with `// !` and a part of what it says.
//!
//! `name(2 x 64)` has 2 blocks of 64 threads and 256 bytes of dynamic shared memory; two blocks run side by side. `x` is a buffer of n = 64 words 0, 1, 2, …,
//! `y` one of which nothing has written, and `z` one that has been freed; `t` is the thread in its block.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};

use cuda_std::prelude::*;
use cuda_std::shared::{F4, SharedSlice, U4, dynamic_shared_mem};
use cuda_std::thread::{block_idx_x, index_1d, sync_threads, sync_threads_or};
use cuda_std::warp::{sync_warp, warp_shuffle_idx, warp_shuffle_xor, warp_vote_any};
use cuda_std::{Constant, GridBarrier, address_space, async_copy, shared_array};

#[address_space(constant)]
static WEIGHTS: Constant<[u32; 4]> = Constant::new([1, 2, 3, 4]);

#[address_space(shared)]
static mut TILE: [u32; 64] = [0; 64];

static COUNTERS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

static mut PLAIN: u32 = 0;

macro_rules! faults {
    ($($(#[$about:meta])* $name:ident($blocks:literal x $threads:literal) |$x:ident, $y:ident, $z:ident, $n:ident, $t:ident| $body:block)*) => {
        $($(#[$about])*
        #[doc = concat!("Blocks x threads: ", $blocks, " x ", $threads, ".")]
        #[kernel]
        #[allow(unused_variables, reason = "all kernels have the same parameters")]
        pub unsafe fn $name($x: *mut u32, $y: *mut u32, $z: *mut u32, $n: u32) {
            let ($n, $t) = ($n as usize, thread::thread_idx_x() as usize);
            // SAFETY: there is none; the interpreter runs the kernel and finds that.
            unsafe { $body }
        })*
    };
}

/// The address of a variable of a function that has returned.
#[inline(never)]
fn dangling(i: usize) -> *mut u32 {
    let mut own = [7_u32; 8];
    let place = own.as_mut_ptr().wrapping_add(i);
    // SAFETY: it is still there.
    unsafe { place.write_volatile(3) };
    place
}

#[inline(never)]
#[allow(unconditional_recursion, reason = "it is the fault")]
fn endless(n: usize, x: *mut u32) -> u32 {
    let mut own = [n as u32; 64];
    // SAFETY: within the array.
    unsafe { own.as_mut_ptr().add(n % 64).write_volatile(1) };
    endless(n + 1, x).wrapping_add(own[(n + 1) % 64]) // ! the stack is full
}

faults! {
    // Outside of buffers and arrays.
    write_behind_a_buffer(1 x 1) |x, y, z, n, t| {
        *x.add(n) = 1; // ! from byte 256 on of a buffer
    }
    read_behind_a_buffer(1 x 1) |x, y, z, n, t| {
        *y = *x.add(n); // ! from byte 256 on of a buffer
    }
    before_a_buffer(1 x 1) |x, y, z, n, t| {
        *x.sub(n - 63) = 1; // ! before a buffer
    }
    more_threads_than_words(2 x 64) |x, y, z, n, t| {
        *x.add(index_1d() as usize) += 1; // ! from byte 256 on of a buffer
    }
    a_loop_to_n_included(1 x 1) |x, y, z, n, t| {
        for i in 0..=n {
            *x.add(i) ^= 1; // ! from byte 256 on of a buffer
        }
    }
    elements_of_the_wrong_size(1 x 64) |x, y, z, n, t| {
        *x.cast::<u64>().add(t) = 1; // ! from byte 256 on of a buffer
    }
    bytes_for_elements(1 x 1) |x, y, z, n, t| {
        *x.add(n * 4 - 4) = 1; // ! a buffer
    }
    the_left_neighbour_of_the_first(1 x 64) |x, y, z, n, t| {
        *y.add(t) = *x.offset(t as isize - 1); // ! before a buffer
    }
    an_unsigned_index_below_zero(1 x 64) |x, y, z, n, t| {
        *y.add(t) = *x.add((t as u32).wrapping_sub(1) as usize); // ! of a buffer
    }
    a_null_pointer(1 x 1) |x, y, z, n, t| {
        *((n - 64) as *mut u32) = 1; // ! a null pointer
    }
    a_field_of_a_null_pointer(1 x 1) |x, y, z, n, t| {
        *y = *((n - 64) as *const [u32; 9]).cast::<u32>().add(5); // ! a null pointer
    }
    gigabytes_away(1 x 1) |x, y, z, n, t| {
        *x.add(n << 25) = 1; // ! of a buffer
    }
    a_vector_behind_the_end(1 x 32) |x, y, z, n, t| {
        *y.cast::<F4>().add(t % 16) = *x.cast::<F4>().add(t); // ! from byte 256 on of a buffer
    }
    a_copy_one_word_too_long(1 x 1) |x, y, z, n, t| {
        x.copy_to_nonoverlapping(y, n + 1); // ! of a buffer
    }
    a_fill_one_word_too_long(1 x 1) |x, y, z, n, t| {
        x.write_bytes(0, n + 1); // ! of a buffer
    }
    an_unchecked_index_of_a_slice(1 x 1) |x, y, z, n, t| {
        *core::slice::from_raw_parts_mut(x, n).as_mut_ptr().add(n + t) = 4; // ! of a buffer
    }
    a_slice_one_word_too_long(1 x 1) |x, y, z, n, t| {
        *y = core::slice::from_raw_parts(x, n + 1).iter().fold(0, |a, b| a ^ b.rotate_left(a)); // ! of a buffer
    }
    an_atomic_behind_a_buffer(1 x 1) |x, y, z, n, t| {
        AtomicU32::from_ptr(x.add(n)).fetch_add(1, Relaxed); // ! from byte 256 on of a buffer
    }
    a_grid_stride_of_the_wrong_length(2 x 32) |x, y, z, n, t| {
        let mut i = index_1d() as usize;
        while i < 2 * n {
            *x.add(i) = 0; // ! of a buffer
            i += 64;
        }
    }
    behind_a_shared_array(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t + 1) = 1; // ! an array of 256 bytes in shared memory
        sync_threads();
        *x.add(t) = *tile.add(t + 1);
    }
    before_a_shared_array(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.offset(t as isize - 1) = 1; // ! shared memory
        sync_threads();
        *x.add(t) = *tile.add(t % 62);
    }
    the_index_in_the_grid_for_that_in_the_block(2 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(index_1d() as usize) = 1; // ! an array of 256 bytes in shared memory
        sync_threads();
        *y.add(t) = *tile.add(63 - t);
    }
    one_shared_array_into_the_next(1 x 64) |x, y, z, n, t| {
        let (one, two) = (shared_array![u32; 32], shared_array![f32; 64]);
        *two.add(t) = 1.0;
        *one.add(t) = 2; // ! an array of 128 bytes in shared memory
        sync_threads();
        *x.add(t) = *one.add(t ^ 1) + *two.add(t ^ 1) as u32;
    }
    too_little_dynamic_shared_memory(1 x 64) |x, y, z, n, t| {
        let shared = dynamic_shared_mem::<f64>();
        *shared.add(t) = 1.5; // ! shared memory
        sync_threads();
        *x.add(t) = *shared.add(63 - t) as u32;
    }
    a_slice_of_too_little_dynamic_memory(1 x 64) |x, y, z, n, t| {
        let shared = SharedSlice::<u32>::dynamic(16, 64);
        shared.set(t, 1); // ! shared memory
        sync_threads();
        *x.add(t) = shared.get(63 - t);
    }
    behind_a_shared_static(1 x 64) |x, y, z, n, t| {
        let tile = (&raw mut TILE).cast::<u32>();
        *tile.add(t * 2) = 1; // ! an array of 256 bytes in shared memory
        sync_threads();
        *x.add(t) = *tile.add(t ^ 2);
    }
    rows_for_columns_of_a_shared_array(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![[u32; 4]; 16];
        *tile.add(t / 4).cast::<u32>().add(t % 4) = 2;
        sync_threads();
        *x.add(t) = *tile.add(t % 4 * 5 + t / 4).cast::<u32>(); // ! in shared memory
    }
    behind_a_local_array(1 x 64) |x, y, z, n, t| {
        let mut own = [t as u32; 8];
        let place = own.as_mut_ptr();
        *place.add(t) = 1; // ! local memory
        *x.add(t) = own[n % 7];
    }
    rows_for_columns_of_a_local_array(1 x 64) |x, y, z, n, t| {
        let mut own = [[0_u32; 4]; 8];
        let place = own.as_mut_ptr().cast::<u32>();
        *place.add(t % 8 * 8 + t / 8) = 1; // ! local memory
        *x.add(t) = own[n % 7][n % 3];
    }
    behind_a_static(1 x 8) |x, y, z, n, t| {
        (*COUNTERS.as_ptr().add(t)).fetch_add(1, Relaxed); // ! of the variable
    }
    behind_a_constant_table(1 x 8) |x, y, z, n, t| {
        *x.add(t) = *WEIGHTS.as_ptr().add(t); // ! of the variable WEIGHTS
    }
    behind_a_vector(1 x 1) |x, y, z, n, t| {
        let mut list: Vec<u32> = Vec::with_capacity(n);
        list.push(3);
        list.as_mut_ptr().add(n).write(5); // ! memory of malloc
        *x = list[n - 64];
    }
    a_variable_of_a_function_that_has_returned(1 x 1) |x, y, z, n, t| {
        *x = *dangling(n % 7); // ! local memory
    }
    an_asynchronous_copy_from_behind_a_buffer(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        async_copy::start(tile.add(t), x.add(t + 1)); // ! from byte 256 on of a buffer
        async_copy::commit();
        async_copy::wait_all();
        *y.add(t) = *tile.add(t);
    }
    recursion_without_an_end(1 x 1) |x, y, z, n, t| {
        *x = endless(n, x);
    }

    // Memory that nothing has written.
    shared_memory_that_nobody_fills(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        if n < 64 {
            *tile.add(t) = 1;
        }
        sync_threads();
        *x.add(t) = *tile.add(63 - t); // ! nothing has written
    }
    a_buffer_that_nobody_fills(1 x 64) |x, y, z, n, t| {
        *x.add(t) = *y.add(t); // ! nothing has written
    }
    an_atomic_on_what_nobody_has_set(1 x 64) |x, y, z, n, t| {
        AtomicU32::from_ptr(y).fetch_add(1, Relaxed); // ! nothing has written
    }
    a_sum_into_what_nobody_has_set(1 x 64) |x, y, z, n, t| {
        *y.add(t) += *x.add(t); // ! nothing has written
    }
    half_of_the_threads_fill_the_tile(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        if t < 32 {
            *tile.add(t) = 1;
        }
        sync_threads();
        *x.add(t) = *tile.add(63 - t); // ! nothing has written
    }
    a_tile_that_only_the_first_block_fills(2 x 32) |x, y, z, n, t| {
        let tile = shared_array![u32; 32];
        if block_idx_x() == 0 {
            *tile.add(t) = 1;
        }
        sync_threads();
        *x.add(index_1d() as usize) = *tile.add(t ^ 1); // ! nothing has written
    }
    a_reduction_over_more_threads_than_there_are(1 x 48) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = t as u32;
        sync_threads();
        if t < 32 {
            *tile.add(t) += *tile.add(t + 32); // ! nothing has written
        }
        sync_threads();
        *x = *tile.add(t % 32);
    }
    a_sum_of_more_warps_than_there_are(1 x 64) |x, y, z, n, t| {
        let sums = shared_array![u32; 32];
        if t % 32 == 0 {
            *sums.add(t / 32) = 1;
        }
        sync_threads();
        if t < 32 {
            *x.add(t) = *sums.add(t); // ! nothing has written
        }
    }
    a_loop_that_leaves_the_last_word(1 x 1) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        for i in 0..n - 1 {
            *tile.add(i) = i as u32;
        }
        for i in 0..n {
            *x.add(i) = *tile.add(i); // ! nothing has written
        }
    }
    a_local_array_that_is_partly_set(1 x 64) |x, y, z, n, t| {
        let mut own = MaybeUninit::<[u32; 8]>::uninit();
        let place = own.as_mut_ptr().cast::<u32>();
        *place.add(n % 8) = 3;
        *x.add(t) = (*place.add(n % 7)).wrapping_mul(5); // ! nothing has written
    }
    a_local_array_that_decides(1 x 64) |x, y, z, n, t| {
        let mut own = MaybeUninit::<[u32; 8]>::uninit();
        let place = own.as_mut_ptr().cast::<u32>();
        *place.add(n % 8) = 3;
        if *place.add(n % 7) > 9 { // ! nothing has written
            AtomicU32::from_ptr(x).fetch_add(1, Relaxed);
        }
    }
    a_vector_whose_length_was_set(1 x 1) |x, y, z, n, t| {
        let mut list: Vec<u32> = Vec::with_capacity(n);
        list.push(n as u32);
        list.set_len(n);
        *x = list[n - 1].wrapping_mul(5); // ! nothing has written
    }
    one_byte_of_a_word(1 x 1) |x, y, z, n, t| {
        *y.cast::<u8>() = 1;
        *x = (*y).wrapping_mul(5); // ! nothing has written
    }
    an_index_from_what_nobody_has_set(1 x 64) |x, y, z, n, t| {
        *x.add(y.add(t).read() as usize) = 1; // ! nothing has written
    }
    an_asynchronous_copy_that_is_not_waited_for(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        async_copy::start(tile.add(t), x.add(t));
        async_copy::commit();
        *y.add(t) = *tile.add(t); // ! nothing has written
    }
    the_latest_of_two_copies(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 128];
        async_copy::start(tile.add(t), x.add(t));
        async_copy::commit();
        async_copy::start(tile.add(t + 64), x.add(t));
        async_copy::commit();
        async_copy::wait::<1>();
        *y.add(t) = *tile.add(t) + *tile.add(t + 64); // ! nothing has written
    }
    a_copy_of_too_few_words(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        if t == 0 {
            for i in 0..n / 4 {
                *tile.add(i) = *x.add(i);
            }
        }
        sync_threads();
        *y.add(t) = *tile.add(t); // ! nothing has written
    }

    // Races.
    a_neighbour_without_a_barrier(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = t as u32; // !
        *y.add(t) = *tile.add(t ^ 32); // !
    }
    all_threads_write_one_word(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 1];
        *tile = t as u32; // ! without an order
        sync_threads();
        *x.add(t) = *tile;
    }
    both_blocks_write_one_word(2 x 1) |x, y, z, n, t| {
        *x = block_idx_x(); // ! without an order
    }
    a_count_without_atomics(2 x 32) |x, y, z, n, t| {
        *x += 1; // ! without an order
    }
    a_histogram_without_atomics(1 x 64) |x, y, z, n, t| {
        *x.add(t * 7 % 8) += 1; // ! without an order
    }
    a_smoothing_in_place(1 x 63) |x, y, z, n, t| {
        *x.add(t) = *x.add(t) / 2 + *x.add(t + 1) / 2; // ! without an order
    }
    a_reversal_in_place(1 x 64) |x, y, z, n, t| {
        *x.add(t) = *x.add(63 - t); // ! without an order
    }
    a_transposition_without_a_barrier(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![[u32; 9]; 8];
        *tile.add(t / 8).cast::<u32>().add(t % 8) = *x.add(t); // !
        *y.add(t) = *tile.add(t % 8).cast::<u32>().add(t / 8); // !
    }
    lanes_of_a_warp(1 x 32) |x, y, z, n, t| {
        let tile = shared_array![u32; 32];
        *tile.add(t) = t as u32; // !
        *y.add(t) = *tile.add(t ^ 1); // !
    }
    a_leader_without_a_barrier_of_the_warp(1 x 32) |x, y, z, n, t| {
        let word = shared_array![u32; 1];
        if t == 0 {
            *word = *x; // ! without an order
        }
        *y.add(t) = *word; // ! without an order
    }
    the_next_round_overwrites(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        for round in 0..n / 16 {
            *tile.add(t) = round as u32; // ! without an order
            sync_threads();
            *y.add(t) = *tile.add(t ^ 33); // ! without an order
        }
    }
    running_sums_with_one_barrier(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = *x.add(t);
        sync_threads();
        let mut step = 1;
        while step < n {
            if t >= step {
                *tile.add(t) += *tile.add(t - step); // ! without an order
            }
            sync_threads();
            step *= 2;
        }
        *y.add(t) = *tile.add(t);
    }
    a_word_that_its_owner_overwrites(1 x 64) |x, y, z, n, t| {
        *y.add(t) = *x; // ! without an order
        if t == 63 {
            *x = 5; // ! without an order
        }
    }
    the_last_steps_of_a_reduction(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = *x.add(t);
        sync_threads();
        if t < 32 {
            *tile.add(t) += *tile.add(t + 32); // ! without an order
            *tile.add(t) += *tile.add(t + 16); // ! without an order
        }
    }
    a_barrier_of_the_warp_for_the_block(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = t as u32; // !
        sync_warp(u32::MAX);
        *y.add(t) = *tile.add(t ^ 32); // !
    }
    a_shuffle_orders_nothing(1 x 32) |x, y, z, n, t| {
        let tile = shared_array![u32; 32];
        *tile.add(t) = t as u32; // ! without an order
        let other = warp_shuffle_xor(u32::MAX, t as u32, 1, 32).0;
        *y.add(t) = *tile.add(other as usize); // ! without an order
    }
    a_vote_orders_nothing(1 x 32) |x, y, z, n, t| {
        *x.add(t) = t as u32; // ! without an order
        if warp_vote_any(u32::MAX, t == 3) {
            *y.add(t) = *x.add(t ^ 1); // ! without an order
        }
    }
    a_plain_read_beside_atomics(2 x 32) |x, y, z, n, t| {
        AtomicU32::from_ptr(x).fetch_add(1, Relaxed); // ! without an order
        if t == 31 {
            *y = *x; // ! without an order
        }
    }
    a_plain_zero_beside_atomics(1 x 64) |x, y, z, n, t| {
        if t == 0 {
            *x = 0; // ! without an order
        }
        AtomicU32::from_ptr(x).fetch_add(1, Relaxed); // ! without an order
    }
    a_counter_in_shared_memory_without_a_barrier(1 x 64) |x, y, z, n, t| {
        let count = shared_array![u32; 1];
        if t == 0 {
            *count = 0; // ! without an order
        }
        AtomicU32::from_ptr(count).fetch_add(1, Relaxed); // ! without an order
        sync_threads();
        *x.add(t) = *count;
    }
    a_sum_that_is_read_too_early(1 x 64) |x, y, z, n, t| {
        let count = shared_array![u32; 1];
        if t == 0 {
            *count = 0;
        }
        sync_threads();
        AtomicU32::from_ptr(count).fetch_add(1, Relaxed); // ! without an order
        *x.add(t) = *count; // ! without an order
    }
    a_flag_without_fences(2 x 1) |x, y, z, n, t| {
        let flag = AtomicU32::from_ptr(x);
        if block_idx_x() == 0 {
            *x.add(1) = 7;
            flag.store(100, Relaxed);
        } else {
            while flag.load(Relaxed) != 100 {}
            *x.add(2) = *x.add(1); // ! without an order
        }
    }
    a_release_without_an_acquire(2 x 1) |x, y, z, n, t| {
        let flag = AtomicU32::from_ptr(x);
        if block_idx_x() == 0 {
            *x.add(1) = 7;
            flag.store(100, Release);
        } else {
            while flag.load(Relaxed) != 100 {}
            *x.add(2) = *x.add(1); // ! without an order
        }
    }
    an_acquire_without_a_release(2 x 1) |x, y, z, n, t| {
        let flag = AtomicU32::from_ptr(x);
        if block_idx_x() == 0 {
            *x.add(1) = 7;
            flag.store(100, Relaxed);
        } else {
            while flag.load(Acquire) != 100 {}
            *x.add(2) = *x.add(1); // ! without an order
        }
    }
    a_fence_on_the_wrong_side_of_the_flag(2 x 1) |x, y, z, n, t| {
        let flag = AtomicU32::from_ptr(x);
        if block_idx_x() == 0 {
            flag.store(100, Relaxed);
            fence(Release);
            *x.add(1) = 7; // ! without an order
        } else {
            while flag.load(Acquire) != 100 {}
            *x.add(2) = *x.add(1); // ! without an order
        }
    }
    a_lock_that_is_given_back_without_a_release(2 x 1) |x, y, z, n, t| {
        let lock = AtomicU32::from_ptr(x);
        while lock.compare_exchange(0, 1, Acquire, Relaxed).is_err() {}
        *x.add(1) += 1; // ! without an order
        lock.store(0, Relaxed);
    }
    a_lock_that_is_taken_without_an_acquire(2 x 1) |x, y, z, n, t| {
        let lock = AtomicU32::from_ptr(x);
        while lock.compare_exchange(0, 1, Relaxed, Relaxed).is_err() {}
        *x.add(1) += 1; // ! without an order
        lock.store(0, Release);
    }
    the_last_block_without_a_fence(2 x 16) |x, y, z, n, t| {
        *x.add(16 + index_1d() as usize) = t as u32;
        sync_threads();
        if t == 0 && AtomicU32::from_ptr(x).fetch_add(1, Relaxed) == 1 {
            *x.add(1) = (0..32).map(|i| *x.add(16 + i)).sum(); // ! without an order
        }
    }
    the_last_block_without_a_barrier(2 x 16) |x, y, z, n, t| {
        *x.add(16 + index_1d() as usize) = t as u32;
        thread::device_fence();
        if t == 0 && AtomicU32::from_ptr(x).fetch_add(1, AcqRel) == 1 {
            thread::device_fence();
            *x.add(1) = (0..32).map(|i| *x.add(16 + i)).sum(); // ! without an order
        }
    }
    a_block_that_reads_what_another_writes(2 x 32) |x, y, z, n, t| {
        *x.add(index_1d() as usize) = t as u32; // ! without an order
        thread::device_fence();
        *y.add(index_1d() as usize) = *x.add(63 - index_1d() as usize); // ! without an order
    }
    an_asynchronous_copy_over_what_others_read(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        *tile.add(t) = 1;
        sync_threads();
        *y.add(t) = *tile.add(63 - t); // ! without an order
        async_copy::start(tile.add(t), x.add(t)); // ! without an order
        async_copy::commit();
        async_copy::wait_all();
    }
    an_asynchronous_copy_without_a_barrier(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        async_copy::start(tile.add(t), x.add(t)); // ! without an order
        async_copy::commit();
        async_copy::wait_all();
        *y.add(t) = *tile.add(t ^ 1); // !
    }
    a_plain_static(2 x 1) |x, y, z, n, t| {
        PLAIN += 1; // ! without an order
    }
    the_same_byte(1 x 2) |x, y, z, n, t| {
        *x.cast::<u8>().add(5) = t as u8; // ! without an order
    }
    results_that_overlap_by_one(1 x 32) |x, y, z, n, t| {
        *x.add(2 * t).cast::<[u32; 3]>() = [1, 2, 3]; // ! without an order
    }
    two_threads_write_a_pair(1 x 64) |x, y, z, n, t| {
        *x.add(t & !1).cast::<u64>() = t as u64; // ! without an order
    }
    selected_words_that_are_read_too_early(1 x 64) |x, y, z, n, t| {
        let count = AtomicU32::from_ptr(x);
        let place = count.fetch_add(1, AcqRel) as usize;
        *y.add(place) = t as u32; // ! without an order
        if t == 63 {
            *x.add(1) = *y.add(5); // ! without an order
        }
    }
    two_phases_in_one_array(1 x 64) |x, y, z, n, t| {
        let words = dynamic_shared_mem::<u32>();
        *words.add(t) = *x.add(t);
        sync_threads();
        *y.add(t) = *words.add(t ^ 63); // ! without an order
        *words.cast::<f32>().add(t) = 1.0; // ! without an order
    }
    an_exchange_that_loses_its_order(2 x 1) |x, y, z, n, t| {
        let place = AtomicU64::from_ptr(x.cast());
        *x.add(4 + block_idx_x() as usize) = 9;
        let before = place.swap(u64::from(block_idx_x()) + 77, Relaxed);
        if before == 77 || before == 78 {
            *x.add(8) = *x.add(4 + (before - 77) as usize); // ! without an order
        }
    }

    // Threads that wait without an end, and operations of warps.
    half_of_the_block_leaves(1 x 64) |x, y, z, n, t| {
        if *x.add(t) > 31 {
            return;
        }
        sync_threads(); // ! wait here without an end
    }
    a_barrier_in_a_branch(1 x 64) |x, y, z, n, t| {
        if *x.add(t) > 31 {
            sync_threads(); // ! wait here without an end
        }
        *y.add(t) = 1;
    }
    a_barrier_in_a_loop(1 x 64) |x, y, z, n, t| {
        for i in 0..=*x.add(t) / 32 {
            sync_threads(); // ! wait here without an end
            *y.add(t) = i;
        }
    }
    different_barriers(1 x 32) |x, y, z, n, t| {
        if *x.add(t) > 15 {
            sync_threads(); // !
        } else {
            *y.add(t) = sync_threads_or(t as u32); // !
        }
    }
    a_barrier_within_a_bounds_check(1 x 64) |x, y, z, n, t| {
        let tile = shared_array![u32; 64];
        if t + 10 < n {
            *tile.add(t) = *x.add(t);
            sync_threads(); // !
            *y.add(t) = *tile.add(t % 40);
        }
    }
    a_shuffle_in_a_branch(1 x 32) |x, y, z, n, t| {
        if *x.add(t) > 15 {
            *y.add(t) = warp_shuffle_xor(u32::MAX, t as u32, 1, 32).0; // ! lanes
        }
    }
    a_shuffle_after_an_early_return(1 x 32) |x, y, z, n, t| {
        if *x.add(t) > 20 {
            return;
        }
        *y.add(t) = warp_shuffle_idx(u32::MAX, t as u32, 3, 32).0; // ! lanes
    }
    a_barrier_of_the_warp_in_a_branch(1 x 32) |x, y, z, n, t| {
        if *x.add(t) > 15 {
            sync_warp(u32::MAX); // ! lanes
        }
    }
    a_lane_outside_of_its_mask(1 x 32) |x, y, z, n, t| {
        *y.add(t) = warp_shuffle_xor(0xffff, t as u32, 1, 32).0; // ! is not in its own mask
    }
    masks_that_differ(1 x 32) |x, y, z, n, t| {
        sync_warp(if *x.add(t) > 15 { u32::MAX } else { 0xffff }); // !
    }
    the_value_of_a_lane_that_takes_no_part(1 x 32) |x, y, z, n, t| {
        if *x.add(t) < 16 {
            *y.add(t) = warp_shuffle_idx(0xffff, t as u32, 20, 32).0 + 1; // ! nothing has written
        }
    }
    a_flag_that_nobody_sets(1 x 1) |x, y, z, n, t| {
        while AtomicU32::from_ptr(x).load(Acquire) == 0 {} // ! without an end
    }
    a_lock_that_is_taken_twice(1 x 1) |x, y, z, n, t| {
        let lock = AtomicU32::from_ptr(x);
        while lock.swap(1, Acquire) != 0 {}
        while lock.swap(1, Acquire) != 0 {} // ! without an end
    }
    a_barrier_of_the_grid_that_one_block_misses(2 x 32) |x, y, z, n, t| {
        if block_idx_x() == 0 {
            GridBarrier::new(x.cast::<AtomicU32>()).wait(); // ! without an end
        }
    }

    // Alignment.
    a_word_at_an_odd_place(1 x 1) |x, y, z, n, t| {
        *x.byte_add(n - 62) = 1; // ! no multiple of 4
    }
    a_double_word_at_half_of_its_size(1 x 1) |x, y, z, n, t| {
        *x.add(n - 63).cast::<u64>() = 1; // ! no multiple of 8
    }
    a_vector_at_half_of_its_size(1 x 1) |x, y, z, n, t| {
        *y.cast::<U4>() = *x.add(n - 63).cast::<U4>(); // ! no multiple of
    }
    a_double_in_shared_memory(1 x 1) |x, y, z, n, t| {
        let tile = shared_array![u64; 8].cast::<u32>();
        *tile.add(n - 63).cast::<f64>() = 1.0; // ! no multiple of 8
        *x = *tile.add(n % 8);
    }
    words_behind_five_bytes_of_dynamic_memory(1 x 1) |x, y, z, n, t| {
        let words = dynamic_shared_mem::<u8>().add(n - 59).cast::<u32>();
        *words = 1; // ! no multiple of 4
        sync_threads();
        *x = *words.add(t);
    }
    an_atomic_at_half_of_its_size(1 x 1) |x, y, z, n, t| {
        AtomicU64::from_ptr(x.add(n - 63).cast()).fetch_add(1, Relaxed); // ! no multiple of 8
    }
    half_words_at_odd_bytes(1 x 32) |x, y, z, n, t| {
        *y.add(t) = u32::from(*x.cast::<u8>().add(t).cast::<u16>()); // ! no multiple of 2
    }
    a_local_word_at_an_odd_place(1 x 1) |x, y, z, n, t| {
        let mut own = [[n as u8; 16]; 4];
        let place = own.as_mut_ptr().cast::<u8>();
        *place.add(n % 7).cast::<u32>() = 1; // ! no multiple of 4
        *x = u32::from(own[n % 3][n % 5]);
    }

    // Freed memory.
    a_read_of_a_freed_buffer(1 x 64) |x, y, z, n, t| {
        *y.add(t) = *z.add(t); // ! has been freed
    }
    a_write_to_a_freed_buffer(1 x 64) |x, y, z, n, t| {
        *z.add(63 - t) = 1; // ! has been freed
    }
    an_atomic_on_a_freed_buffer(1 x 64) |x, y, z, n, t| {
        AtomicU32::from_ptr(z.add(t)).fetch_max(3, Relaxed); // ! has been freed
    }
    a_use_after_free(1 x 1) |x, y, z, n, t| {
        let place = Box::into_raw(Box::new([n; 9]));
        place.cast::<usize>().add(n % 9).write_volatile(3);
        drop(Box::from_raw(place));
        *x = *place.cast::<usize>().add(n % 7) as u32; // ! has been freed
    }
    a_vector_that_has_grown(1 x 1) |x, y, z, n, t| {
        let mut list: Vec<usize> = Vec::with_capacity(n / 32);
        list.push(n);
        let first = list.as_ptr();
        list.extend(0..n);
        *x = (*first + list[n / 2]) as u32; // ! has been freed
    }
    a_second_free(1 x 1) |x, y, z, n, t| {
        let place = Box::into_raw(Box::new([n; 9]));
        place.cast::<usize>().add(n % 9).write_volatile(3);
        drop(Box::from_raw(place));
        drop(Box::from_raw(place)); // ! free of
    }
    a_free_of_what_was_not_allocated(1 x 1) |x, y, z, n, t| {
        drop(Box::from_raw(x)); // ! free of
    }

    // Panics.
    an_index_behind_a_slice(1 x 64) |x, y, z, n, t| {
        let words = core::slice::from_raw_parts_mut(x, n);
        words[t + 1] = 1; // !
    }
    an_unwrapped_none(1 x 64) |x, y, z, n, t| {
        *y.add(t) = (*x.add(t)).checked_sub(1).unwrap(); // !
    }
    a_division_by_zero(1 x 64) |x, y, z, n, t| {
        *y.add(t) = 100 / *x.add(t); // !
    }
    a_failed_assertion(1 x 64) |x, y, z, n, t| {
        assert!(*x.add(t) < 63, "a number"); // !
        *y.add(t) = 1;
    }
}
