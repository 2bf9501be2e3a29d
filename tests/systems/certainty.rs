//! Verdicts on values, and the ladder of integrators and steps.

use trisolar::divergence::{
    self, Devices, DivergenceMap, Integrator, Points, Precision, Quantity, RunOptions,
    Specification, Unattended, Validated, accuracy_ladder,
};
use trisolar::ensemble::Verdict;

fn run(valid: &Validated) -> DivergenceMap {
    divergence::run(valid, &RunOptions::default(), &Unattended).expect("computes")
}

fn certified(valid: &Validated) -> DivergenceMap {
    let mut map = run(valid);
    let options = RunOptions::default();
    map.certify(&Devices::new(), valid, &options, &Unattended)
        .expect("computes");
    map
}

fn verdicts(map: &DivergenceMap) -> Vec<Verdict> {
    let certificate = map.certificate.as_ref().expect("certified");
    let of_pixels = certificate.of_pixels.iter();
    of_pixels.map(|n| Verdict::ALL[usize::from(*n)]).collect()
}

/// Times of parting as shares of the run, by maps of their own.
fn times(s: &Specification, finer: bool, exact: bool) -> Vec<f64> {
    let mut s = s.clone();
    if finer {
        s.dt /= 4.0;
        s.steps *= 4;
        s.steps_per_period = s.own_steps_per_period().map(|n| 4.0 * n);
    }
    if exact {
        s.precision = Precision::DoubleDouble;
    }
    let map = run(&s.clone().validate().expect("valid"));
    let steps = map.steps_together().iter();
    steps.map(|n| f64::from(*n) / s.steps as f64).collect()
}

/// The verdicts that four maps of the same pixels give.
fn expected(s: &Specification) -> Vec<Verdict> {
    let [usual, finer, exact, both] = [(false, false), (true, false), (false, true), (true, true)]
        .map(|(finer, exact)| times(s, finer, exact));
    let changes = |a: f64, b: f64| (a - b).abs() > 0.05;
    let pixels = (0..usual.len()).map(|i| {
        match (changes(usual[i], finer[i]), changes(usual[i], exact[i])) {
            (false, false) => Verdict::Agrees,
            (true, false) => Verdict::Step,
            (false, true) => Verdict::Rounding,
            (true, true) if !changes(exact[i], both[i]) => Verdict::Rounding,
            (true, true) => Verdict::Undecided,
        }
    });
    pixels.collect()
}

/// A map of which the step decides most pixels, as of the headline map.
fn coarse() -> Specification {
    Specification {
        size: [14, 12],
        steps: 4000,
        dt: 0.01,
        ..Specification::default()
    }
}

/// A map in f32 whose twins are as close as the rounding of their positions.
fn rounded() -> Specification {
    Specification {
        size: [10, 8],
        steps: 4000,
        dt: 0.0025,
        shift: glam::DVec3::splat(1e-6),
        critical_distance: 1e-4,
        precision: Precision::F32,
        ..Specification::default()
    }
}

#[test]
fn every_verdict_is_that_of_separate_maps() {
    let leapfrog = Specification {
        integrator: Integrator::Leapfrog,
        ..coarse()
    };
    for (s, occurs) in [
        (coarse(), Verdict::Step),
        (leapfrog, Verdict::Agrees),
        (rounded(), Verdict::Rounding),
    ] {
        let map = certified(&s.clone().validate().expect("valid"));
        let found = verdicts(&map);
        assert_eq!(found, expected(&s), "{}", s.method());
        assert!(found.contains(&occurs), "{}: {found:?}", s.method());
        // The shares are those of the array, and the checks count every pixel.
        let certificate = map.certificate.as_ref().expect("certified");
        for (verdict, share) in Verdict::ALL.into_iter().zip(&certificate.verdicts) {
            let count = found.iter().filter(|v| **v == verdict).count() as u64;
            assert_eq!((share.count, share.what.as_str()), (count, verdict.name()));
            assert!(share.interval[0] <= share.share && share.share <= share.interval[1]);
        }
        let step = map.checks.step.expect("checked");
        assert_eq!(step.sample, found.len() as u64);
        let changed = |v: &&Verdict| matches!(v, Verdict::Step | Verdict::Undecided);
        assert!(step.changed >= found.iter().filter(changed).count() as u64);
        // The twins part when their distance has grown from the shift to the critical distance.
        let predicted = certificate.predicted.as_ref().expect("known").largest;
        let grown = s.critical_distance / s.shift.length();
        let unit: f64 = match s.precision {
            Precision::F32 => 2f64.powi(-24),
            _ => 2f64.powi(-53),
        };
        assert!((predicted / (grown * unit) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn points_have_the_verdicts_of_the_pixels_at_their_places() {
    let valid = coarse().validate().expect("valid");
    let starts = (0..valid.pixels()).flat_map(|pixel| valid.start(pixel));
    let points = Points::new(&[valid.pixels() as usize, 3], starts.collect()).expect("points");
    let of_points = coarse().validate_points(points).expect("valid");
    assert_eq!(
        verdicts(&certified(&valid)),
        verdicts(&certified(&of_points))
    );
}

#[test]
fn quantities_without_double_double_leave_what_changes_undecided() {
    let ftle = Specification {
        quantity: Quantity::Ftle,
        ..coarse()
    };
    let map = certified(&ftle.clone().validate().expect("valid"));
    let found = verdicts(&map);
    assert!(
        found
            .iter()
            .all(|v| matches!(v, Verdict::Agrees | Verdict::Undecided))
    );
    let predicted = map.certificate.as_ref().and_then(|c| c.predicted.as_ref());
    let predicted = predicted.expect("the exponents are known");
    let of_pixels = predicted.of_pixels.as_ref().expect("of all pixels");
    let time = ftle.dt * ftle.steps as f64;
    for (exponent, bound) in map.values.as_slice().numbers().zip(of_pixels) {
        let expected = (exponent * time).exp() * 2f64.powi(-53);
        assert!((bound / expected - 1.0).abs() < 1e-12 || exponent.is_nan());
    }
    // A map in double-double has no wider number to compare with: what changes, the step decides.
    let exact = Specification {
        precision: Precision::DoubleDouble,
        size: [4, 3],
        ..coarse()
    };
    let map = certified(&exact.validate().expect("valid"));
    assert_eq!(map.checks.rounding, None);
    assert!(
        verdicts(&map)
            .iter()
            .all(|v| matches!(v, Verdict::Agrees | Verdict::Step))
    );
}

#[test]
fn the_cheapest_right_rung_is_regularised_and_costs_what_its_steps_cost() {
    let map = Specification {
        size: [8, 6],
        ..Specification::default()
    };
    let valid = map.clone().validate().expect("valid");
    let integrators = [
        Integrator::Leapfrog,
        Integrator::Regularised2,
        Integrator::Regularised6,
    ];
    let climb = |allowed: f64, integrators: &[Integrator]| {
        let options = RunOptions::default();
        let devices = Devices::new();
        accuracy_ladder(
            &devices,
            &valid,
            integrators,
            allowed,
            &options,
            &Unattended,
        )
        .expect("computes")
        .expect("has a reference")
    };
    let ladder = climb(0.01, &integrators);
    assert!(
        ladder.reference.contains("double-double"),
        "{}",
        ladder.reference
    );
    assert!(ladder.reference.contains("regularised-8") && ladder.reference_stays > 0.95);
    assert_eq!(ladder.sample, 48);
    let cheapest = &ladder.rungs[ladder.cheapest.expect("one is right")];
    assert!(cheapest.share >= 0.99 && cheapest.integrator != Integrator::Leapfrog);
    // The rungs are in the order of their cost, and no cheaper one is right.
    let costs: Vec<f64> = ladder.rungs.iter().map(|rung| rung.evaluations).collect();
    assert!(costs.is_sorted());
    let cheaper = &ladder.rungs[..ladder.cheapest.unwrap_or_default()];
    assert!(cheaper.iter().all(|rung| rung.share < 0.99));
    // The leapfrog evaluates the forces once for each of two twins in every step that begins with them together.
    let leapfrog = ladder
        .rungs
        .iter()
        .find(|rung| rung.integrator == Integrator::Leapfrog && rung.dt == map.dt);
    let steps = run(&Specification {
        integrator: Integrator::Leapfrog,
        ..map.clone()
    }
    .validate()
    .expect("valid"));
    let all: u64 = steps.steps_together().iter().map(|n| u64::from(*n)).sum();
    let found = leapfrog.expect("a rung").evaluations;
    assert_eq!(found, 2.0 * all as f64 / 48.0);
    // Twice as many steps per period cost about twice as much.
    let of = |per_period: f64| {
        let is = |rung: &&divergence::AccuracyRung| {
            rung.integrator == Integrator::Regularised2 && rung.steps_per_period == Some(per_period)
        };
        ladder.rungs.iter().find(is).expect("a rung").evaluations
    };
    let ratio = of(800.0) / of(400.0);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
    // Where no rung is good enough, none is named.
    assert_eq!(climb(0.01, &[Integrator::ExplicitEuler]).cheapest, None);
}
