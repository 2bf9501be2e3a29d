use cuda_std::prelude::*;

pub struct Owner(std::sync::Mutex<u32>);

#[kernel]
pub unsafe fn take(owner: Owner) {
    let _ = owner;
}

fn main() {}
