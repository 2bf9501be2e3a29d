//! Planetary systems of the self test.

use trisolar::planets::{Observable, Overrides, Validated};
use trisolar::spec::SpecError;

use super::ensembles::Case;
use super::{Failure, Sizes};

/// Numbers of planets of which systems are compared, up to the most that a system can have.
const COUNTS: [usize; 6] = [1, 2, 3, 4, 8, 15];

/// Systems of drawn starts, each with every number of planets, that are stable, meet, escape or are chaotic.
fn systems(count: usize, observable: Observable, n: u64) -> Result<Validated, SpecError> {
    let planet = |i: usize| {
        let (a, e) = (1.25_f64.powi(i as i32), if count == 1 { 0.99 } else { 0.3 });
        let angle = "uniform(0,6.28)";
        let text = format!(
            "m=uniform(1e-6,1e-3),a={a},e=thermal(0,{e}),inc=uniform(0,0.3),Omega={angle},omega={angle},M={angle}"
        );
        text.parse()
            .map_err(|e: String| SpecError::new("planet", &text, e))
    };
    let read = |stop: &&str| {
        let stop: Result<_, String> = stop.parse();
        stop.map_err(|e| SpecError::new("stop", "a stop", e))
    };
    let stops = ["r>20", "hill<0.5", "megno>8"];
    let stops = &stops[..if observable.has_tangent() { 3 } else { 2 }];
    let overrides = Overrides {
        planet: (0..count).map(planet).collect::<Result<_, _>>()?,
        n: Some(n),
        years: Some(15.0),
        observable: Some(observable),
        stop: stops.iter().map(read).collect::<Result<_, _>>()?,
        ..Overrides::default()
    };
    overrides.validated()
}

pub(super) fn cases(sizes: &Sizes) -> Result<Vec<Case<Validated>>, Failure> {
    let kernels = [
        ("planets_alone", Observable::Time),
        ("planets_tangent", Observable::Megno),
    ];
    let mut cases = Vec::new();
    for (kernel, observable) in kernels {
        for count in COUNTS {
            let s = if count == 1 { "" } else { "s" };
            let name = format!("{kernel}, {count} planet{s}");
            let of = |n| systems(count, observable, n);
            cases.push(Case::new(
                name,
                of(sizes.systems),
                Some(of(sizes.emulated_systems)),
            )?);
        }
    }
    Ok(cases)
}
