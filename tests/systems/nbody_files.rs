//! Files of bodies: every format is read and written, errors name the place, and checkpoints resume to the same bits.

use std::path::{Path, PathBuf};

use trisolar::bodies::{DVec3, Tracks};
use trisolar::divergence::Unattended;
use trisolar::nbody::files::{
    BodyFormat, Checkpoint, FileError, History, Moment, read, read_bodies, write_bodies,
};
use trisolar::nbody::{
    Bodies, CpuEngine, Diagnostics, Energies, Integrator, Model, Schedule, Snapshot, Solver,
    SpecError, Specification, integrate,
};

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn every_written_format_is_read_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for dimensions in [2, 3] {
        let model = Model::Cube {
            half_width: 1e-3,
            speed: 1e7,
            mass: [0.0, 1e24],
            whole_masses: true,
        };
        let bodies = model.build(Some(50), 5, 1.0, dimensions).unwrap();
        let spec = Specification {
            dimensions,
            ..Specification::default()
        };
        let snapshot = Snapshot {
            step: 3,
            time: 0.3,
            bodies: bodies.clone(),
        };
        for name in ["a.csv", "a.npz", "a.txt"] {
            let path = folder.path().join(name);
            write_bodies(&path, BodyFormat::of(&path).unwrap(), &snapshot, &spec).unwrap();
            let (read, d) = read_bodies(&path).unwrap();
            assert_eq!(read, bodies, "{name}");
            assert!(d == dimensions || name == "a.npz", "{name}");
        }
    }
}

#[test]
fn malformed_texts_are_rejected_with_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, line, column, says) in [
        ("a.txt", "1 2 3 4\n", 1, 8, "ends after 4 numbers"),
        (
            "b.txt",
            "# a\n\n1 2 3 4 5\n1 2 x3 4 5\n",
            4,
            5,
            "'x3' for y: expected a number",
        ),
        (
            "c.txt",
            "1 2 3 4 5 6 7\n1 2 3 4 5 6 7 8\n",
            2,
            15,
            "'8' is one value too many",
        ),
        (
            "d.txt",
            "1 2 3 4 5\n1 2 3 4 5 6 7\n",
            2,
            11,
            "expected 5 numbers",
        ),
        ("e.txt", "1 2 3 inf 5\n", 1, 7, "finite"),
        ("f.txt", "\u{a0}é 2 3 4 5\n", 1, 2, "'é' for mass"),
        ("a.csv", "mass,x,y,vx\n", 1, 1, "no column vy"),
        ("b.csv", "mass,x,y,z,vx,vy\n", 1, 1, "no column vz"),
        (
            "c.csv",
            "mass,x,y,vx,vy\n1,2,3,4\n",
            2,
            8,
            "4 values: expected 5",
        ),
        (
            "d.csv",
            "id,mass,x,y,vx,vy\n0,1,2,3,4,5\n1,2,nan,3,4,5\n",
            3,
            5,
            "'nan' for x",
        ),
    ] {
        match read_bodies(&write(folder.path(), name, text)) {
            Err(error @ FileError::Place { .. }) => {
                let message = error.to_string();
                let place = format!("{name}:{line}:{column}: ");
                assert!(
                    message.contains(&place) && message.contains(says),
                    "{message}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    for (name, text) in [
        ("g.txt", "# nothing\n"),
        ("e.csv", ""),
        ("f.csv", "mass,x,y,vx,vy\n"),
    ] {
        let message = read_bodies(&write(folder.path(), name, text))
            .unwrap_err()
            .to_string();
        assert!(message.contains("no bodies"), "{message}");
    }
    assert!(matches!(
        read_bodies(&write(folder.path(), "short.tipsy", "short")),
        Err(FileError::Contents { .. })
    ));
    assert!(matches!(
        read_bodies(&folder.path().join("none.txt")),
        Err(FileError::Io(_))
    ));
}

#[test]
fn columns_of_a_csv_may_be_in_any_order_with_others_between() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        folder.path(),
        "a.csv",
        "name, vy ,vx,x,y,mass\nsun,5,4,2,3,1\n",
    );
    let (bodies, dimensions) = read_bodies(&path).unwrap();
    assert_eq!(dimensions, 2);
    assert_eq!(
        bodies,
        Bodies {
            mass: vec![1.0],
            position: vec![DVec3::new(2.0, 3.0, 0.0)],
            velocity: vec![DVec3::new(4.0, 5.0, 0.0)]
        }
    );
}

/// Two bodies, as other programs write them.
const WRITTEN: [(&str, &str); 22] = [
    (
        "mark.csv",
        "\u{feff}mass,x,y,z,vx,vy,vz\r\n1,-0.5,0,0,0,-0.5,0\r\n2,0.5,0,0,0,0.5,0\r\n",
    ),
    (
        "quoted.csv",
        "\"mass\",\"x\",\"y\",\"z\",\"vx\",\"vy\",\"vz\"\n\"1\",-0.5,0,0,0,-0.5,0\n2,\"0.5\",0,0,0,0.5,0\n",
    ),
    (
        "capitals.csv",
        "Mass,X,Y,Z,VX,Vy,vZ\n1,-0.5,0,0,0,-0.5,0\n2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "m.csv",
        "vx,vy,vz,x,y,z,m\n0,-0.5,0,-0.5,0,0,1\n0,0.5,0,0.5,0,0,2\n",
    ),
    (
        "comment.csv",
        "# au, yr\n\n! Fortran\nmass,x,y,z,vx,vy,vz\n1,-0.5,0,0,0,-0.5,0\n% TeX\n2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "names.csv",
        "name,mass,x,y,z,vx,vy,vz\n\"Alpha, \"\"Centauri\"\"\",1,-0.5,0,0,0,-0.5,0\nB #2,2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "index.csv",
        ",mass,x,y,z,vx,vy,vz\n0,1,-0.5,0,0,0,-0.5,0\n1,2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "trailing.csv",
        "mass,x,y,z,vx,vy,vz,\n1,-0.5,0,0,0,-0.5,0,\n2,0.5,0,0,0,0.5,0,\n",
    ),
    (
        "lines.csv",
        "name,mass,x,y,z,vx,vy,vz\n\"two\nlines\",1,-0.5,0,0,0,-0.5,0\nb,2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "macintosh.csv",
        "mass,x,y,z,vx,vy,vz\r1,-0.5,0,0,0,-0.5,0\r2,0.5,0,0,0,0.5,0\r",
    ),
    (
        "semicolons.csv",
        "mass;x;y;z;vx;vy;vz\n1;-0.5;0;0;0;-0.5;0\n2;0.5;0;0;0;0.5;0\n",
    ),
    (
        "tabs.tsv",
        "name\tmass\tx\ty\tz\tvx\tvy\tvz\nAlpha Centauri\t1\t-0.5\t0\t0\t0\t-0.5\t0\nB\t2\t0.5\t0\t0\t0\t0.5\t0\n",
    ),
    (
        "blanks.txt",
        "  mass x y z   vx vy vz\n 1 -0.5 0 0 0 -0.5 0\n 2  0.5 0 0 0  0.5 0\n",
    ),
    (
        "columns.txt",
        "1\t-0.5 0\t0\t0 -0.5 0\n2\t0.5 0 0\t0 0.5 0\n",
    ),
    (
        "savetxt.txt",
        "# x y z vx vy vz mass\n-0.5 0 0 0 -0.5 0 1\n0.5 0 0 0 0.5 0 2\n",
    ),
    (
        "units.txt",
        "# x y z [au] m\n1 -0.5 0 0 0 -0.5 0\n2 0.5 0 0 0 0.5 0\n",
    ),
    (
        "fortran.dat",
        "1.0D+00 -0.5D0 0.0D0 0.0d0 0.D0 -5.0D-01 1.5-103\n 0.2D+01 .5D0 0.0 0 0 5.D-1 0\n",
    ),
    ("count.txt", "2\n1 -0.5 0 0 0 -0.5 0\n2 0.5 0 0 0 0.5 0\n"),
    (
        "phi-gpu.inp",
        "0000\n000002\n2.5E-01\n000000 1 -0.5 0 0 0 -0.5 0\n000001 2 0.5 0 0 0 0.5 0\n",
    ),
    (
        "count.csv",
        "2\nmass,x,y,z,vx,vy,vz\n1,-0.5,0,0,0,-0.5,0\n2,0.5,0,0,0,0.5,0\n",
    ),
    (
        "r.txt",
        "\"name\" \"m\" \"x\" \"y\" \"z\" \"vx\" \"vy\" \"vz\"\n\"a b\" 1 -0.5 0 0 0 -0.5 0\n\"c\" 2 0.5 0 0 0 0.5 0\n",
    ),
    (
        "colours.csv",
        "x,y,z,vx,vy,vz,mass,r,g,b\n-0.5,0,0,0,-0.5,0,1,255,255,0\n0.5,0,0,0,0.5,0,2,0,255,0\n",
    ),
];

#[test]
fn the_same_bodies_are_read_however_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected: Bodies = [
        (1.0, [-0.5, 0.0, 0.0], [0.0, -0.5, 0.0]),
        (2.0, [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]),
    ]
    .into_iter()
    .collect();
    let mut all = Vec::new();
    for (name, text) in WRITTEN {
        let file = read(&write(folder.path(), name, text)).unwrap();
        expected.velocity[0].z = if name == "fortran.dat" { 1.5e-103 } else { 0.0 };
        assert_eq!(file.bodies, expected, "{name}");
        assert_eq!((file.dimensions, file.usual_g), (3, 1.0), "{name}");
        assert_eq!(
            (file.carried.g, file.carried.softening),
            (None, None),
            "{name}"
        );
        let time = (name == "phi-gpu.inp").then_some(0.25);
        assert_eq!(file.carried.time, time, "{name}");
        all.push((name, file));
    }
    let of = |name: &str| &all.iter().find(|(other, _)| *other == name).unwrap().1;
    for (name, names) in [
        ("names.csv", ["Alpha, \"Centauri\"", "B #2"]),
        ("lines.csv", ["two\nlines", "b"]),
        ("tabs.tsv", ["Alpha Centauri", "B"]),
        ("r.txt", ["a b", "c"]),
    ] {
        assert_eq!(of(name).carried.names.as_deref().unwrap(), names, "{name}");
        // Names of any kind are read back from a CSV that the program writes.
        let path = folder.path().join("back.csv");
        let spec = Specification {
            names: of(name).carried.names.clone(),
            ..Specification::default()
        };
        let bodies = expected.clone();
        let (step, time) = (0, 0.0);
        let snapshot = Snapshot { step, time, bodies };
        write_bodies(&path, BodyFormat::Csv, &snapshot, &spec).unwrap();
        assert_eq!(read(&path).unwrap().carried.names.unwrap(), names, "{name}");
    }
    assert!(of("mark.csv").notes.is_empty() && of("capitals.csv").notes.is_empty());
    for (name, says) in [
        (
            "m.csv",
            "columns vx, vy, vz, x, y, z, m are read as vx, vy, vz, x, y, z, mass",
        ),
        ("colours.csv", "these columns are not used: r, g, b"),
    ] {
        assert!(of(name).notes[0].contains(says), "{:?}", of(name).notes);
    }
    // What Windows PowerShell writes.
    let utf16 = std::iter::once('\u{feff}').chain(WRITTEN[12].1.chars());
    let utf16: String = utf16.collect();
    let bytes: Vec<u8> = utf16.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let path = folder.path().join("utf16.txt");
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(read(&path).unwrap(), *of("blanks.txt"));
}

#[test]
fn texts_with_another_meaning_are_refused_with_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let body = "1,-0.5,0,0,0,-0.5,0";
    let csv = |head: &str| format!("{head}\n{body},0.1,0.1\n");
    let columns = "mass,x,y,z,vx,vy,vz";
    for (name, text, says) in [
        (
            "a.csv",
            csv(&format!("{columns},softning,q")),
            "the column 'softning' is not known: correct it to softening",
        ),
        (
            "b.csv",
            csv(&format!("{columns},Softening,eps")),
            "the column softening stands here as 'eps' and before as 'Softening'",
        ),
        (
            "c.csv",
            csv(&format!("{columns},m,q")),
            "the column mass stands here as 'm' and before as 'mass'",
        ),
        (
            "d.csv",
            csv(&format!("{columns},x,q")),
            "the column x stands here",
        ),
        (
            "e.csv",
            csv("name,m,x,y,z,vx,q,r,s"),
            "there is no column vy among name, m, x, y, z, vx, q, r, s: expected mass, x, y, z, vx, vy, vz",
        ),
        (
            "f.txt",
            format!("{body}\n"),
            "only values between blanks, and not between commas, may go without",
        ),
        (
            "g.txt",
            "1,0 0,5 0,0 0,0 0,0\n".into(),
            "'1,0' for mass: expected a number (its decimal places need a point, not a comma)",
        ),
        (
            "h.csv",
            "mass;x;y;vx;vy\n1,0;0,5;0;0;0\n".into(),
            "need a point, not a comma",
        ),
        (
            "i.txt",
            "3\n1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n".into(),
            "i.txt:1:1: the first line is no body but a header (3), before 2 bodies: remove it",
        ),
        (
            "j.txt",
            "2\n2.50e+11\n1 0 0 0 0\n1 1 0 0 1\n".into(),
            "the first lines are no bodies but a header (2 | 2.50e+11)",
        ),
        (
            "k.txt",
            "2 0.5\n1 0 0 0 0 0 0\n1 1 0 0 0 1 0\n".into(),
            "{\"time\": 0.5}",
        ),
        (
            "l.txt",
            "2\n3\n0\n1\n1\n0 0 0\n1 0 0\n0 0 0\n0 1 0\n".into(),
            "all masses, then all positions",
        ),
        (
            "p.txt",
            "2\n2.5e11\n1e11 0 0 3e4 6e24 earth.gif\n".into(),
            "remove the header before this line, too",
        ),
        (
            "m.txt",
            "1 2 3 4 5 6\n".into(),
            "'6' is one value too many: expected 5 numbers",
        ),
        (
            "n.csv",
            "mass,x,y,vx,vy\n\"1,2,3,4,5\n".into(),
            "n.csv:2:1: the quotation mark has no second one",
        ),
        (
            "o.txt",
            "Solar system\n1 0 0 0 0\n".into(),
            "no column mass among Solar, system",
        ),
    ] {
        let error = read(&write(folder.path(), name, &text)).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(says), "{name}: {said}");
    }
    // Eight numbers may be those of another order.
    let text = "0.0 0.0 0.0 0.0 2e30 255 0 0\n1.5e11 0.0 0.0 3e4 6e24 0 0 255\n";
    let error = read(&write(folder.path(), "princeton.txt", text)).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("(0.0 in the first line) is neither a name nor a number of the body"),
        "{said}"
    );
    assert!(said.contains("such as x y vx vy mass r g b"), "{said}");
    let named = format!("x y vx vy mass r g b\n{text}");
    let file = read(&write(folder.path(), "princeton-named.txt", &named)).unwrap();
    assert_eq!(file.bodies.mass, [2e30, 6e24]);
}

#[test]
fn invalid_bodies_are_rejected() {
    let two = || Bodies {
        mass: vec![1.0, 2.0],
        position: vec![DVec3::ZERO, DVec3::X],
        velocity: vec![DVec3::ZERO; 2],
    };
    let check = |change: &dyn Fn(&mut Specification, &mut Bodies)| {
        let (mut spec, mut bodies) = (Specification::default(), two());
        change(&mut spec, &mut bodies);
        spec.validate(bodies).map(|_| ()).unwrap_err()
    };
    assert!(matches!(
        check(&|_, b| b.position[1].x = -0.0),
        SpecError::Coincident {
            first: 0,
            second: 1,
            ..
        }
    ));
    assert_eq!(
        check(&|_, b| b.mass[1] = -1.0),
        SpecError::NegativeMass {
            body: 1,
            given: -1.0
        }
    );
    assert!(matches!(
        check(&|_, b| b.velocity[0][1] = f64::NAN),
        SpecError::NotFinite {
            body: 0,
            what: "vy",
            ..
        }
    ));
    assert!(matches!(
        check(&|s, b| {
            s.dimensions = 2;
            b.position[1][2] = 1.0;
        }),
        SpecError::OutOfPlane { body: 1, .. }
    ));
    assert!(matches!(
        check(&|s, b| {
            s.g = 1e200;
            b.mass[0] = 1e200;
        }),
        SpecError::NotFinite { body: 0, .. }
    ));
    for (option, change) in [
        ("dt", (|s| s.dt = 0.0) as fn(&mut Specification)),
        ("steps", |s| s.steps = 0),
        ("softening", |s| s.softening = -1.0),
        ("g", |s| s.g = f64::INFINITY),
        ("dimensions", |s| s.dimensions = 4),
    ] {
        let error = check(&|s, _| change(s));
        assert!(
            matches!(error, SpecError::Option { option: o, .. } if o == option),
            "{error}"
        );
    }
    let none = Specification::default()
        .validate(Bodies::default())
        .unwrap_err();
    assert_eq!(none, SpecError::Bodies { given: 0 });
    // With softening, or if both have no mass, they may be at one place.
    let mut softened = two();
    softened.position[1] = DVec3::ZERO;
    let spec = Specification {
        softening: 0.1,
        ..Specification::default()
    };
    assert!(spec.validate(softened.clone()).is_ok());
    softened.mass = vec![0.0; 2];
    assert!(Specification::default().validate(softened).is_ok());
}

#[test]
fn a_step_too_long_for_an_orbit_gives_a_warning() {
    let kepler = || {
        Model::Kepler {
            a: 1.0,
            e: 0.0,
            ratio: 1.0,
        }
        .build(None, 0, 1.0, 3)
        .unwrap()
    };
    let with = |dt| {
        Specification {
            dt,
            ..Specification::default()
        }
        .validate(kepler())
        .unwrap()
    };
    assert!(with(0.7).warnings().is_empty());
    assert_eq!(with(0.8).warnings().len(), 1);
}

#[test]
fn a_run_resumed_from_a_checkpoint_ends_with_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.npz");
    let engine = CpuEngine::new(Some(2), Schedule::Dynamic).unwrap();
    for (integrator, solver) in [
        (Integrator::VelocityVerlet, Solver::Reduced),
        (Integrator::Leapfrog, Solver::Basic),
        (Integrator::RungeKutta4, Solver::Reduced),
    ] {
        let spec = Specification {
            integrator: integrator.into(),
            solver,
            steps: 30,
            ..Specification::default()
        };
        let bodies = Model::Plummer.build(Some(150), 9, 1.0, 3).unwrap();
        let problem = spec.clone().validate(bodies.clone()).unwrap();
        let from = Snapshot {
            step: 0,
            time: 0.0,
            bodies,
        };
        let diagnostics = Diagnostics::of(&from.bodies, spec.g, spec.softening);
        let energies = Energies::from(&diagnostics);
        let mut tracks = Tracks::new(1);
        tracks.push(0.0, std::iter::once([from.bodies.position[0]; 3]));
        let history = || {
            let mut history = History::in_folder(folder.path());
            history.tracks = tracks.clone();
            let moment = Moment {
                step: 0,
                time: 0.0,
                diagnostics: diagnostics.clone(),
            };
            history.add_moment(&moment).unwrap();
            history.add_positions(0.0, &from.bodies.position).unwrap();
            history
        };
        let mut seen = Vec::new();
        integrate(
            &engine,
            &problem,
            &from,
            7,
            &Unattended,
            &mut |s: Snapshot| {
                if s.step == 14 {
                    Checkpoint {
                        specification: spec.clone(),
                        step: s.step,
                        start_energy: Some(energies),
                        bodies: s.bodies.clone(),
                        history: history(),
                    }
                    .write(&path)
                    .map_err(|e| e.to_string())?;
                }
                seen.push(s);
                Ok::<(), String>(())
            },
        )
        .unwrap();
        assert_eq!(
            seen.iter().map(|s| s.step).collect::<Vec<_>>(),
            [7, 14, 21, 28, 30]
        );
        let Checkpoint {
            specification,
            step,
            bodies,
            start_energy,
            history: read,
        } = Checkpoint::read(&path).unwrap();
        assert_eq!(read, history());
        assert_eq!(
            (step, start_energy, &specification),
            (14, Some(energies), &spec)
        );
        let problem = specification.validate(bodies.clone()).unwrap();
        let from = Snapshot {
            step,
            time: 0.0,
            bodies,
        };
        let mut last = None;
        integrate(&engine, &problem, &from, 100, &Unattended, &mut |s| {
            last = Some(s);
            Ok::<(), String>(())
        })
        .unwrap();
        assert_eq!(last.as_ref(), seen.last());
    }
}

#[test]
fn checkpoints_keep_the_lower_parts_of_float_float_numbers() {
    use trisolar::nbody::{DeviceEngine, Engine as _, LaunchPlan, NbodyKernel, Precision};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.npz");
    let spec = Specification {
        precision: Precision::FloatFloat,
        solver: Solver::Basic,
        softening: 0.01,
        ..Specification::default()
    };
    let bodies = Model::Plummer.build(Some(20), 9, 1.0, 3).unwrap();
    let problem = spec.clone().validate(bodies).unwrap();
    let engine = DeviceEngine::emulated(LaunchPlan::new(NbodyKernel::Tile1), None);
    let mut run = engine.start(&problem, problem.bodies()).unwrap();
    run.advance(3, &Unattended).unwrap();
    let bodies = run.bodies().unwrap();
    let lower = run.lower_parts();
    assert!(lower.is_some());
    let checkpoint = Checkpoint {
        specification: spec,
        step: 3,
        start_energy: None,
        bodies,
        history: History::default(),
    };
    checkpoint.write_with(&path, lower.as_ref(), None).unwrap();
    assert_eq!(Checkpoint::read_lower_parts(&path).unwrap(), lower);
    assert_eq!(Checkpoint::read(&path).unwrap(), checkpoint);
    checkpoint.write(&path).unwrap();
    assert_eq!(Checkpoint::read_lower_parts(&path).unwrap(), None);
}
