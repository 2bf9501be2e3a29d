use cuda_std::prelude::*;

#[kernel]
pub unsafe fn fill<const N: usize>(data: *mut [f32; N]) {
    let _ = data;
}

fn main() {}
