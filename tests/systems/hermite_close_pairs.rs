//! Close pairs as single particles: their orbits, the energy of clusters without softening, equal bits everywhere.

use trisolar::bodies::{Bodies, DVec3, Model};
use trisolar::hermite::files::Checkpoint;
use trisolar::hermite::{
    Binaries, ClosePairs, Cluster, CpuEngine, Engine, Line, Order, Overrides, Precision, Scheme,
    Specification, emulator,
};
use trisolar::simd::Simd;

fn regularised(radius: f64) -> Specification {
    Specification {
        close_pairs: Some(ClosePairs { radius }),
        ..Specification::new(Order::Six)
    }
}

fn cluster(specification: Specification, bodies: Bodies) -> Cluster<'static> {
    let engine = CpuEngine::new(Some(1)).unwrap();
    on(Box::new(engine), specification, bodies)
}

fn on(engine: Box<dyn Engine>, specification: Specification, bodies: Bodies) -> Cluster<'static> {
    Cluster::new(&specification.validate(bodies).unwrap(), engine).unwrap()
}

fn plummer(n: usize, seed: u64) -> Bodies {
    Model::Plummer.build(Some(n), seed, 1.0, 3).unwrap()
}

/// A Plummer model in which a binary with this semi-major axis and eccentricity, at its apocentre, replaces the first two bodies.
fn with_binary(n: usize, a: f64, e: f64) -> Bodies {
    let mut bodies = plummer(n, 3);
    let mass = bodies.mass[0] + bodies.mass[1];
    let (distance, speed) = (a * (1.0 + e), (mass / a * (1.0 - e) / (1.0 + e)).sqrt());
    let (x, v) = (DVec3::new(0.3, 0.0, 0.1), DVec3::new(0.0, 0.2, 0.1));
    for (i, sign) in [(0, -0.5), (1, 0.5)] {
        bodies.position[i] = x + sign * distance * DVec3::X;
        bodies.velocity[i] = v + sign * speed * DVec3::Y;
    }
    bodies
}

fn bits(cluster: &mut Cluster<'_>, time: f64) -> Vec<u64> {
    let stars = cluster.at(time).unwrap();
    let numbers = stars.iter().flat_map(|s| {
        let vectors = [s.position(), s.velocity(), s.acceleration()];
        [s.mass, s.time, s.step]
            .into_iter()
            .chain(vectors.into_iter().flat_map(|v| v.to_array()))
    });
    numbers.map(f64::to_bits).collect()
}

#[test]
fn a_hard_binary_in_a_cluster_keeps_its_orbit() {
    let (a, e) = (2e-5, 0.6);
    let mut cluster = cluster(regularised(0.01), with_binary(32, a, e));
    assert_eq!(cluster.pairs().len(), 1);
    let before = cluster.energy(0.0).unwrap().total();
    // 1.8 million periods, in which no tide reaches 1e-6.
    cluster.advance_to(4.0).unwrap();
    let stars = cluster.at(4.0).unwrap();
    let (found_a, found_e) = cluster.binaries(&stars).unwrap().hardest.unwrap();
    assert!((found_a / a - 1.0).abs() < 1e-9, "{found_a}");
    assert!((found_e - e).abs() < 1e-9, "{found_e}");
    let after = cluster.energy(4.0).unwrap().total();
    assert!(((after - before) / before).abs() < 1e-6, "{before} {after}");
    // Without the option, a step is a small part of a period.
    assert!(
        cluster.counters().blocks < 10_000,
        "{:?}",
        cluster.counters()
    );
}

#[test]
fn an_encounter_of_a_binary_and_a_single_body_conserves_energy_and_momentum() {
    let mut bodies = Bodies::default();
    bodies.push(1.0, [-0.5, 0.0, 0.0], [0.0, -0.7, 0.0]);
    bodies.push(1.0, [0.5, 0.0, 0.0], [0.0, 0.7, 0.0]);
    bodies.push(0.5, [30.0, 2.0, 1.0], [-0.5, 0.0, 0.0]);
    let specification = Specification {
        eta: 0.2,
        ..regularised(3.0)
    };
    let mut cluster = cluster(specification, bodies);
    assert_eq!(cluster.pairs().len(), 1);
    let before = cluster.energy(0.0).unwrap().total();
    let momentum = |stars: &[trisolar::hermite::Star]| {
        stars.iter().map(|s| s.mass * s.velocity()).sum::<DVec3>()
    };
    let at_start = momentum(&cluster.at(0.0).unwrap());
    cluster.advance_to(120.0).unwrap();
    let after = cluster.energy(120.0).unwrap().total();
    // The third body came within the pair, so it dissolved.
    assert!(cluster.counters().pairs_dissolved > 0);
    assert!(((after - before) / before).abs() < 1e-6, "{before} {after}");
    let change = momentum(&cluster.at(120.0).unwrap()) - at_start;
    assert!(change.length() < 1e-7, "{change}");
}

#[test]
fn small_clusters_without_softening_keep_their_energy_through_their_collapse() {
    for seed in [1, 5] {
        let specification = Specification {
            eta: 0.25,
            ..regularised(1.0 / 16.0)
        };
        let mut cluster = cluster(specification, plummer(64, seed));
        let before = cluster.energy(0.0).unwrap().total();
        for time in [10.0, 20.0, 30.0, 40.0, 45.0] {
            cluster.advance_to(time).unwrap();
            let energy = cluster.energy(time).unwrap().total();
            let error = ((energy - before) / before).abs();
            assert!(error < 1e-5, "{seed} {time}: {error}");
        }
        assert!(cluster.counters().pairs_formed > 10);
        assert_eq!(
            cluster.counters().pairs_formed - cluster.counters().pairs_dissolved,
            cluster.pairs().len() as u64
        );
        let stars = cluster.at(45.0).unwrap();
        let (a, _) = cluster.binaries(&stars).unwrap().hardest.unwrap();
        assert!(a < 0.01, "{seed}: {a}");
    }
}

#[test]
fn the_bits_are_those_of_every_engine() {
    let specification = || regularised(0.1);
    let bodies = || with_binary(24, 0.01, 0.3);
    let engine = |threads, simd| -> Box<dyn Engine> {
        Box::new(CpuEngine::with_simd(Some(threads), simd).unwrap())
    };
    let mut expected = None;
    let engines = [
        engine(1, Simd::Scalar),
        engine(2, Simd::available()[0]),
        engine(2, *Simd::available().last().unwrap()),
        emulator(1, 8, 64, None),
    ];
    for one in engines {
        let mut cluster = on(one, specification(), bodies());
        cluster.advance_to(0.25).unwrap();
        let found = (bits(&mut cluster, 0.25), cluster.counters().clone());
        assert!(found.1.pairs_formed > 0);
        assert!(!cluster.pairs()[0].perturbers.is_empty());
        assert_eq!(*expected.get_or_insert(found.clone()), found);
    }
}

/// Two bodies of three fall towards each other almost on a line; the third one prevents that they are a pair all the way.
fn nearly_colliding() -> Bodies {
    let mut bodies = Bodies::default();
    bodies.push(1.0, [-0.5, 0.0, 0.0], [0.0, 0.0, 5e-6]);
    bodies.push(1.0, [0.5, 0.0, 0.0], [0.0, 0.0, -5e-6]);
    bodies.push(1.0, [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]);
    bodies
}

#[test]
fn two_bodies_are_a_pair_for_a_close_pass_beside_a_third() {
    let specification = Specification {
        eta: 0.2,
        ..regularised(3.0)
    };
    let mut cluster = cluster(specification, nearly_colliding());
    assert!(cluster.pairs().is_empty());
    let energy = |cluster: &mut Cluster<'_>, time: f64| {
        cluster.advance_to(time).unwrap();
        cluster.energy(time).unwrap().total()
    };
    let before = energy(&mut cluster, 0.0);
    // The distance at the pericentre is about 2.5e-11.
    let after = energy(&mut cluster, 1.0);
    let counters = cluster.counters();
    assert_eq!((counters.pairs_formed, counters.pairs_dissolved), (1, 1));
    assert!(((after - before) / before).abs() < 1e-6, "{before} {after}");
    // Both pass each other, and swing back.
    let stars = cluster.at(1.0).unwrap();
    assert!(stars[0].position().x < -0.1, "{}", stars[0].position());
}

/// Writes and reads a checkpoint; returns it, and the run that continues from it.
fn resumed(whole: &Cluster<'_>, path: &std::path::Path) -> (Checkpoint, Cluster<'static>) {
    let checkpoint = Checkpoint {
        specification: whole.specification().clone(),
        stars: whole.stars().to_vec(),
        parts: Vec::new(),
        pairs: whole.pairs().to_vec(),
        time: whole.time(),
        counters: whole.counters().clone(),
        history: trisolar::time_run::History::default().like(Line {
            binaries: Some(Binaries::default()),
            ..Line::default()
        }),
    };
    checkpoint.write(path).unwrap();
    let read = Checkpoint::read(path).unwrap();
    assert_eq!(read, checkpoint);
    let engine = Box::new(CpuEngine::new(Some(1)).unwrap());
    let mut resumed = Cluster::resumed(
        read.specification,
        read.stars,
        read.parts,
        read.time,
        read.counters,
        engine,
    )
    .unwrap();
    resumed.restore_pairs(read.pairs);
    (checkpoint, resumed)
}

#[test]
fn a_run_resumed_in_a_close_pass_has_the_bits_of_an_uninterrupted_one() {
    let mut whole = cluster(regularised(3.0), nearly_colliding());
    while whole.pairs().is_empty() {
        whole.step().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let (checkpoint, mut resumed) = resumed(&whole, &folder.path().join("run.npz"));
    assert!(checkpoint.pairs[0].reach < 1.0);
    for cluster in [&mut whole, &mut resumed] {
        cluster.advance_to(1.0).unwrap();
        assert!(cluster.pairs().is_empty());
    }
    assert_eq!(bits(&mut whole, 1.0), bits(&mut resumed, 1.0));
    assert_eq!(whole.counters(), resumed.counters());
}

#[test]
fn a_resumed_run_has_the_bits_of_an_uninterrupted_one() {
    let mut whole = cluster(regularised(0.1), with_binary(24, 0.01, 0.3));
    whole.advance_to(0.25).unwrap();
    assert!(!whole.pairs().is_empty());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.npz");
    let (_, mut resumed) = resumed(&whole, &path);
    // An output between two block steps changes nothing.
    let now = whole.time();
    whole.energy(now).unwrap();
    for time in [0.6, 1.5] {
        whole.advance_to(time).unwrap();
        resumed.advance_to(time).unwrap();
        assert_eq!(bits(&mut whole, time), bits(&mut resumed, time));
        assert_eq!(whole.pairs(), resumed.pairs());
        assert_eq!(whole.counters(), resumed.counters());
    }

    let refused = |change: &dyn Fn(&mut Checkpoint), words: &str| {
        let mut other = Checkpoint::read(&path).unwrap();
        change(&mut other);
        let path = folder.path().join("changed.npz");
        other.write(&path).unwrap();
        let said = Checkpoint::read(&path).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    };
    refused(&|c| c.pairs[0].places[1] = 24, "different ones of 24 stars");
    refused(
        &|c| c.pairs[0].perturbers = vec![0],
        "the perturbers of stars",
    );
    refused(&|c| c.pairs[0].time = f64::NAN, "the orbit of stars");
    refused(&|c| c.pairs[0].reach = 0.0, "the orbit of stars");
    refused(&|c| c.specification.close_pairs = None, "no close_pairs");
    refused(&|c| c.pairs.clear(), "has the step 0");
}

#[test]
fn what_close_pairs_cannot_be_used_with_is_refused() {
    let refused = |change: &dyn Fn(&mut Specification), option: &str| {
        let mut specification = regularised(0.1);
        change(&mut specification);
        let error = specification.validate(plummer(8, 1)).unwrap_err();
        assert_eq!(error.option, option);
    };
    let with = "--close-pairs regularised";
    refused(&|s| s.softening = 0.1, "--softening");
    refused(&|s| s.iterations = 2, "--iterations");
    refused(&|s| s.precision = Precision::SplitF32, "--precision");
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(
            &|s| s.close_pairs = Some(ClosePairs { radius }),
            "--pair-radius",
        );
    }
    let said = |toml: &str| {
        let overrides: Overrides = toml::from_str(toml).unwrap();
        overrides.start(None).unwrap_err().to_string()
    };
    let scheme = said("close_pairs = \"regularised\"\nscheme = \"ahmad-cohen\"");
    assert!(
        scheme.contains("--scheme") && scheme.contains(with),
        "{scheme}"
    );
    let alone = said("pair_radius = 0.1");
    assert!(
        alone.contains("--pair-radius") && alone.contains(with),
        "{alone}"
    );
    let overrides: Overrides = toml::from_str("close_pairs = \"regularised\"\nn = 8").unwrap();
    let (start, resolved) = overrides.start(None).unwrap();
    assert_eq!(start.specification().softening, 0.0);
    assert_eq!(
        (resolved.pair_radius, resolved.scheme),
        (Some(0.5), None::<Scheme>)
    );
}
