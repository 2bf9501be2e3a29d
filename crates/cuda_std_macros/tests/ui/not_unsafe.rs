use cuda_std::prelude::*;

#[kernel]
pub fn fill(data: *mut f32) {
    let _ = data;
}

fn main() {}
