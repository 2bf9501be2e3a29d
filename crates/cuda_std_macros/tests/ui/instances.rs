use cuda_std::prelude::*;

#[kernel(instances(f32: f32))]
pub unsafe fn not_generic(data: *mut f32) {
    unsafe { *data = 0.0 };
}

#[kernel(instances())]
pub unsafe fn none<T: Copy>(data: *mut T, value: T) {
    unsafe { *data = value };
}

fn main() {}
