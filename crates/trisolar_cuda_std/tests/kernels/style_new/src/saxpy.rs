use cuda_std::prelude::*;

/// y = a x + y
///
/// # Safety
/// `y` holds as many elements as `x`.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let y = unsafe { &mut *y.add(i) };
        *y += a * x[i];
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    pub scale: f64,
}

/// Fills an image, one pixel for each thread of a two-dimensional launch.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn gradient(image: *mut f64, window: Window) {
    let at = thread::index_2d();
    if at.x >= window.width || at.y >= window.height {
        return;
    }
    let pixel = unsafe { image.add((at.y * window.width + at.x) as usize) };
    unsafe { *pixel = window.scale * (at.x + at.y) as f64 };
}

/// Allocates on the device's heap.
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn on_the_heap(data: &mut [u32]) {
    let squares: Vec<u32> = (0..data.len() as u32).map(|x| x * x).collect();
    let boxed = Box::new(thread::index_1d());
    data[*boxed as usize] = squares[*boxed as usize];
}
