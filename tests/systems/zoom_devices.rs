//! Sequences of maps on many devices: each device is opened only a few times, whatever the number of frames and of records on
//! disk, and the files equal those of one CPU. The GPUs are emulated.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use trisolar::divergence::{
    Backend, Devices, EngineError, GpuChoice, RunOptions, Specification, Unattended,
};
use trisolar::io::colour::ColourMap;
use trisolar::zoom::{
    CacheReport, Colours, Error, Folder, Frame, Outcome, Rule, Settings, Style, run_on,
    run_rounded, zoom,
};

/// Frames of one range with increasing steps, and halves of that range: pixels are new or known.
fn frames(count: u32, rules: &[&str]) -> Vec<Frame> {
    let base = Specification {
        size: [40, 32],
        center: [0.0, 0.0].into(),
        span: [32.0, 32.0],
        steps: 100,
        dt: 0.02,
        critical_distance: 0.01,
        ..Specification::default()
    };
    let rule = |text: &&str| text.parse::<Rule>().expect("a rule");
    let rules: Vec<Rule> = rules.iter().map(rule).collect();
    zoom(&base, &rules, count).expect("valid")
}

const GROWING: &[&str] = &["span=32/2^floor(frame/3)", "steps=60*(frame+1)"];

fn settings(options: RunOptions, in_flight: usize) -> Settings {
    Settings {
        style: Style {
            colormap: ColourMap::Inferno,
            colours: Colours::Share,
            npy: true,
            ..Style::default()
        },
        options,
        in_flight,
        // Everything is written to disk as soon as possible and as often as possible.
        part: None,
        checkpoint: Duration::from_micros(1),
    }
}

fn on(backend: Backend, gpus: GpuChoice, with_cpu: bool) -> RunOptions {
    RunOptions {
        backend,
        gpus,
        with_cpu,
        threads: Some(1),
        ..RunOptions::default()
    }
}

type Files = BTreeMap<String, Vec<u8>>;

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).expect("reads");
    let entries = entries.map(|e| e.expect("reads").path());
    let read = |p: std::path::PathBuf| (p.display().to_string(), std::fs::read(&p).expect("reads"));
    let name = |(path, bytes): (String, Vec<u8>)| {
        let name = path.rsplit('/').next().map(str::to_owned);
        (name.expect("a name"), bytes)
    };
    entries.map(read).map(name).collect()
}

fn rounded(
    frames: &[Frame],
    settings: &Settings,
    devices: &Devices,
) -> (Files, Outcome, CacheReport) {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(directory.path(), &json!({}), false).expect("opens");
    let outcome = run_rounded(devices, frames, &folder, settings, &Unattended).expect("computes");
    let report = outcome.cache.expect("a cache");
    (files(directory.path()), outcome, report)
}

fn plain(frames: &[Frame], settings: &Settings, devices: &Devices) -> (Files, Outcome) {
    let directory = tempfile::tempdir().expect("a folder");
    let folder = Folder::open(directory.path(), &json!({}), false).expect("opens");
    let outcome = run_on(devices, frames, &folder, settings, &Unattended).expect("computes");
    (files(directory.path()), outcome)
}

#[test]
fn a_zoom_opens_each_gpu_once_per_frame_in_flight_and_not_for_every_frame() {
    let frames = frames(14, &["span=32/2^frame"]);
    let cpu = settings(on(Backend::Cpu, GpuChoice::Auto, false), 2);
    let (expected, _) = plain(&frames, &cpu, &Devices::new());
    for (gpus, in_flight, most) in [(1, 1, 1), (1, 4, 4), (3, 3, 3), (2, 4, 4)] {
        let devices = Devices::emulated(gpus);
        let with = settings(on(Backend::Gpu, GpuChoice::All, false), in_flight);
        let (files, outcome) = plain(&frames, &with, &devices);
        assert!(files == expected, "{gpus} GPUs");
        assert_eq!(outcome.computed, 14);
        assert!(outcome.effort.engine == "gpu", "{}", outcome.effort.engine);
        let opened = devices.gpus_opened();
        assert!((1..=most).contains(&opened), "{opened} of {gpus} GPUs");
        // The next sequence finds the devices open.
        plain(&frames, &with, &devices);
        assert!(devices.gpus_opened() <= most, "{}", devices.gpus_opened());
    }
}

#[test]
fn the_rounded_cache_gives_the_same_bytes_on_all_gpus_and_opens_each_once() {
    let frames = frames(9, GROWING);
    let cpu = settings(on(Backend::Cpu, GpuChoice::Auto, false), 1);
    let (expected, one, said) = rounded(&frames, &cpu, &Devices::new());
    assert!(said.reused > 1000, "{said:?}");
    for (gpus, with_cpu) in [(1, false), (3, false), (2, true)] {
        let devices = Devices::emulated(gpus);
        let with = settings(on(Backend::Gpu, GpuChoice::All, with_cpu), 1);
        let (files, outcome, report) = rounded(&frames, &with, &devices);
        assert!(files == expected, "{gpus} GPUs");
        assert_eq!(report, said, "{gpus} GPUs");
        assert_eq!(outcome.effort.steps, one.effort.steps);
        assert!((1..=u64::from(gpus)).contains(&devices.gpus_opened()));
    }
}

#[test]
fn missing_gpus_are_rejected_before_a_frame_is_computed() {
    let frames = frames(3, GROWING);
    let devices = Devices::emulated(2);
    // Only the first two GPUs exist.
    let gpus = GpuChoice::of(&[0, 1, 7]).expect("possible");
    let settings = settings(on(Backend::Auto, gpus, false), 1);
    for with_cache in [false, true] {
        let directory = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(directory.path(), &json!({}), false).expect("opens");
        let error = if with_cache {
            run_rounded(&devices, &frames, &folder, &settings, &Unattended).err()
        } else {
            run_on(&devices, &frames, &folder, &settings, &Unattended).err()
        };
        match error.expect("GPU 7 is not there") {
            Error::Engine(error @ EngineError::Refused { .. }) => {
                assert_eq!(error.to_string(), "--device 7: there are GPUs 0 to 1");
            }
            other => panic!("{other}"),
        }
        assert_eq!(
            files(directory.path()).len(),
            1,
            "the description of the sequence"
        );
    }
    assert_eq!(devices.gpus_opened() + devices.cpus_opened(), 0);
}
