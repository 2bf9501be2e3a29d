//! Planetary systems of the self test.

use trisolar::planets::{
    Elements, Integrator, Number, Observable, Overrides, Relativity, Validated,
};
use trisolar::spec::SpecError;

use super::ensembles::Case;
use super::{Failure, Sizes};

/// Numbers of planets of which systems are compared, up to the most that a system can have.
const COUNTS: [usize; 7] = [1, 2, 3, 4, 6, 8, 15];

/// Systems of drawn starts, each with every number of planets, that are stable, meet, escape or are chaotic.
fn systems(
    count: usize,
    observable: Observable,
    n: u64,
    change: fn(&mut Overrides),
) -> Result<Validated, SpecError> {
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
    // Refused where they can never be true.
    let stops = ["r>20", "hill<0.5", "megno>8"]
        .iter()
        .filter(|stop| match **stop {
            "hill<0.5" => count > 1,
            "megno>8" => observable.has_tangent(),
            _ => true,
        });
    let mut overrides = Overrides {
        planet: (0..count).map(planet).collect::<Result<_, _>>()?,
        n: Some(n),
        years: Some(15.0),
        observable: Some(observable),
        stop: stops.map(read).collect::<Result<_, _>>()?,
        ..Overrides::default()
    };
    change(&mut overrides);
    overrides.validated()
}

pub(super) fn cases(sizes: &Sizes) -> Result<Vec<Case<Validated>>, Failure> {
    type Change = fn(&mut Overrides);
    let general: Change = |o| {
        o.relativity = Some(Relativity::Potential);
        o.j2 = Some(0.01);
        o.radius = Some(Number::Fixed(0.1));
    };
    let adaptive: Change = |o| {
        o.integrator = Some(Integrator::Adaptive);
        o.relativity = Some(Relativity::Full);
    };
    let hybrid: Change = |o| o.integrator = Some(Integrator::Hybrid);
    let (alone, tangent) = (Observable::Time, Observable::Megno);
    // What adaptive kernels and those for any physics do does not depend on the number of planets.
    let few: &[usize] = &[2, 3, 4];
    let (orbit, indicator) = (Observable::FrequencyDrift, Observable::Fli);
    // Orbits in other numbers, with a corrector, and ends by what is observed.
    let others: Change = |o| {
        let angle = "uniform(0,6.28)";
        let period = format!("m=1e-4,P=1.5,e=uniform(0,0.3),pomega={angle},f={angle}");
        o.planet[1] = period.parse().expect("a planet");
        o.elements = Some(Elements::Heliocentric);
        o.corrector = Some(11);
        o.stop = vec!["e-max>0.2".parse().expect("a limit")];
    };
    let kernels: [(&str, Observable, &[usize], Change); 14] = [
        ("planets_alone", alone, &COUNTS, |_| ()),
        ("planets_tangent", tangent, &COUNTS, |_| ()),
        ("planets_general_alone", alone, few, general),
        ("planets_general_tangent", tangent, few, general),
        ("planets_adaptive_alone", alone, &[2], adaptive),
        ("planets_adaptive_tangent", tangent, &[2], adaptive),
        ("planets_adaptive_alone, hybrid", alone, &[4], hybrid),
        ("planets_adaptive_tangent, hybrid", tangent, &[4], hybrid),
        ("planets_observed_alone", orbit, few, |_| ()),
        ("planets_observed_tangent", indicator, few, general),
        ("planets_observed_alone, corrected", alone, few, others),
        ("planets_observed_tangent, corrected", tangent, few, others),
        ("planets_observed_adaptive_alone", orbit, &[2], adaptive),
        ("planets_observed_adaptive_tangent", indicator, &[4], hybrid),
    ];
    let mut cases = Vec::new();
    for (kernel, observable, counts, change) in kernels {
        for &count in counts {
            let s = if count == 1 { "" } else { "s" };
            let name = format!("{kernel}, {count} planet{s}");
            let of = |n| systems(count, observable, n, change);
            cases.push(Case::new(
                name,
                of(sizes.systems),
                Some(of(sizes.emulated_systems)),
            )?);
        }
    }
    Ok(cases)
}
