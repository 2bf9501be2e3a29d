use trisolar_device::{Buffer, Grid, gpu_or_emulator, include_kernels};

mod kernels;
include_kernels!();

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = gpu_or_emulator();
    let mut numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut data = Buffer::of(&device, &numbers)?;
    device.run::<kernels::Scale>(Grid::covering(1000, 128), (0.5, &mut data))?;
    data.download(&mut numbers)?;
    println!("{}: {:?}", device.info().name, &numbers[..5]);
    Ok(())
}
