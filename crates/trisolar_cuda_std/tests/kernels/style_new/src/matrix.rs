use core::mem::MaybeUninit;

use cuda_std::address_space;
use cuda_std::kernel;
use cuda_std::thread;

const SIDE: usize = 16;

#[kernel]
#[allow(improper_ctypes_definitions)]
/// C = A B for square row-major matrices of `n` rows; a block of 16 × 16 threads computes one tile of C.
///
/// # Safety
/// All three hold n² elements.
pub unsafe fn multiply(a: &[f32], b: &[f32], c: *mut f32, n: usize) {
    #[address_space(shared)]
    static mut A: [MaybeUninit<f32>; SIDE * SIDE] = [MaybeUninit::uninit(); SIDE * SIDE];
    #[address_space(shared)]
    static mut B: [[f32; SIDE]; SIDE] = [[0.0; SIDE]; SIDE];

    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * SIDE + y;
    let column = thread::block_idx_x() as usize * SIDE + x;
    let mut sum = 0.0f32;
    for k in (0..n).step_by(SIDE) {
        let from_a = if row < n && k + x < n {
            a[row * n + k + x]
        } else {
            0.0
        };
        unsafe { A[y * SIDE + x].write(from_a) };
        unsafe {
            B[y][x] = if column < n && k + y < n {
                b[(k + y) * n + column]
            } else {
                0.0
            }
        };
        thread::sync_threads();
        for i in 0..SIDE {
            sum += unsafe { A[y * SIDE + i].assume_init() * B[i][x] };
        }
        thread::sync_threads();
    }
    if row < n && column < n {
        unsafe { *c.add(row * n + column) = sum };
    }
}

/// Uses the address of a shared static, which is that of the block's memory.
#[kernel]
pub unsafe fn reverse(data: *mut u32) {
    #[address_space(shared)]
    static mut TILE: [MaybeUninit<u32>; 32] = [MaybeUninit::uninit(); 32];
    let lane = thread::thread_idx_x() as usize;
    let tile = core::ptr::addr_of_mut!(TILE).cast::<u32>();
    unsafe {
        *tile.add(lane) = *data.add(lane);
        thread::sync_threads();
        *data.add(lane) = *tile.add(31 - lane);
    }
}

#[address_space(shared)]
static mut SCRATCH: [u32; 64] = [0; 64];

fn exchange(i: usize, value: u32) -> u32 {
    unsafe { SCRATCH[i] = value };
    thread::sync_threads();
    unsafe { SCRATCH[63 - i] }
}

/// A function uses a shared static of the module.
#[kernel]
pub unsafe fn reverse_in_a_function(data: *mut u32) {
    let i = thread::thread_idx_x() as usize;
    let slot = unsafe { &mut *data.add(i) };
    *slot = exchange(i, *slot);
}
