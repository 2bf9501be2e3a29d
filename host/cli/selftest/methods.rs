//! Maps of every quantity in every precision and with every integrator for which it is compiled, of grids, of points, and of points with
//! masses of their own.

use glam::DVec3;
use trisolar::bodies::Points;
use trisolar::divergence::{Integrator, Precision, Quantity, Specification, Start};
use trisolar::spec::SpecError;

use super::{Case, Outcome, Sizes, Spread};
use crate::Failure;

/// A small map with early, late and no partings.
fn lively(sizes: &Sizes) -> Specification {
    Specification {
        size: sizes.methods,
        center: [2.0, 3.0].into(),
        span: [40.0, 37.0],
        steps: 300,
        dt: 0.02,
        shift: DVec3::new(0.02, -0.01, 0.015),
        critical_distance: 0.04,
        ..Specification::default()
    }
}

/// The methods that give the same bits on every engine.
fn methods(sizes: &Sizes) -> impl Iterator<Item = Specification> {
    Quantity::ALL.iter().flat_map(move |quantity| {
        let precisions = Precision::ALL.into_iter().filter(|p| p.is_portable());
        let methods = precisions.flat_map(move |precision| {
            Integrator::ALL.iter().map(move |integrator| Specification {
                quantity: *quantity,
                precision,
                integrator: *integrator,
                start: if integrator.is_multistep() {
                    Start::RungeKutta
                } else {
                    Start::Euler
                },
                ..lively(sizes)
            })
        });
        methods.filter(|s| s.has_method())
    })
}

/// Masses of neighbouring points: some of test bodies, except for regularised integrators.
const MASSES: [[f64; 3]; 3] = [[10.0, 20.0, 30.0], [0.0, 5.0, 40.0], [12.0, 0.0, 0.5]];

/// The grid's start states, with 18 numbers each or with 21.
fn points(grid: &Specification, columns: usize) -> Result<Points, SpecError> {
    let valid = grid.clone().validate()?;
    let starts = valid.job(0, 0).grid;
    let mut values = Vec::new();
    for pixel in 0..valid.pixels() {
        let mut positions = grid.positions;
        positions[usize::from(grid.body) - 1] = DVec3::from(starts.start(pixel));
        let vectors = positions.iter().chain(&grid.velocities);
        values.extend(vectors.flat_map(|v| v.to_array()));
        if columns == 21 {
            let least = (grid.integrator.steps_per_period()).map_or(0.0, |_| 1.0);
            values.extend(MASSES[pixel as usize % MASSES.len()].map(|m| m.max(least)));
        }
    }
    Points::new(&[valid.pixels() as usize, columns], values)
}

/// The maps.
pub(super) fn cases(sizes: &Sizes) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for s in methods(sizes) {
        // Divergence is the default and is not named.
        let quantity = match s.quantity {
            Quantity::Divergence => String::new(),
            quantity => format!("{quantity}, "),
        };
        let method = format!("{quantity}{}, {}", s.precision, s.integrator);
        let valid = [
            ("grid", s.clone().validate()),
            ("points", given(&s, 18)),
            ("points with masses", given(&s, 21)),
        ];
        for (what, valid) in valid {
            let name = format!("{method}, {what}");
            let valid = valid
                .map_err(|e| Failure::Failed(format!("the map {name} of the self test: {e}")))?;
            cases.push(Case {
                name,
                valid,
                brief: true,
            });
        }
    }
    Ok(cases)
}

fn given(s: &Specification, columns: usize) -> Result<super::Validated, SpecError> {
    s.clone().validate_points(points(s, columns)?)
}

/// A line for each map, and one for each engine that differs.
pub(super) fn table(spreads: &[Spread], outcomes: &[Outcome]) -> String {
    let mut text = String::from("quantities, precisions and integrators\n");
    for spread in spreads.iter().filter(|s| s.brief) {
        let of_map = || outcomes.iter().filter(|o| o.map == spread.map);
        let equal = of_map().filter(|o| o.agrees()).count();
        text.push_str(&format!(
            "  {:<48} {equal:>2} of {} engines equal\n",
            spread.map,
            of_map().count()
        ));
        for outcome in of_map().filter(|o| !o.agrees()) {
            text.push_str(&format!(
                "    {}: {}\n",
                outcome.engine,
                outcome.verdict("PIXELS")
            ));
        }
    }
    text.push('\n');
    text
}
