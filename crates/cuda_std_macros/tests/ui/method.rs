use cuda_std::prelude::*;

struct Body;

impl Body {
    #[kernel]
    pub unsafe fn step(self) {}
}

fn main() {}
