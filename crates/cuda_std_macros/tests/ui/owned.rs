use cuda_std::prelude::*;

#[kernel]
pub unsafe fn report(name: String, label: &str, data: Vec<f32>, one: Box<f32>) {}

fn main() {}
