use cuda_std::prelude::*;

#[kernel(threads = 1d)]
pub unsafe fn fill(data: *mut f32) {
    let _ = data;
}

fn main() {}
