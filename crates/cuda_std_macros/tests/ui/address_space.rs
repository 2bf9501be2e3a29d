use cuda_std::address_space;

#[address_space(texture)]
static mut A: [f32; 4] = [0.0; 4];

#[address_space(local)]
static mut B: [f32; 4] = [0.0; 4];

fn main() {}
