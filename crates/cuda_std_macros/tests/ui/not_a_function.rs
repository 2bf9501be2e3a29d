use cuda_std::prelude::*;

#[kernel]
pub struct Kernel;

fn main() {}
