use cuda_std::prelude::*;

#[kernel]
pub async unsafe fn fill(data: *mut f32) {
    let _ = data;
}

fn main() {}
