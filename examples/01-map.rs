//! The shortest way to a map and its picture: `cargo run --release --example 01-map`.

use std::error::Error;

use trisolar::divergence::{RunOptions, Specification, Unattended, run};
use trisolar::io::picture::{self, Map, PictureStyle};

fn main() -> Result<(), Box<dyn Error>> {
    // The headline map, with fewer pixels.
    let specification = Specification {
        size: [100, 100],
        ..Specification::default()
    };
    let steps = specification.steps as u32;

    // A GPU if there is one, otherwise the CPU. The numbers are the same.
    let map = run(
        &specification.validate()?,
        &RunOptions::default(),
        &Unattended,
    )?;
    println!(
        "{}, {:.2?}: {} of {} pixels never parted",
        map.report.device,
        map.report.elapsed,
        map.statistics.never_parted.unwrap_or(0),
        map.values.len()
    );

    // Bright where twins part early.
    let left = Map::mapped(map.steps_together(), 100, 100, |together| {
        f64::from(steps - together)
    });
    picture::bare("map.png", &left, &PictureStyle::default(), None)?;
    println!("map.png");
    Ok(())
}
