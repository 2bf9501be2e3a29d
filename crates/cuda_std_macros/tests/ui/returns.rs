use cuda_std::prelude::*;

#[kernel]
pub unsafe fn energy(data: *const f32) -> f32 {
    unsafe { *data }
}

fn main() {}
