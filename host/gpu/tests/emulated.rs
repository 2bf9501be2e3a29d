//! Typed launches on the emulator: what a GPU would be asked for too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;
use cuda_std::{Constant, address_space};
use trisolar_device::{Buffer, Device, Emulator, Entry, Grid, HostBuffer, Queue};

/// x[i] += i · by
///
/// # Safety
/// `x` is not accessed in any other way meanwhile.
#[kernel(instances(u32: u32, f32: f32))]
unsafe fn ramp<T: Copy + From<u8> + std::ops::Mul<Output = T> + std::ops::AddAssign>(
    x: &mut [T],
    by: T,
) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x[i] += T::from(i as u8) * by;
    }
}

/// Every block waits for all others.
///
/// # Safety
/// `arrived` is 0, and all blocks are resident.
#[kernel]
unsafe fn meet(arrived: *const AtomicU32) {
    // SAFETY: the caller vouches for the pointer.
    let arrived = unsafe { &*arrived };
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < thread::grid_dim_x() {
        thread::nanosleep(100);
    }
}

/// Numbers the threads.
///
/// # Safety
/// `x` is not accessed in any other way meanwhile.
#[kernel(max_threads = 64)]
unsafe fn number(x: &mut [u32]) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        x[i] = i as u32;
    }
}

#[address_space(constant)]
static FACTORS: Constant<[u32; 2]> = Constant::new([10, 20]);

/// # Safety
/// `x` is not accessed in any other way meanwhile.
#[kernel]
unsafe fn by_factor(x: &mut [u32]) {
    let i = thread::index_1d() as usize;
    x[i] *= FACTORS[i % 2];
}

#[test]
fn a_constant_has_its_first_value_until_it_is_set() {
    let device = emulator();
    let x = Buffer::of(&device, &[1, 2, 3, 4]).unwrap();
    let run = || {
        // SAFETY: nothing else accesses the buffer; there are 4 threads.
        unsafe { device.launch::<ByFactor>(Grid::new(2, 2), (x.slice_mut(),)) }.unwrap();
        let mut host = [0; 4];
        x.download(&mut host).unwrap();
        host
    };
    assert_eq!(run(), [10, 40, 30, 80]);
    assert_eq!(FACTORS.name(), Some("FACTORS"));
    // SAFETY: only this test uses the constant.
    unsafe { device.set_constant(&FACTORS, [3, 5]) }.unwrap();
    assert_eq!(run(), [30, 200, 90, 400]);
    static OTHER: Constant<u32> = Constant::new(1);
    // SAFETY: as above.
    let said = unsafe { device.set_constant(&OTHER, 2) }
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("setting a constant failed: it is no static with #[address_space(constant)]"),
        "{said}"
    );
}

fn emulator() -> Arc<dyn Device> {
    Arc::new(Emulator::new("the emulator".into()).resident(3))
}

#[test]
fn a_kernel_runs_with_its_arguments() {
    let device = emulator();
    let x = Buffer::of(&device, &[10_u32; 40]).unwrap();
    let grid = Grid::covering(40, 32);
    assert_eq!((grid.blocks, grid.threads), (2, 32));
    // SAFETY: nothing else accesses the buffer.
    unsafe { device.launch::<Ramp<u32>>(grid, (x.slice_mut(), 2)) }.unwrap();
    // SAFETY: as above; a grid of no blocks does nothing.
    unsafe { device.launch::<Ramp<u32>>(Grid::covering(0, 32), (x.slice_mut(), 2)) }.unwrap();
    let mut host = [0; 40];
    x.download(&mut host).unwrap();
    assert_eq!((host[0], host[39]), (10, 88));
}

#[test]
fn an_instance_that_is_not_exported_is_an_error_that_names_it() {
    let device = emulator();
    let x = Buffer::of(&device, &[0.0_f64]).unwrap();
    // SAFETY: nothing else accesses the buffer.
    let failed = unsafe { device.launch::<Ramp<f64>>(Grid::new(1, 1), (x.slice_mut(), 1.0)) };
    let said = failed.unwrap_err().to_string();
    assert!(
        said.starts_with("the emulator: finding a kernel failed: "),
        "{said}"
    );
    assert!(
        said.contains("Ramp<f64> is not among the exported instances"),
        "{said}"
    );
    assert!(device.prepare(Entry::of::<Ramp<f64>>(), None).is_err());
    assert_eq!(Entry::of::<Ramp<f32>>().name(), Some("ramp_f32"));
}

/// y[i] += a · x[i]
#[kernel]
fn saxpy(a: f32, x: EachRef<'_, f32>, y: Each<'_, f32>) {
    x.zip(y).for_each(|(x, y)| *y += a * x);
}

#[test]
fn a_safe_kernel_borrows_its_buffers() {
    let (device, other) = (emulator(), emulator());
    let x = Buffer::of(&device, &[1.0; 40]).unwrap();
    let mut y = Buffer::of(&device, &[0.5; 40]).unwrap();
    for grid in [Grid::covering(40, 32), Grid::new(1, 7)] {
        device.run::<Saxpy>(grid, (2.0, &x, &mut y)).unwrap();
    }
    let mut host = [0.0; 40];
    y.download(&mut host).unwrap();
    assert_eq!(host, [4.5; 40]);

    let said = |x: &Buffer<f32>, y: &mut Buffer<f32>| {
        let failed = device.run::<Saxpy>(Grid::new(1, 32), (2.0, x, y));
        failed.unwrap_err().to_string()
    };
    let mut short = Buffer::of(&device, &[0.5; 39]).unwrap();
    assert_eq!(
        said(&x, &mut short),
        "the emulator: saxpy failed: `y` has 39 elements, but `x` has 40: all Each and EachRef of a launch have the same length"
    );
    let elsewhere = Buffer::of(&other, &[1.0; 40]).unwrap();
    assert_eq!(
        said(&elsewhere, &mut y),
        "the emulator: saxpy failed: `x` is on another device than the launch"
    );
}

#[test]
fn a_block_beyond_the_launch_bounds_is_an_error() {
    let device = emulator();
    let x = Buffer::of(&device, &[7_u32; 65]).unwrap();
    // SAFETY: nothing else accesses the buffer.
    let failed = unsafe { device.launch::<Number>(Grid::new(1, 65), (x.slice_mut(),)) };
    let said = failed.unwrap_err().to_string();
    for word in ["65 threads", "number", "max_threads = 64"] {
        assert!(said.contains(word), "{said}");
    }
    // SAFETY: as above.
    unsafe { device.launch::<Number>(Grid::new(1, 64), (x.slice_mut(),)) }.unwrap();
    let mut host = [0; 65];
    x.download(&mut host).unwrap();
    assert_eq!((host[0], host[63], host[64]), (0, 63, 7));
}

#[test]
fn blocks_that_are_resident_wait_for_each_other() {
    let device = emulator();
    let entry = Entry::of::<Meet>();
    let grid = Grid::new(1, 1).cooperative();
    let blocks = device.resident_blocks(entry, grid).unwrap();
    let arrived = Buffer::of(&device, &[0_u32]).unwrap();
    let arguments = (arrived.as_ptr().cast(),);
    // SAFETY: the counter is 0 and its own.
    unsafe { device.launch_entry(entry, Grid { blocks, ..grid }, arguments) }.unwrap();
    let mut count = [0];
    arrived.download(&mut count).unwrap();
    assert_eq!(count, [3]);
}

#[test]
fn copies_go_to_their_places() {
    let device = emulator();
    let mut host = HostBuffer::new(&device, 4, 7_u32).unwrap();
    host[1] = 8;
    let mut a = Buffer::filled(&device, 6, 0xff).unwrap();
    // SAFETY: copies of the emulator are done when the call returns.
    unsafe { a.copy_in(2, &host, 1, 3) }.unwrap();
    let mut b = Buffer::<u32>::filled(&emulator(), 6, 0).unwrap();
    b.copy_from_peer(&a, 1, 3).unwrap();
    let mut c = Buffer::<u32>::filled(&device, 6, 1).unwrap();
    c.copy_from(&b).unwrap();
    // SAFETY: as above.
    unsafe { c.copy_out(Queue::Copies, 1, &mut host, 4) }.unwrap();
    assert_eq!(host[..], [u32::MAX, 8, 7, 0]);
    let mark = device.mark(Queue::Compute).unwrap();
    assert!(mark.reached().unwrap());
}

#[test]
#[should_panic(expected = "values 4 to 7 of 6")]
fn places_beyond_the_end_are_refused() {
    let device = emulator();
    let host = HostBuffer::new(&device, 4, 7_u32).unwrap();
    let mut a = Buffer::filled(&device, 6, 0).unwrap();
    // SAFETY: it is refused.
    let _ = unsafe { a.copy_in(4, &host, 0, 3) };
}
