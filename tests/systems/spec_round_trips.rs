//! Specifications: those that pass validation survive TOML and JSON bit for bit, and nothing makes validation panic.

use glam::DVec3;
use proptest::prelude::*;
use trisolar::divergence::{
    Integrator, Overrides, Plane, Precision, Quantity, Specification, Start,
};

fn vector(number: &BoxedStrategy<f64>) -> BoxedStrategy<DVec3> {
    let n = || number.clone();
    (n(), n(), n()).prop_map(DVec3::from).boxed()
}

fn three<T: std::fmt::Debug + 'static>(of: &BoxedStrategy<T>) -> BoxedStrategy<[T; 3]> {
    let n = || of.clone();
    (n(), n(), n()).prop_map(|(a, b, c)| [a, b, c]).boxed()
}

fn plane() -> impl Strategy<Value = Plane> {
    prop_oneof![Just(Plane::Xy), Just(Plane::Xz), Just(Plane::Yz)]
}

/// Specifications with numbers from `number`, `positive` and `count`.
fn specification(
    number: BoxedStrategy<f64>,
    positive: BoxedStrategy<f64>,
    count: BoxedStrategy<u64>,
    body: BoxedStrategy<u8>,
    seed: BoxedStrategy<u64>,
) -> impl Strategy<Value = Specification> {
    let map = (
        [count.clone(), count.clone()],
        [number.clone(), number.clone()],
        [positive.clone(), positive.clone()],
    );
    let bodies = (
        plane(),
        body,
        three(&positive),
        three(&vector(&number)),
        three(&vector(&number)),
    );
    let varied = (
        proptest::sample::select(vec![vec![], vec!["mass2=1:2"], vec!["x1=0:1", "vy3=-1:1"]]),
        proptest::sample::select(vec![vec![], vec!["mass1=uniform:1:2"]]),
        seed,
    );
    let rest = (
        number.clone(),
        positive.clone(),
        count,
        positive.clone(),
        vector(&number),
        positive,
        proptest::sample::select(Quantity::ALL),
    );
    (map, bodies, varied, rest).prop_map(
        |(
            (size, center, span),
            (plane, body, masses, positions, velocities),
            (map, draw, seed),
            (g, softening, steps, dt, shift, critical, quantity),
        )| {
            Specification {
                size,
                center: center.into(),
                span,
                plane,
                map: map.into_iter().map(str::to_owned).collect(),
                draw: draw.into_iter().map(str::to_owned).collect(),
                seed,
                body,
                masses,
                positions,
                velocities,
                g,
                softening,
                steps,
                dt,
                shift,
                critical_distance: critical,
                quantity,
                precision: Precision::F64,
                integrator: Integrator::ExplicitEuler,
                start: Start::Euler,
                steps_per_period: None,
            }
        },
    )
}

fn sensible() -> impl Strategy<Value = Specification> {
    let positive = (-30.0..30.0_f64).prop_map(f64::exp2).boxed();
    specification(
        (-1e3..1e3_f64).boxed(),
        positive,
        (1..60_000_u64).boxed(),
        (1..=3_u8).boxed(),
        (0..1_u64 << 63).boxed(),
    )
}

fn any_at_all() -> impl Strategy<Value = Specification> {
    let special = prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
        Just(5e-324),
        Just(1e-170),
        Just(1.0),
    ];
    let number = prop_oneof![3 => proptest::num::f64::ANY, 1 => special, 2 => -10.0..10.0].boxed();
    let positive = prop_oneof![1 => number.clone(), 3 => 1e-3..1e3_f64].boxed();
    let count = prop_oneof![
        any::<u64>(),
        0..100_000_u64,
        Just(1 << 32),
        Just(u64::from(u32::MAX))
    ]
    .boxed();
    specification(
        number,
        positive,
        count,
        prop_oneof![9 => 1..=3_u8, 1 => any::<u8>()].boxed(),
        any::<u64>().boxed(),
    )
}

/// All bits of a specification, because `==` does not distinguish 0 from -0.
fn bits(s: &Specification) -> Vec<u64> {
    let mut all = vec![
        s.size[0],
        s.size[1],
        s.steps,
        u64::from(s.body),
        s.plane as u64,
        s.quantity as u64,
        s.seed,
    ];
    all.extend(
        s.map
            .iter()
            .chain(&s.draw)
            .flat_map(|text| text.bytes().map(u64::from)),
    );
    let mut add = |numbers: &[f64]| all.extend(numbers.iter().map(|x| x.to_bits()));
    add(s.center.long().as_flattened());
    add(&s.span);
    add(&s.masses);
    for v in s.positions.iter().chain(&s.velocities).chain([&s.shift]) {
        add(&v.to_array());
    }
    add(&[s.g, s.softening, s.dt, s.critical_distance]);
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn written_specifications_are_read_bit_for_bit(specification in sensible()) {
        let toml = toml::to_string(&specification).unwrap();
        prop_assert_eq!(bits(&toml::from_str(&toml).unwrap()), bits(&specification));
        let json = serde_json::to_string(&specification).unwrap();
        prop_assert_eq!(bits(&serde_json::from_str(&json).unwrap()), bits(&specification));
    }

    #[test]
    fn validation_never_panics_and_valid_specifications_survive(specification in any_at_all()) {
        match specification.clone().validate() {
            Ok(valid) => {
                let job = valid.job(0, 1);
                prop_assert!(job.masses.criterion.critical2.is_normal());
                prop_assert!(job.masses.in_steps.g.iter().chain(&job.masses.in_steps.minus_sum).all(|g| g.iter().all(|g| g.is_finite())));
                prop_assert!(job.grid.start(valid.pixels() - 1).iter().all(|x| x.is_finite()));
                let length2: f64 = job.direction.iter().map(|x| x * x).sum();
                prop_assert!((length2 - 1.0).abs() < 1e-14, "{:?}", job.direction);
                let _ = valid.warnings();
                let toml = toml::to_string(&specification).unwrap();
                prop_assert_eq!(bits(&toml::from_str(&toml).unwrap()), bits(&specification));
            }
            Err(error) => {
                prop_assert!(!error.option.is_empty() && !error.allowed.is_empty());
            }
        }
    }
}

#[test]
fn most_sensible_specifications_pass() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let valid = (0..500)
        .filter(|_| {
            sensible()
                .new_tree(&mut runner)
                .unwrap()
                .current()
                .validate()
                .is_ok()
        })
        .count();
    assert!(
        valid > 250,
        "the round trips above must be of real specifications: {valid} of 500"
    );
}

#[test]
fn missing_values_default_to_the_headline_map() {
    let empty: Specification = toml::from_str("").unwrap();
    assert_eq!(empty, Specification::default());
    assert_eq!(
        Specification::from(Overrides::default()),
        Specification::default()
    );
    let json: Specification = serde_json::from_str("{}").unwrap();
    assert_eq!(json, Specification::default());
}

#[test]
fn a_pixel_at_the_place_of_a_body_is_allowed_and_parts_when_it_becomes_nan() {
    use trisolar::divergence::{CpuEngine, Engine, Unattended};
    let mut specification = Specification {
        size: [3, 3],
        span: [3.0, 3.0],
        steps: 50,
        ..Specification::default()
    };
    specification.positions[0].z = 0.0;
    let start = specification
        .clone()
        .validate()
        .unwrap()
        .job(0, 1)
        .grid
        .start(4);
    specification.positions[1] = DVec3::from(start);
    let valid = specification.validate().unwrap();
    let map = CpuEngine::new(Some(1))
        .unwrap()
        .compute(&valid, &Unattended)
        .unwrap();
    assert_eq!(map.values.steps_together()[4], 2);
    assert!(
        map.values
            .steps_together()
            .iter()
            .filter(|t| **t == 50)
            .count()
            >= 4
    );
}

/// Names from files of earlier versions are read; current names are written.
#[test]
fn former_names_are_read_and_current_names_are_written() {
    use trisolar::{hermite, nbody};

    fn renewed<T>(former: &str) -> String
    where
        T: std::str::FromStr<Err = String> + serde::Serialize + serde::de::DeserializeOwned,
        T: PartialEq + std::fmt::Debug,
    {
        let parsed: T = former.parse().expect("a name");
        let read: T = serde_json::from_value(former.into()).expect("a name");
        assert_eq!(parsed, read);
        let written = serde_json::to_value(&read).expect("a name");
        written.as_str().expect("text").to_owned()
    }
    assert_eq!(renewed::<Precision>("exact"), "f64");
    assert_eq!(renewed::<nbody::Precision>("exact"), "f64");
    assert_eq!(renewed::<nbody::Precision>("float-float"), "float-float");
    assert_eq!(renewed::<hermite::Precision>("exact"), "f64");
    assert_eq!(renewed::<hermite::Precision>("float-float"), "split-f32");
}
