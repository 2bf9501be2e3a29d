use cuda_std::prelude::*;

#[kernel]
pub unsafe fn apply(f: impl Fn(f32) -> f32, g: &dyn Fn(f32) -> f32, h: fn(f32) -> f32) {}

fn main() {}
