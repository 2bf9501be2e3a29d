use cuda_std::emulator::Launch;
use cuda_std::prelude::*;

#[kernel]
pub fn copy(from: EachRef<'_, f32>, to: Each<'_, f32>) {
    to.zip(from).for_each(|(to, from)| *to = from);
}

fn main() {
    let mut x = [1.0_f32, 2.0];
    Launch::new(1, 32)
        .run_safe::<Copy>((&x, &mut x))
        .unwrap();
}
