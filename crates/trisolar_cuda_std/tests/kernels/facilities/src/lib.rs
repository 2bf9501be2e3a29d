//! A kernel for each facility of `cuda_std`, so that tests can count the instructions in its PTX.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, Ordering, compiler_fence};

use cuda_std::atomic::{AtomicF32, AtomicF64, SystemAtomicF32, intrinsics, mid};
use cuda_std::prelude::*;
use cuda_std::shared::{F4, SharedSlice};
use cuda_std::{FloatExt, GpuFloat, approx, intrinsics as nv, mem, misc, ptr, shared_slice, warp};

/// Three barriers, which compile to three `bar.sync`.
#[kernel]
pub unsafe fn three_barriers(data: *mut u32) {
    let tile = shared_slice![u32; 64];
    let t = thread::thread_idx_x() as usize;
    tile.set(t, *data.add(t));
    thread::sync_threads();
    let mut value = tile.get(63 - t);
    thread::sync_threads();
    if value > 10 {
        value /= 2;
    }
    tile.set(t, value);
    thread::sync_threads();
    *data.add(t) = tile.get((t + 1) % 64);
}

/// Reads through references: numbers, which nothing changes meanwhile, and atomics, which others may change.
#[kernel]
pub unsafe fn referenced(x: &[f32], counts: &[AtomicU32], one: &f32, y: *mut f32) {
    let t = thread::thread_idx_x() as usize;
    if let (Some(x), Some(count)) = (x.get(t), counts.get(t)) {
        *y.add(t) = *x + *one + count.load(Ordering::Relaxed) as f32;
    }
}

/// A state that is kept between launches and is too large for registers.
#[derive(Clone, Copy)]
pub struct Large {
    numbers: [f64; 80],
    steps: u64,
}

#[inline(never)]
fn begun(first: f64) -> Large {
    Large { numbers: [first; 80], steps: 0 }
}

/// Tells others where the state is, so that a copy of it may overlap with it for all that LLVM knows.
#[inline(never)]
unsafe fn tell(state: &mut Large, address: *mut usize) {
    *address = (&raw mut *state).expose_provenance();
}

/// States of which LLVM does not know in which memory they are, because their address is part of a structure.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Kept {
    states: *mut Large,
    addresses: *mut usize,
    begins: u32,
    steps: u32,
}

/// Goes on with a state from memory, and writes it back.
#[kernel]
pub unsafe fn kept(kept: Kept) {
    let place = kept.states.add(thread::index_1d() as usize);
    let mut state = if kept.begins == 1 { begun(f64::from(kept.steps)) } else { *place };
    tell(&mut state, kept.addresses);
    let mut step = 0;
    while step < kept.steps {
        let at = state.numbers[step as usize % 80] as usize % 80;
        state.numbers[at] += 1.0;
        state.steps += 1;
        step += 1;
    }
    if state.steps > 3 {
        place.copy_from(&raw const state, 1);
    }
}

/// The same condition before and after a call of a function with a barrier.
#[kernel]
pub unsafe fn barrier_between_conditions(data: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let mut value = 0;
    if t < 26 {
        value = *data.add(64 + t);
    }
    reversed(data);
    if t < 26 {
        *data.add(t) += value;
    }
}

/// Reverses 64 numbers, and adds to each that of the lane 16 lanes further on.
#[inline(always)]
unsafe fn reversed(data: *mut u32) {
    let tile = shared_slice![u32; 64];
    let t = thread::thread_idx_x() as usize;
    tile.set(t, *data.add(t));
    thread::sync_threads();
    let value = tile.get(63 - t);
    *data.add(t) = value + warp::warp_shuffle_down(u32::MAX, value, 16, 32).0;
}

/// Three kinds of `bar.red`.
#[kernel]
pub unsafe fn voting_barriers(data: *mut u32) {
    let p = (thread::thread_idx_x() > *data) as u32;
    *data.add(1) = thread::sync_threads_count(p);
    *data.add(2) = thread::sync_threads_and(p);
    *data.add(3) = thread::sync_threads_or(p);
}

/// 128-bit shared loads and stores, which compile to `ld.shared.v4` and `st.shared.v4`.
#[kernel]
pub unsafe fn wide_shared(data: *mut F4) {
    let tile = SharedSlice::<F4>::dynamic(0, 32);
    let t = thread::thread_idx_x() as usize;
    tile.set(t, *data.add(t));
    thread::sync_threads();
    let mut sum = F4::default();
    for j in 0..32 {
        let value = tile.get(j);
        sum = F4::new(sum.x + value.x, sum.y + value.y, sum.z + value.z, sum.w + value.w);
    }
    *data.add(t) = sum;
}

/// Four kinds of shuffle, one of them on 64 bits, which compile to five `shfl.sync`.
#[kernel]
pub unsafe fn shuffles(words: *mut u32, numbers: *mut f64) {
    let i = thread::index_1d() as usize;
    let value = *words.add(i);
    let (down, _) = warp::warp_shuffle_down(u32::MAX, value, 1, 32);
    let (up, _) = warp::warp_shuffle_up(u32::MAX, down, 2, 16);
    let (cross, _) = warp::warp_shuffle_xor(u32::MAX, up, 4, 8);
    *words.add(i) = cross;
    *numbers.add(i) = warp::warp_shuffle_idx(u32::MAX, *numbers.add(i), 0, 32).0;
}

/// Votes, matches and the mask of active lanes.
#[kernel]
pub unsafe fn votes(words: *mut u32) {
    let i = thread::index_1d() as usize;
    let value = *words.add(i);
    let all = warp::warp_vote_all(u32::MAX, value > 1);
    let any = warp::warp_vote_any(u32::MAX, value > 2);
    let ballot = warp::warp_vote_ballot(u32::MAX, value > 3);
    warp::sync_warp(u32::MAX);
    let same = warp::warp_match_any(u32::MAX, value) ^ warp::warp_match_all(u32::MAX, value as u64).unwrap_or(7);
    *words.add(i) = ballot ^ same ^ warp::activemask() ^ ((all as u32) << 1 | any as u32);
}

/// Atomics of device, block and system scope.
#[kernel]
pub unsafe fn atomics(count: *const AtomicU32, sum: *const AtomicF64, system: *const SystemAtomicF32, word: *mut i32) {
    (*count).fetch_add(1, Ordering::Relaxed);
    (*sum).fetch_sub(1.5, Ordering::AcqRel);
    (*system).store(1.0, Ordering::Release);
    intrinsics::atomic_fetch_max_relaxed_i32_block(word, 3);
    intrinsics::atomic_fetch_cas_acquire_i32_device(word.add(1), 3, 4);
    intrinsics::atomic_fetch_cas_volatile_f32_system(word.add(2).cast(), 3.0, 4.0);
    mid::atomic_compare_and_swap_f64_block(word.add(4).cast(), 3.0, 4.0, Ordering::AcqRel);
    thread::device_fence();
    thread::system_fence();
}

/// Exact functions, which compile to instructions.
#[kernel]
pub unsafe fn exact(x: *mut f64, y: *mut f32) {
    *x = GpuFloat::sqrt(*x);
    *x.add(1) = GpuFloat::mul_add(*x.add(1), 2.0, *x.add(2));
    *x.add(2) = GpuFloat::floor(*x.add(2)) + GpuFloat::ceil(*x.add(3)) + GpuFloat::trunc(*x.add(4));
    *y = GpuFloat::sqrt(*y);
    *y.add(1) = GpuFloat::mul_add(*y.add(1), 2.0, *y.add(2)) + GpuFloat::round(*y.add(3)).round_ties_even() + GpuFloat::abs(*y.add(4));
}

/// Transcendental functions, which must not leave undefined symbols.
#[kernel]
pub unsafe fn transcendental(x: *mut f64, y: *mut f32) {
    macro_rules! each {
        ($at:expr, $($name:ident)*) => {{ $( *$at = GpuFloat::$name(*$at); )* }};
    }
    each!(x, exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);
    each!(y, exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1 ln_1p sinh cosh tanh asinh acosh atanh);
    *x = GpuFloat::powf(*x, 0.3) + GpuFloat::hypot(*x, 2.0) + GpuFloat::atan2(*x, 3.0) + GpuFloat::powi(*x, 3);
    *y = GpuFloat::powf(*y, 0.3) + GpuFloat::hypot(*y, 2.0) + GpuFloat::atan2(*y, 3.0) + GpuFloat::rem_euclid(*y, 3.0);
    *x = x.read().error_function() + x.read().gamma() + x.read().inv_norm_cdf() + x.read().j0() + x.read().sinpi();
}

/// The fast, inexact instructions.
#[kernel]
pub unsafe fn approximate(x: *mut f64, y: *mut f32) {
    *x = approx::rsqrt_f64(*x) + approx::rcp_f64(*x);
    *y = approx::rsqrt_f32(*y) + approx::rcp_f32(*y) + approx::sqrt_f32(*y) + approx::exp2_f32(*y);
    *y.add(1) = approx::log2_f32(*y) + approx::sin_f32(*y) + approx::cos_f32(*y);
}

/// Functions of libdevice by its names, called as in kernels for rust-cuda.
#[kernel]
pub unsafe fn libdevice(x: *mut f64, y: *mut f32, n: *mut i32, l: *mut i64) {
    let (a, b, i, j) = (*x, *y, *n, *l);
    *x = nv::dadd_rn(a, a) + nv::ddiv_rd(a, 3.0) + nv::dmul_ru(a, a) + nv::drcp_rz(a) + nv::dsqrt_rd(a) + nv::fma_ru(a, a, a);
    *x.add(1) = nv::ll2double_rd(j) + nv::ull2double_ru(j) + nv::sin(a) + nv::erfinv(a) + nv::nan(l.cast());
    nv::sincos(a, x.add(2), x.add(3));
    *x.add(4) = nv::remquo(a, 3.0, n.add(8)) + nv::modf(a, x.add(5));
    *y = nv::fadd_rz(b, b) + nv::fsub_rd(b, 2.0) + nv::fmul_rz(b, b) + nv::fdiv_ru(b, 3.0) + nv::fsqrt_rn(b) + nv::fmaf_rn(b, b, b);
    *y.add(1) = nv::double2float_rz(a) + nv::int2float_rd(i) + nv::uint2float_ru(i) + nv::ll2float_rz(j) + nv::ull2float_rn(j);
    *y.add(2) = nv::fast_sinf(b) + nv::fast_expf(b) + nv::fast_fdividef(b, 3.0) + nv::frsqrt_rn(b);
    *n = nv::byte_perm(i, 7, 0x3715) ^ nv::clz(i) ^ nv::sad(i, 3, 4) ^ nv::float2int_rn(b) ^ nv::double2uint_ru(a);
    *n.add(1) = nv::mulhi(i, 12345) ^ nv::popcll(j) ^ nv::brev(i);
    *l = nv::umul64hi(j, j | 1) ^ nv::llrint(a) ^ nv::float2ull_rd(b);
}

/// Special registers, address spaces, printing and sleeping.
#[kernel]
pub unsafe fn special(out: *mut u64) {
    let start = misc::clock();
    thread::nanosleep(100);
    misc::profiler_counter(3);
    *out = u64::from(mem::dynamic_smem_size()) + u64::from(mem::total_smem_size());
    let tile = cuda_std::shared_array![u64; 4];
    *out.add(1) = ptr::is_in_address_space(tile, ptr::AddressSpace::Shared).into();
    println!("took {} cycles", misc::clock() - start);
    cuda_std::assert_eq!(*out, 7);
}

/// Three-dimensional indices.
#[kernel]
pub unsafe fn indices(out: *mut u32) {
    let at = thread::index_3d();
    *out.add(thread::index() as usize) = at.x + at.y + at.z + thread::grid_dim().z;
}

/// Reductions need sm_80; see `reduction` in the tests.
#[cfg(feature = "sm_80")]
#[kernel]
pub unsafe fn reductions(words: *mut u32, signed: *mut i32) {
    use warp::{WarpReductionOp, warp_reduce};
    let i = thread::index_1d() as usize;
    *words.add(i) = warp_reduce(u32::MAX, *words.add(i), WarpReductionOp::Add);
    *signed.add(i) = warp_reduce(u32::MAX, *signed.add(i), WarpReductionOp::Min);
}

/// Comparisons of slices and strings, and copies and fills whose length is known only at run time.
#[kernel]
pub unsafe fn slices(bytes: *mut u8, words: *mut u32, count: usize) {
    let (low, rest) = core::slice::from_raw_parts_mut(bytes, 4 * count).split_at_mut(2 * count);
    let (a, b) = low.split_at_mut(count);
    *words = (a == b) as u32;
    *words.add(1) = (&*a < &*b) as u32;
    *words.add(2) = core::str::from_utf8(a).is_ok_and(|text| text == "divergence") as u32;
    rest[..count].copy_from_slice(b);
    rest.copy_within(..count, count / 2);
    a.fill(7);
}

/// Fences within a thread, which must keep every store.
#[kernel]
pub unsafe fn fences(out: *mut u32) {
    *out = 1;
    compiler_fence(Ordering::Acquire);
    *out = 2;
    compiler_fence(Ordering::Release);
    *out = 3;
    compiler_fence(Ordering::AcqRel);
    *out = 4;
    compiler_fence(Ordering::SeqCst);
    *out = 5;
}

/// Remainders by a variable and by a constant, and one that is written out as a formula.
#[kernel]
pub unsafe fn remainders(x: f64, y: f64, out: *mut f64, single: *mut f32) {
    *out = x % y;
    *out.add(1) = x % 3.0;
    *out.add(2) = GpuFloat::mul_add(-GpuFloat::trunc(y / x), x, y);
    *single = *single % *single.add(1);
}

/// Indices minus a condition and minus its negation, as in core's sorting functions.
#[kernel]
pub unsafe fn steps_back(base: *const u64, out: *mut u64) {
    let (left, right) = (base.add(11), base.add(23));
    let stays = !(*right < *left);
    *out = *right.wrapping_sub(stays as usize);
    *out.add(1) = *left.wrapping_sub(!stays as usize);
}

/// A float stored at an unaligned address must keep its bytes.
#[kernel]
pub unsafe fn odd_place(place: *mut u8, x: f64) {
    place.add(1).cast::<f32>().write_unaligned(x as f32);
}

#[inline(never)]
fn add(to: &AtomicU32, x: u32) -> u32 {
    to.fetch_add(x, Ordering::Relaxed)
}

/// Atomics in a thread's own memory: exchanges that LLVM compiles to `atom.local`, instructions in assembly, and a function
/// that does not know which kind of memory it is given.
#[kernel]
pub unsafe fn own_memory(out: *mut u32, n: usize) {
    let words: [AtomicU32; 4] = core::array::from_fn(|i| AtomicU32::new(i as u32));
    let long: [AtomicI64; 2] = core::array::from_fn(|i| AtomicI64::new(i as i64));
    let bytes: [AtomicU8; 4] = core::array::from_fn(|i| AtomicU8::new(i as u8));
    let number = AtomicF32::new(0.5);
    for i in 0..n {
        let _ = words[i % 4].compare_exchange(i as u32, 7, Ordering::AcqRel, Ordering::Relaxed);
        let _ = long[i % 2].compare_exchange(i as i64, 7, Ordering::SeqCst, Ordering::Relaxed);
        let _ = bytes[i % 4].compare_exchange(i as u8, 7, Ordering::Relaxed, Ordering::Relaxed);
        number.fetch_add(1.5, Ordering::Relaxed);
    }
    *out = words[n % 4].load(Ordering::Relaxed) + bytes[n % 4].load(Ordering::Relaxed) as u32;
    *out.add(1) = long[n % 2].load(Ordering::Relaxed) as u32 + number.load(Ordering::Relaxed) as u32;
    *out.add(2) = add(&words[0], 3) + add(&*out.add(3).cast(), 4);
}

/// A kernel for blocks of at most 128 threads, four of which are on a multiprocessor.
#[kernel(max_threads = 128, min_blocks = 4)]
pub unsafe fn bounded(out: &mut [f32]) {
    let i = thread::index_1d() as usize;
    if i < out.len() {
        out[i] *= 2.0;
    }
}

/// Instances within bounds.
#[kernel(max_threads = 64, instances(f32: f32, f64: f64), max_registers = 40)]
pub unsafe fn few_registers<T: Copy + core::ops::Add<Output = T>>(out: *mut T) {
    *out = *out + *out;
}

/// Clusters of two by two blocks that read, write and count in each other's shared memory.
#[cfg(feature = "sm_90")]
#[kernel(cluster = (2, 2), max_threads = 64)]
pub unsafe fn clusters(out: *mut f32) {
    use cuda_std::cluster;
    let four = shared_slice![F4; 64];
    let one = shared_slice![f32; 64];
    let i = thread::thread_idx_x() as usize;
    one.set(i, cluster::block_idx_x() as f32);
    cluster::sync();
    let next = (cluster::rank() + 1) % cluster::size();
    let x = cluster::map_shared_rank(one, next).get(i);
    cluster::map_shared_rank(four, next).set(i, F4::new(x, x, x, x));
    let counter = cluster::map_shared_rank(one, 0).as_mut_ptr();
    (*counter.cast::<AtomicU32>()).fetch_add(1, Ordering::Relaxed);
    cluster::arrive();
    cluster::wait();
    *out.add(i) = four.get(i).w + one.get(0);
}

/// A group of threads gives registers to another one.
#[cfg(feature = "sm_90a")]
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn moved_registers(out: *mut f32) {
    use cuda_std::registers;
    let i = thread::thread_idx_x() as usize;
    if i < 128 {
        registers::decrease::<40>();
        *out.add(i) = 1.0;
    } else {
        registers::increase::<232>();
        *out.add(i) = 2.0;
    }
}
