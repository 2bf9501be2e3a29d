//! Encounters of the self test.

use trisolar::bodies::Points;
use trisolar::encounters::{Choice, Jump, Order, Setup, Specification, Validated};

use super::ensembles::Case;
use super::{Failure, Sizes};

/// Encounters of all kinds of starts. The emulator computes fewer of them where these do not depend on the number of all.
pub(super) fn cases(sizes: &Sizes) -> Result<Vec<Case<Validated>>, Failure> {
    let usual = Specification {
        n: sizes.runs,
        ..Specification::default()
    };
    let of = |name: &str, specification: Specification| {
        let few = specification.size.is_none().then(|| Specification {
            n: sizes.emulated_runs,
            ..specification.clone()
        });
        Case::new(
            name,
            specification.validate(),
            few.map(Specification::validate),
        )
    };
    let scattered = Specification {
        order: Order::Eight,
        parameters: [
            ("phase", Choice::Uniform([0.0, 360.0])),
            ("inclination", Choice::Isotropic([0.0, 180.0])),
            ("node", Choice::Uniform([0.0, 360.0])),
            ("e", Choice::Square([0.0, 0.99])),
            ("mass3", Choice::Uniform([1.0, 30.0])),
            ("v-inf", Choice::Uniform([0.1, 4.0])),
            ("impact", Choice::Square([0.0, 20.0])),
        ]
        .into(),
        radii: [0.05; 3],
        ..usual.clone()
    };
    let free_fall = Specification {
        setup: Setup::FreeFall,
        parameters: [("x", Choice::Region), ("y", Choice::Region)].into(),
        ..usual.clone()
    };
    let map = Specification {
        size: Some(sizes.encounters_map),
        parameters: [
            ("phase", Choice::Columns([0.0, 360.0])),
            ("inclination", Choice::Rows([0.0, 180.0])),
        ]
        .into(),
        jump: Jump::Off,
        order: Order::Two,
        steps_per_period: 200.0,
        limits: trisolar::encounters::Limits {
            max_time: Some(2000.0),
            max_steps: 20_000,
        },
        ..usual.clone()
    };
    // Burrau's triangle with its third body displaced.
    let mut values = Vec::new();
    for i in 0..sizes.points {
        let shift = i as f64 * 1e-3;
        values.extend([1.0, 3.0, 0.0, -2.0, -1.0, shift, 1.0, -1.0 + shift, 0.0]);
        values.extend([0.0; 9]);
        values.extend([3.0, 4.0, 5.0]);
    }
    let points = Points::new(&[sizes.points as usize, 21], values).expect("plain numbers");
    Ok(vec![
        of("encounters, at rest", usual.clone())?,
        of("encounters, drawn, order 8", scattered)?,
        of("encounters, free fall", free_fall)?,
        of("encounters, a map, order 2", map)?,
        Case::new("encounters, points", usual.validate_points(&points), None)?,
    ])
}
