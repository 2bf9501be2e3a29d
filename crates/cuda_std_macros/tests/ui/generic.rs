use cuda_std::prelude::*;

#[kernel]
pub unsafe fn fill<T: Copy>(data: *mut T, value: T) {
    unsafe { *data = value };
}

fn main() {}
