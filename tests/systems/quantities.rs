//! Quantities other than divergence: their values, and equal bits on every engine.

use crate::support;

use glam::DVec3;
use support::trisolar;
use trisolar::divergence::{
    CpuEngine, DivergenceKernel, EmulatorEngine, Engine, Integrator, Points, Precision, Quantity,
    Specification, Start, Unattended, Validated,
};
use trisolar::io::npy;
use trisolar::simd::Simd;

fn valid(specification: Specification) -> Validated {
    specification.validate().expect("valid")
}

fn values(engine: &dyn Engine<Validated>, spec: &Validated) -> Vec<f64> {
    let computed = engine.compute(spec, &Unattended).expect("computes");
    computed.values.into().expect("f64")
}

fn cpu() -> CpuEngine {
    CpuEngine::new(Some(2)).expect("threads")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// A small map with close encounters, and with pixels that start on another body.
fn lively(quantity: Quantity, integrator: Integrator) -> Specification {
    Specification {
        size: [13, 9],
        center: [2.0, 3.0].into(),
        span: [40.0, 37.0],
        steps: 230,
        dt: 0.02,
        quantity,
        integrator,
        start: if integrator.is_multistep() {
            Start::RungeKutta
        } else {
            Start::Euler
        },
        ..Specification::default()
    }
}

const OTHERS: [Quantity; 3] = [
    Quantity::ClosestApproach,
    Quantity::GreatestSpeed,
    Quantity::Ftle,
];

/// Masses of neighbouring points, some of which are test bodies.
const MASSES: [[f64; 3]; 3] = [[10.0, 20.0, 30.0], [0.0, 5.0, 40.0], [12.0, 0.0, 0.5]];

/// The start states of a grid as points of 21 numbers.
fn as_points(specification: &Specification) -> Validated {
    let grid = valid(specification.clone());
    let mut numbers = Vec::new();
    for pixel in 0..grid.pixels() {
        let mut positions = specification.positions;
        positions[0] = DVec3::from(grid.start(pixel));
        let vectors = positions.iter().chain(&specification.velocities);
        numbers.extend(vectors.flat_map(|v| v.to_array()));
        // Regularised integrators have no test bodies.
        let least = (specification.integrator.steps_per_period()).map_or(0.0, |_| 1.0);
        numbers.extend(MASSES[pixel as usize % MASSES.len()].map(|m| m.max(least)));
    }
    let points = Points::new(&[grid.pixels() as usize, 21], numbers).expect("points");
    specification
        .clone()
        .validate_points(points)
        .expect("valid")
}

#[test]
fn every_engine_gives_the_same_bits_for_every_integrator() {
    for quantity in OTHERS {
        for integrator in Integrator::ALL {
            let specification = lively(quantity, *integrator);
            for spec in [valid(specification.clone()), as_points(&specification)] {
                let scalar = CpuEngine::with_simd(Some(1), Simd::Scalar).expect("threads");
                let expected = bits(&values(&scalar, &spec));
                assert!(expected.iter().any(|x| *x != expected[0]), "{quantity}");
                for simd in Simd::available() {
                    let engine = CpuEngine::with_simd(Some(2), simd).expect("threads");
                    let found = bits(&values(&engine, &spec));
                    assert!(found == expected, "{quantity}, {integrator}, {simd}");
                }
                let engine = EmulatorEngine {
                    blocks: 2,
                    block: 32,
                    seed: Some(7),
                    ..EmulatorEngine::new(DivergenceKernel::Fetch)
                };
                let found = bits(&values(&engine, &spec));
                assert!(found == expected, "{quantity}, {integrator}, emulator");
            }
        }
    }
}

/// Three bodies without gravity: they move on straight lines.
fn free(quantity: Quantity) -> Specification {
    Specification {
        size: [4, 3],
        span: [8.0, 6.0],
        g: 0.0,
        steps: 100,
        dt: 0.05,
        positions: [
            DVec3::ZERO,
            DVec3::new(9.0, 0.3, 0.0),
            DVec3::new(0.0, 50.0, 20.0),
        ],
        velocities: [
            DVec3::new(2.0, 0.0, 0.0),
            DVec3::ZERO,
            DVec3::new(0.0, 0.0, -1.0),
        ],
        quantity,
        ..Specification::default()
    }
}

#[test]
fn free_bodies_have_the_closest_approach_of_straight_lines() {
    let specification = free(Quantity::ClosestApproach);
    let spec = valid(specification.clone());
    let found = values(&cpu(), &spec);
    for (pixel, found) in found.into_iter().enumerate() {
        let start = DVec3::from(spec.start(pixel as u64));
        let positions = [
            start,
            specification.positions[1],
            specification.positions[2],
        ];
        let mut least = f64::INFINITY;
        for step in 0..=specification.steps {
            let time = step as f64 * specification.dt;
            let at = |k: usize| positions[k] + time * specification.velocities[k];
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                least = least.min((at(a) - at(b)).length());
            }
        }
        assert!(
            (found - least).abs() < 1e-12 * least,
            "{pixel}: {found}, {least}"
        );
    }
}

/// A light body orbits a heavy one on a Kepler orbit; the third body is far away and has no mass.
#[test]
fn the_closest_approach_of_a_kepler_orbit_is_its_pericentre() {
    let (gm, apocentre, eccentricity) = (1000.0, 10.0, 0.6);
    let semi_major = apocentre / (1.0 + eccentricity);
    let speed = f64::sqrt(gm * (2.0 / apocentre - 1.0 / semi_major));
    let period = std::f64::consts::TAU * f64::sqrt(f64::powi(semi_major, 3) / gm);
    let steps = 20_000;
    let specification = Specification {
        size: [1, 1],
        // A grid of one pixel starts at its corner.
        center: [apocentre + 0.5, 0.5].into(),
        span: [1.0, 1.0],
        g: 1.0,
        masses: [0.0, gm, 0.0],
        positions: [DVec3::ZERO, DVec3::ZERO, DVec3::new(0.0, 0.0, 1e4)],
        velocities: [DVec3::new(0.0, speed, 0.0), DVec3::ZERO, DVec3::ZERO],
        steps,
        dt: period / steps as f64,
        quantity: Quantity::ClosestApproach,
        integrator: Integrator::RungeKutta4,
        ..Specification::default()
    };
    let found = values(&cpu(), &valid(specification))[0];
    let pericentre = semi_major * (1.0 - eccentricity);
    assert!(
        (found / pericentre - 1.0).abs() < 1e-6,
        "{found}, {pericentre}"
    );
}

/// Three bodies in the frame of their centre of mass, followed by explicit Euler without any of the kernels' code.
fn greatest_speed_plainly(s: &Specification, start: [DVec3; 6], masses: [f64; 3]) -> f64 {
    let [mut p, mut v] = [0, 3].map(|from| [0, 1, 2].map(|body| start[from + body]));
    let total: f64 = masses.iter().sum();
    let mean = (0..3).map(|k| masses[k] * v[k]).sum::<DVec3>() / total;
    let mut greatest = 0.0_f64;
    for step in 0..=s.steps {
        for v in v {
            greatest = greatest.max((v - mean).length());
        }
        if step < s.steps {
            let pull = |k: usize| -> DVec3 {
                let others = (0..3).filter(|j| *j != k).map(|j| (p[j] - p[k], masses[j]));
                let pulls = others.map(|(d, m)| s.g * m * d / d.length().powi(3));
                pulls.sum()
            };
            let pulls = [0, 1, 2].map(pull);
            for k in 0..3 {
                p[k] += s.dt * v[k];
                v[k] += s.dt * pulls[k];
            }
        }
    }
    greatest
}

/// Points with masses of their own have the weights of these masses, not those of the specification.
#[test]
fn the_greatest_speed_is_that_of_a_plain_loop_with_the_masses_of_each_point() {
    let mut specification = lively(Quantity::GreatestSpeed, Integrator::ExplicitEuler);
    // Far apart, so that rounding is not amplified.
    specification.center = [40.0, 30.0].into();
    specification.span = [10.0, 10.0];
    specification.velocities = [
        DVec3::new(1.0, -0.5, 0.25),
        DVec3::new(0.0, 2.0, -1.0),
        DVec3::new(-1.5, 0.0, 0.5),
    ];
    for (spec, has_own) in [
        (as_points(&specification), true),
        (valid(specification.clone()), false),
    ] {
        let found = values(&cpu(), &spec);
        let mut different = 0;
        for (pixel, found) in found.into_iter().enumerate() {
            let (p, v) = (specification.positions, specification.velocities);
            let start = DVec3::from(valid(specification.clone()).start(pixel as u64));
            let start = [start, p[1], p[2], v[0], v[1], v[2]];
            let plainly = |masses| greatest_speed_plainly(&specification, start, masses);
            let of_all = plainly(specification.masses);
            let expected = match has_own {
                true => plainly(MASSES[pixel % MASSES.len()]),
                false => of_all,
            };
            let off = (found / expected - 1.0).abs();
            assert!(off < 1e-10, "{pixel}: {found}, {expected}");
            different += usize::from((expected / of_all - 1.0).abs() > 1e-3);
        }
        assert_eq!(different > 50, has_own, "{different}");
    }
}

#[test]
fn coinciding_bodies_have_the_distance_0_and_no_exponent() {
    // In the middle of the map, the grid body starts on body 2.
    let at_once = |quantity| Specification {
        size: [4, 4],
        center: [0.0, 0.0].into(),
        span: [4.0, 4.0],
        positions: [DVec3::ZERO, DVec3::ZERO, DVec3::new(10.0, 10.0, 12.0)],
        steps: 50,
        quantity,
        ..Specification::default()
    };
    let on_body = 2 * 4 + 2;
    let spec = valid(at_once(Quantity::ClosestApproach));
    assert_eq!(spec.start(on_body), [0.0; 3]);
    let found = values(&cpu(), &spec);
    assert_eq!(found[on_body as usize], 0.0);
    assert!(found.iter().all(|x| x.is_finite()));
    assert_eq!(found.iter().filter(|x| **x == 0.0).count(), 1);
    let found = values(&cpu(), &valid(at_once(Quantity::GreatestSpeed)));
    assert!(found.iter().all(|x| x.is_finite()));
    let found = values(&cpu(), &valid(at_once(Quantity::Ftle)));
    assert!(found[on_body as usize].is_nan());
    assert_eq!(found.iter().filter(|x| x.is_nan()).count(), 1);
}

/// Without gravity, a shift of the start does not change, and neither does the tangent vector.
#[test]
fn free_bodies_have_the_exponent_0() {
    let found = values(&cpu(), &valid(free(Quantity::Ftle)));
    assert!(found.iter().all(|x| x.abs() < 1e-15), "{found:?}");
}

/// Two test bodies in the field of a heavy body that is so far away, and so strongly softened, that its field is linear: the grid
/// body has the acceleration k·x of a repelling body at the origin, whose tangent vector grows like cosh √k t.
#[test]
fn the_exponent_of_a_linear_field_is_its_rate() {
    let (softening, k) = (1e6, 4.0);
    let mass = 1.0;
    // The time is so short that the bodies stay close.
    let (steps, dt) = (2000, 1e-3);
    let specification = Specification {
        size: [3, 3],
        span: [3.0, 3.0],
        // A negative g repels: the acceleration is -g m x / softening³.
        g: -k * f64::powi(softening, 3) / mass,
        softening,
        masses: [0.0, mass, 0.0],
        positions: [DVec3::ZERO, DVec3::ZERO, DVec3::new(1.0, 1.0, 1.0)],
        velocities: [DVec3::ZERO; 3],
        steps,
        dt,
        shift: DVec3::new(1e-3, 0.0, 0.0),
        quantity: Quantity::Ftle,
        integrator: Integrator::RungeKutta4,
        ..Specification::default()
    };
    let time = steps as f64 * dt;
    // ξ = d·(cosh √k t, √k sinh √k t) for the grid body relative to the heavy one. It is the same relative to body 3, a test body
    // that moves in the same field, so both parts of |ξ|² are twice as large.
    let rate = f64::sqrt(k);
    let (c, s) = ((rate * time).cosh(), (rate * time).sinh());
    let expected = 0.5 * (c * c + k * s * s).ln() / time;
    for found in values(&cpu(), &valid(specification)) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, {expected}");
    }
}

/// The tangent vector is the difference of two neighbouring trajectories of the same integrator divided by their distance at the
/// start.
#[test]
fn the_exponent_agrees_with_two_neighbouring_trajectories() {
    for integrator in Integrator::ALL {
        let base = Specification {
            size: [3, 2],
            center: [12.0, -6.0].into(),
            span: [6.0, 4.0],
            steps: 400,
            dt: 0.005,
            shift: DVec3::new(0.3, -0.2, 0.1),
            ..lively(Quantity::Ftle, *integrator)
        };
        let spec = valid(base.clone());
        let found = values(&cpu(), &spec);
        let direction = base.shift.normalize();
        let h = 1e-6;
        for (pixel, found) in found.into_iter().enumerate() {
            let start = DVec3::from(spec.start(pixel as u64));
            let [ahead, behind] =
                [h, -h].map(|h| end_state(&base, start + h * direction, *integrator));
            // The 12 numbers are those of bodies 2 and 3 relative to the grid body.
            let norm2: f64 = (ahead.iter().zip(&behind))
                .map(|(a, b)| ((a - b) / (2.0 * h)).powi(2))
                .sum();
            let time = base.steps as f64 * base.dt;
            let expected = 0.5 * (norm2 / 2.0).ln() / time;
            // Neighbours with steps of their own end at other places of the polynomials between their steps.
            let part = match integrator.steps_per_period() {
                Some(_) => 1e-5,
                None => 1e-6,
            };
            assert!(
                (found - expected).abs() < part * expected.abs().max(1e-2),
                "{integrator}, {pixel}: {found}, {expected}"
            );
        }
    }
}

/// Positions and velocities of bodies 2 and 3 relative to body 1 at the end of a run with the map's integrator.
fn end_state(base: &Specification, start: DVec3, integrator: Integrator) -> Vec<f64> {
    use kernels_gpu::integrator::{self as by, Integrator as Named, MapIntegrator};
    let specification = Specification {
        size: [1, 1],
        quantity: Quantity::Divergence,
        ..base.clone()
    };
    let points = Points::new(&[1, 3], start.to_array().to_vec()).expect("points");
    let spec = specification.validate_points(points).expect("valid");
    fn run<I: MapIntegrator>(spec: &Validated) -> Vec<f64> {
        let job = spec.job(0, 1);
        let point = spec.point(0).expect("a point");
        let masses = I::masses::<f64>(&job.masses);
        let mut state = I::begin(&point.start(job.dt), &masses);
        for step in 0..job.steps {
            if step < I::STARTS {
                I::start(&mut state, job.first_steps, &masses);
            } else {
                I::step([&mut state], &masses);
            }
        }
        let q = I::positions(&state);
        let v = I::velocities(&state, 1.0 / job.dt, &masses);
        let vectors = [q.a, q.b, v.a, v.b];
        vectors.iter().flat_map(|v| [v.x, v.y, v.z]).collect()
    }
    macro_rules! find {
        ([] $($name:ident $entry:ident $bodies:ident,)*) => {$(
            if integrator.name() == <by::$name as Named>::NAME {
                return run::<<by::$name as Named>::OnMaps>(&spec);
            }
        )*};
    }
    kernels_gpu::integrators!({find} []);
    unreachable!("every integrator is in the table")
}

/// Three bodies at rest at one point of an unstable field stay there, while the length of the tangent vector grows to e^2000.
#[test]
fn exponents_of_long_runs_do_not_overflow() {
    let (softening, k) = (1e6, 4.0);
    let (steps, dt) = (1_000_000, 1e-3);
    let specification = Specification {
        size: [1, 1],
        // A grid of one pixel starts at its corner.
        center: [0.5, 0.5].into(),
        span: [1.0, 1.0],
        g: -k * f64::powi(softening, 3),
        softening,
        masses: [0.0, 1.0, 0.0],
        positions: [DVec3::ZERO; 3],
        velocities: [DVec3::ZERO; 3],
        steps,
        dt,
        shift: DVec3::X,
        quantity: Quantity::Ftle,
        integrator: Integrator::Leapfrog,
        ..Specification::default()
    };
    let found = values(&cpu(), &valid(specification))[0];
    // |ξ(T)|² / |ξ(0)|² = cosh² √k T + k sinh² √k T, where both cosh and sinh approach e^(√k T) / 2.
    let expected = f64::sqrt(k) + 0.5 * ((1.0 + k) / 4.0).ln() / (steps as f64 * dt);
    assert!((found / expected - 1.0).abs() < 1e-6, "{found}, {expected}");
}

fn arguments(quantity: &str) -> Vec<&str> {
    let rest = "--size 12x10 --steps 300 --dt 0.01 --backend cpu --integrator leapfrog";
    let mut all = vec!["--quantity", quantity];
    all.extend(rest.split(' '));
    all
}

#[test]
fn files_of_a_run_contain_the_librarys_values() {
    let folder = tempfile::tempdir().expect("a folder");
    for quantity in OTHERS {
        let out = trisolar(folder.path())
            .arg("divergence")
            .args(arguments(quantity.name()))
            .args([
                "--out", "map.npy", "--out", "map.npz", "--out", "map.png", "--out", "map.tif",
            ])
            .args(["--json", "--save-config", "map.toml"])
            .assert()
            .success();
        let json: serde_json::Value =
            serde_json::from_slice(&out.get_output().stdout).expect("JSON");
        let spec = valid(Specification {
            size: [12, 10],
            span: [40.0, 40.0 * (10.0 / 12.0)],
            steps: 300,
            dt: 0.01,
            integrator: Integrator::Leapfrog,
            quantity,
            ..Specification::default()
        });
        let expected = values(&cpu(), &spec);
        let array = npy::read::<f64>(folder.path().join("map.npy")).expect("there");
        assert_eq!(array.shape, [10, 12]);
        assert_eq!(bits(&array.values), bits(&expected));
        let mut npz =
            trisolar::io::npz::NpzReader::open(folder.path().join("map.npz")).expect("there");
        let array = npz.array::<f64>("values").expect("there");
        assert_eq!(bits(&array.values), bits(&expected));
        assert_eq!(json["specification"]["quantity"], quantity.name());
        let least = expected.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(json["least"].as_f64(), Some(least));
        assert_eq!(json["not_finite"], 0);
        assert_eq!(json.get("never_parted"), None);
        let toml = std::fs::read_to_string(folder.path().join("map.toml")).expect("there");
        assert!(
            toml.contains(&format!("quantity = \"{quantity}\"")),
            "{toml}"
        );
        // The saved file gives the same map, in memory and streamed.
        for more in [
            &["--out", "two.npy"][..],
            &["--stream", "--out", "three.npy"],
        ] {
            trisolar(folder.path())
                .args([
                    "divergence",
                    "--config",
                    "map.toml",
                    "--backend",
                    "cpu",
                    "-q",
                ])
                .args(more)
                .assert()
                .success();
            let name = more.last().expect("a name");
            let read = |name: &str| std::fs::read(folder.path().join(name)).expect("there");
            assert!(read(name) == read("map.npy"), "{quantity} {name}");
        }
    }
}

#[test]
fn combinations_that_are_not_compiled_are_rejected_with_the_alternatives() {
    let folder = tempfile::tempdir().expect("a folder");
    for (given, expected) in [
        (
            &["divergence", "--quantity", "ftle", "--precision", "fast"][..],
            "with --quantity ftle it must be f64",
        ),
        (
            &[
                "divergence",
                "--quantity",
                "closest-approach",
                "--precision",
                "fixed:30",
            ],
            "with --quantity closest-approach it must be f64",
        ),
        (
            &["divergence", "--quantity", "lyapunov"],
            "must be one of divergence, closest-approach, greatest-speed, ftle",
        ),
        (
            &[
                "zoom",
                "--quantity",
                "ftle",
                "--cache",
                "rounded",
                "--frames",
                "2",
            ],
            "it works with --quantity divergence",
        ),
        (
            &[
                "sweep",
                "--quantity",
                "ftle",
                "--vary",
                "dt=1e-3,2e-3",
                "--colours",
                "share",
            ],
            "with --quantity ftle it must be frame",
        ),
        (
            &["compare", "--quantity", "ftle", "--modes", "f64,fast"],
            "with --quantity ftle it must be f64",
        ),
    ] {
        let out = trisolar(folder.path()).args(given).assert().code(2);
        let text = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(text.contains(expected), "{given:?}: {text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 0);
}

#[test]
fn sequences_and_comparisons_work_for_every_quantity() {
    let folder = tempfile::tempdir().expect("a folder");
    let common = [
        "--size",
        "10",
        "--steps",
        "200",
        "--dt",
        "0.01",
        "--backend",
        "cpu",
    ];
    for quantity in OTHERS {
        let run = |arguments: &[&str]| {
            trisolar(folder.path())
                .args(arguments)
                .args(["--quantity", quantity.name(), "--json"])
                .args(common)
                .assert()
                .success()
                .get_output()
                .stdout
                .clone()
        };
        let name = format!("sweep-{quantity}");
        run(&["sweep", "--vary", "mass2=10,20", "--out", &name]);
        let table = std::fs::read_to_string(folder.path().join(&name).join("table.csv"));
        let table = table.expect("there");
        assert!(
            table
                .starts_with("frame,mass2,pixels,steps,pixel_steps,least,greatest,not_finite,mean"),
            "{table}"
        );
        let array = npy::read::<f64>(folder.path().join(&name).join("frame-00001.npy"));
        let spec = valid(Specification {
            size: [10, 10],
            steps: 200,
            dt: 0.01,
            quantity,
            ..Specification::default()
        });
        assert_eq!(
            bits(&array.expect("there").values),
            bits(&values(&cpu(), &spec))
        );
        let name = format!("zoom-{quantity}");
        run(&[
            "zoom",
            "--frames",
            "3",
            "--npy",
            "--out",
            &name,
            "--set",
            "steps=200",
        ]);
        let object: serde_json::Value = serde_json::from_slice(
            &std::fs::read(folder.path().join(&name).join("frame-00002.json")).expect("there"),
        )
        .expect("JSON");
        assert!(object["summary"]["range"][1].as_f64().is_some(), "{object}");
        // A second run finds everything done.
        let again: serde_json::Value = serde_json::from_slice(&run(&[
            "zoom",
            "--frames",
            "3",
            "--npy",
            "--out",
            &name,
            "--set",
            "steps=200",
        ]))
        .expect("JSON");
        assert_eq!(again["computed"], 0);
        let out = format!("{quantity}.png");
        let compared: serde_json::Value = serde_json::from_slice(&run(&[
            "compare",
            "--modes",
            "explicit-euler,leapfrog,explicit-euler",
            "--out",
            &out,
        ]))
        .expect("JSON");
        assert_eq!(compared["modes"][2]["difference"]["equal"], 1.0);
        assert!(compared["modes"][1]["difference"]["largest"].as_f64() > Some(0.0));
    }
}

/// Counts in the sources what a quantity needs: its name, its file and one row.
#[test]
fn a_quantity_is_a_file_and_a_row() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = Vec::new();
    let mut folders = vec![root.join("kernels-gpu/src"), root.join("host")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("text");
                // Tests and comments may mention it.
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = code
                    .lines()
                    .filter(|line| !line.trim_start().starts_with("//"));
                if lines
                    .into_iter()
                    .any(|line| line.contains("ClosestApproach"))
                {
                    named.push(path.strip_prefix(root).expect("inside").to_owned());
                }
            }
        }
    }
    named.sort();
    let expected = ["closest_approach.rs", "mod.rs"];
    let expected = expected.map(|name| std::path::Path::new("kernels-gpu/src/quantity").join(name));
    assert_eq!(named, expected);
}

#[test]
fn every_quantity_has_a_method_in_f64() {
    for quantity in Quantity::ALL {
        for integrator in Integrator::ALL {
            let specification = lively(*quantity, *integrator);
            assert!(specification.has_method(), "{quantity}, {integrator}");
        }
        let fast = Specification {
            precision: Precision::Fast,
            ..lively(*quantity, Integrator::ExplicitEuler)
        };
        assert_eq!(fast.has_method(), *quantity == Quantity::Divergence);
    }
}

/// A run that ended early resumes to the same bytes, using what it had computed.
#[test]
fn an_interrupted_map_resumes_to_the_same_bytes() {
    use trisolar::divergence::{Sink, ValueSlice};
    use trisolar::store;

    for quantity in OTHERS {
        let folder = tempfile::tempdir().expect("a folder");
        let run = |more: &[&str]| {
            trisolar(folder.path())
                .arg("divergence")
                .args(arguments(quantity.name()))
                .args(more)
                .arg("--json")
                .assert()
                .success()
                .get_output()
                .stdout
                .clone()
        };
        run(&["--out", "whole.npy"]);
        let spec = valid(Specification {
            size: [12, 10],
            span: [40.0, 40.0 * (10.0 / 12.0)],
            steps: 300,
            dt: 0.01,
            integrator: Integrator::Leapfrog,
            quantity,
            ..Specification::default()
        });
        let some = values(&cpu(), &spec);
        let path = folder.path().join("map.npy");
        let store = store::begin(&path, &spec, None).expect("begins");
        let every = std::time::Duration::from_secs(1);
        let (put, recorded) = store.recording(every, || {
            Sink::<Validated>::put(&store, 17, ValueSlice::F64(&some[17..60]))
        });
        put.expect("takes");
        recorded.expect("writes");
        drop(store);
        let out = run(&["--out", "map.npy", "--resume"]);
        let json: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(json["resumed_pixels"], 60 - 17);
        let read = |name: &str| std::fs::read(folder.path().join(name)).expect("there");
        assert!(read("map.npy") == read("whole.npy"), "{quantity}");
        // A map of another quantity is a different map.
        let store = store::begin(&path.with_file_name("b.npy"), &spec, None).expect("begins");
        drop(store);
        let out = trisolar(folder.path())
            .args([
                "divergence",
                "--size",
                "12x10",
                "--steps",
                "300",
                "--dt",
                "0.01",
            ])
            .args([
                "--integrator",
                "leapfrog",
                "--backend",
                "cpu",
                "--out",
                "b.npy",
                "--resume",
            ])
            .assert()
            .code(2);
        let text = String::from_utf8_lossy(&out.get_output().stderr).into_owned();
        assert!(text.contains("--quantity"), "{text}");
    }
}
