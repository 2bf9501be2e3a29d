use cuda_std::prelude::*;

#[kernel]
pub unsafe fn pair((x, y): (f32, f32)) {
    let _ = x + y;
}

fn main() {}
