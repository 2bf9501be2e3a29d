use cuda_std::prelude::*;

#[kernel]
pub unsafe extern "system" fn fill(data: *mut f32) {
    let _ = data;
}

fn main() {}
