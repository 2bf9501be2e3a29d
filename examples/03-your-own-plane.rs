//! A map of another plane and another body, with softening, in a NumPy archive: `cargo run --release --example 03-your-own-plane`.

use std::error::Error;

use glam::DVec3;
use trisolar::divergence::{Plane, RunOptions, Specification, Unattended, run};
use trisolar::io::npz::NpzWriter;

fn main() -> Result<(), Box<dyn Error>> {
    let specification = Specification {
        // The grid determines y and z of body 3; `positions` determines its x.
        plane: Plane::Yz,
        body: 3,
        size: [160, 90],
        center: [0.0, 2.0].into(),
        span: [32.0, 18.0],
        // Body 2 is a test body, which is attracted by the others without attracting them.
        masses: [20.0, 0.0, 20.0],
        positions: [
            DVec3::ZERO,
            DVec3::new(5.0, 0.0, 0.0),
            DVec3::new(-4.0, 0.0, 0.0),
        ],
        softening: 0.05,
        steps: 20_000,
        ..Specification::default()
    };

    // A value that is not allowed is an error that names the option, before any work starts.
    let mistaken = Specification {
        dt: -1.0,
        ..specification.clone()
    };
    println!("{}", mistaken.validate().unwrap_err());

    let valid = specification.validate()?;
    for warning in valid.warnings() {
        println!("{warning}");
    }
    let map = run(&valid, &RunOptions::default(), &Unattended)?;
    let [width, height] = map.specification.size.map(|n| n as usize);
    let mut file = NpzWriter::create("plane.npz")?;
    file.array("steps_together", &[height, width], map.steps_together())?;
    file.text(
        "specification.json",
        &serde_json::to_string(&map.specification)?,
    )?;
    file.finish()?;
    println!(
        "plane.npz: {} pixel-steps in {:.2?}",
        map.statistics.pixel_steps, map.report.elapsed
    );
    Ok(())
}
