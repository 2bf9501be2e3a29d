//! Ensembles of equations in Rust: engines, files, interruption and bad input.

use std::sync::atomic::{AtomicU64, Ordering};

use trisolar_ensemble::{CpuEngine, Engine as _, GpuEngine as _, Task, store};
use trisolar_io::npz::NpzReader;
use trisolar_run::partial::working_files;
use trisolar_run::{Monitor, Record, Unattended};
use trisolar_simd::Simd;
use trisolar_spec::OneOrTwo;
use trisolar_system::files::Format;
use trisolar_system::{Compiled, DeviceEngine, Overrides, Table, Validated};

#[path = "../../cli/new/lorenz.rs"]
mod lorenz;
#[path = "../../cli/new/newton.rs"]
mod newton;

use lorenz::Lorenz;
use newton::Newton;

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// A map of the start, with a drawn parameter.
fn map() -> Validated<Compiled> {
    let overrides = Overrides {
        map: texts(&["x=-20:20", "z=0:50"]),
        size: Some(OneOrTwo::Two([9, 7])),
        draw: texts(&["rho=uniform:20:30"]),
        set: texts(&["beta=8/3"]),
        value: texts(&["lyapunov", "z", "steps"]),
        end: Some(3.0),
        ..Overrides::default()
    };
    overrides.validated(Compiled::of::<Lorenz>()).unwrap()
}

fn bits(table: &Table) -> Vec<u64> {
    table.numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn all_engines_have_the_same_bits() {
    let spec = map();
    // The order is that of all columns, not that in which they are named.
    assert_eq!(spec.columns(), ["steps", "lyapunov", "z"]);
    let scalar = CpuEngine::with_simd(Some(1), Simd::Scalar).unwrap();
    let expected = scalar.compute(&spec, &Unattended).unwrap().values;
    assert_eq!(expected.numbers.len(), 63 * 3);
    assert!(expected.numbers.iter().all(|x| x.is_finite()));
    let many = CpuEngine::new(Some(3)).unwrap();
    assert_eq!(
        bits(&many.compute(&spec, &Unattended).unwrap().values),
        bits(&expected)
    );
    let emulated = DeviceEngine::emulated_gpu();
    assert_eq!(
        bits(&emulated.compute(&spec, &Unattended).unwrap().values),
        bits(&expected)
    );
    // Neighbours differ, and the drawn parameter does not follow the axes.
    let mut sorted = bits(&expected);
    sorted.sort_unstable();
    sorted.dedup();
    assert!(sorted.len() > 100);
}

#[test]
fn an_interrupted_map_is_resumed_to_the_same_bytes() {
    struct Impatient(AtomicU64);
    impl Monitor for Impatient {
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= 4
        }
    }
    let spec = map();
    let engine = CpuEngine::new(Some(1)).unwrap();
    let expected = engine.compute(&spec, &Unattended).unwrap().values;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("map.npz");
    let record = Record::new("map", &working_files(&path)[1]);
    let begun = store::begin(&path, &spec, Some(record)).unwrap();
    let missing = begun.missing();
    let task = Task::new(&spec, &missing, &begun);
    assert!(engine.stream(&task, &Impatient(AtomicU64::new(0))).is_err());
    begun.write_record().unwrap();
    drop(begun);
    let resumed = store::resume(&path, &spec).unwrap().expect("it was begun");
    let missing = resumed.missing();
    let task = Task::new(&spec, &missing, &resumed);
    engine.stream(&task, &Unattended).unwrap();
    use trisolar_ensemble::Ensemble as _;
    let values = spec.of_bytes(resumed.mapped().unwrap().bytes()).unwrap();
    assert_eq!(bits(&values), bits(&expected));
}

#[test]
fn maps_are_written_as_arrays_and_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let overrides = Overrides {
        map: texts(&["x=-2:2", "y=-2:2"]),
        size: Some(OneOrTwo::Two([12, 10])),
        value: texts(&["outcome", "time"]),
        ..Overrides::default()
    };
    let spec = overrides.validated(Compiled::of::<Newton>()).unwrap();
    let engine = CpuEngine::new(Some(1)).unwrap();
    let table = engine.compute(&spec, &Unattended).unwrap().values;
    for name in ["map.npz", "map.npy", "map.png", "map.svg"] {
        let path = folder.path().join(name);
        Format::of(&path, &spec)
            .unwrap()
            .write(&path, &spec, &table.numbers)
            .unwrap();
    }
    let mut npz = NpzReader::open(folder.path().join("map.npz")).unwrap();
    let outcome = npz.array::<f64>("outcome").unwrap();
    assert_eq!(outcome.shape, [10, 12]);
    // Row 0 is the lowest y, column 0 the lowest x.
    assert_eq!(outcome.values[0], 3.0);
    let svg = std::fs::read_to_string(folder.path().join("map.svg")).unwrap();
    assert!(svg.contains("-1/2 + 0.866 i") && svg.contains("Newton"));
    assert!(Format::of(&folder.path().join("map.txt"), &spec).is_err());
}

#[test]
fn bad_input_names_the_option_and_what_is_allowed() {
    type Change = fn(&mut Overrides);
    let changes: [(Change, &str); 18] = [
        (
            |o| o.set = texts(&["q=1"]),
            "--set q=1: there is no q; the parameters and start values are sigma, rho, beta, x, y, z",
        ),
        (|o| o.set = texts(&["x"]), "--set x: must be NAME=NUMBER"),
        (
            |o| o.set = texts(&["x=1/0"]),
            "--set x=1/0: '1/0' is not a finite number",
        ),
        (
            |o| (o.set, o.map) = (texts(&["x=1"]), texts(&["x=0:1"])),
            "--map x=0:1: x is given twice",
        ),
        (
            |o| (o.set, o.map) = (texts(&["x=1", "x=2"]), texts(&["y=0:1"])),
            "--set x=1,x=2: x is given twice",
        ),
        (
            |o| o.map = texts(&["x=0:1", "y=0:1", "z=0:1"]),
            "--map x=0:1,y=0:1,z=0:1",
        ),
        (
            |o| o.map = texts(&["x"]),
            "--map x: x has no range of its own",
        ),
        (
            |o| o.draw = texts(&["x=thermal:0:1"]),
            "--draw x=thermal:0:1: x can be drawn by: uniform",
        ),
        (
            |o| (o.map, o.size) = (texts(&["x=0:1", "y=0:1"]), Some(OneOrTwo::One(1 << 32))),
            "2^40",
        ),
        (|o| o.size = Some(OneOrTwo::One(3)), "needs --map"),
        (
            |o| o.method = Some("euler".into()),
            "--method euler: must be one of dop853, rk4, tsit5",
        ),
        (|o| o.end = Some(0.0), "--end 0: must be above 0"),
        (|o| o.end = Some(f64::NAN), "--end NaN: must be above 0"),
        (
            |o| (o.method, o.step) = (Some("rk4".into()), Some(200.0)),
            "--step 200: must be above 0, at most 1e2",
        ),
        (|o| o.tolerance = Some(1e-17), "--tolerance"),
        (
            |o| o.value = texts(&["w"]),
            "--value w: must be one of outcome, time, steps, lyapunov, megno, x, y, z",
        ),
        (
            |o| o.value = texts(&["x", "x"]),
            "--value x: is given twice",
        ),
        (|o| (o.n, o.map) = (Some(5), texts(&["x=0:1"])), "--n 5"),
    ];
    for (change, said) in changes {
        let mut overrides = Overrides::default();
        change(&mut overrides);
        let error = (overrides.validated(Compiled::of::<Lorenz>()))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{error}");
    }
}
