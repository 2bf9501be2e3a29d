//! The options of `trisolar encounters`, and the specification that they make.

use std::path::PathBuf;

use trisolar::divergence::{Backend, OneOrTwo, Points, SpecError};
use trisolar::encounters::parameter::range;
use trisolar::encounters::{Choice, Jump, Order, Parameter, Setup, Specification, Validated};
use trisolar::io::plot::Theme;

use crate::{Failure, values};

/// Integrate three bodies to the end: who escapes, when, how fast, and which binary stays behind. Without options: 10000
/// encounters of a binary (masses 15 and 17.5, a = 5, circular) with a single body of mass 12.5 at rest at 100.
#[derive(Debug, clap::Args)]
#[command(
    args_override_self = true,
    after_help = "G = 1: with solar masses and astronomical units a year is 2 pi units of time.\n\
                  Run i depends on the seed and i alone, with the same bits on every CPU and GPU."
)]
pub(crate) struct Args {
    /// What three bodies start as: binary-single, free-fall (three bodies at rest, the first two at x = -0.5 and 0.5) or burrau
    /// [default: binary-single]
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Start",
        conflicts_with = "points"
    )]
    setup: Option<Setup>,
    /// Start from a file, a line or row a run: positions, velocities and masses of bodies 1, 2, 3 (21 numbers); .npy, .npz (its
    /// array points) or text
    #[arg(long, value_name = "FILE", help_heading = "Start", conflicts_with_all = ["n", "draw", "map", "size", "seed"])]
    pub(super) points: Option<PathBuf>,
    /// Runs, 1 to 4294967296, such as 1e6 [default: 10000; burrau: 1]
    #[arg(long, value_name = "N", help_heading = "Start", allow_hyphen_values = true, value_parser = runs, conflicts_with = "map")]
    n: Option<u64>,
    /// Seed of everything that is drawn [default: 1]
    #[arg(long, value_name = "SEED", help_heading = "Start")]
    seed: Option<u64>,
    /// Masses of bodies 1, 2 (the binary) and 3 [default: 15,17.5,12.5; free-fall: 1,1,1]
    #[arg(long, value_name = "M1,M2,M3", help_heading = "Start", allow_hyphen_values = true, value_parser = values::triple)]
    masses: Option<[f64; 3]>,
    /// Semi-major axis of the binary (length) [default: 5]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    a: Option<f64>,
    /// Eccentricity of the binary, 0 to 0.999999 [default: 0]
    #[arg(long, value_name = "E", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    e: Option<f64>,
    /// Angle between the binary's angular momentum and the direction in which the single comes in, 0 to 180 degrees [default:
    /// uniform; of a map: 90]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    inclination: Option<f64>,
    /// Longitude of the binary's ascending node, from the y axis (degrees) [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    node: Option<f64>,
    /// Argument of the binary's pericentre, from the ascending node (degrees) [default: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    argument: Option<f64>,
    /// Mean anomaly of the binary (degrees) [default: uniform; of a map: 0]
    #[arg(long, value_name = "DEGREES", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    phase: Option<f64>,
    /// Distance of the single from the binary's centre of mass, on the x axis (length) [default: 100]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    distance: Option<f64>,
    /// Velocity of the single at infinity; 0 is a parabola (length / time) [default: at rest at its distance]
    #[arg(long, value_name = "SPEED", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    v_inf: Option<f64>,
    /// Impact parameter of the single (length) [default: 0]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    impact: Option<f64>,
    /// free-fall: x of body 3 (length) [default: drawn in the region of Agekyan and Anosova; of a map: 0.2]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    x: Option<f64>,
    /// free-fall: y of body 3 (length) [default: drawn in the region of Agekyan and Anosova; of a map: 0.5]
    #[arg(long, value_name = "LENGTH", help_heading = "Start", allow_hyphen_values = true, value_parser = values::number)]
    y: Option<f64>,
    /// Draw a parameter (mass1, mass2, mass3, a, e, inclination, node, argument, phase, distance, v-inf, impact; x, y): uniform,
    /// isotropic (inclination), thermal (e), disc (impact: uniform in its square) or region (x and y), with :LOW:HIGH where it
    /// has no range of its own, such as inclination=isotropic or impact=disc:0:20; can be repeated
    #[arg(
        long,
        value_name = "NAME=LAW,...",
        help_heading = "Start",
        value_delimiter = ','
    )]
    draw: Vec<String>,
    /// Compute a map over two parameters (columns, then rows) or one, with a range where they have none of their own, such as
    /// phase,inclination or a=1:10,e=0:0.9. Nothing else is drawn unless --draw says so
    #[arg(
        long,
        value_name = "X[=LOW:HIGH],Y[=LOW:HIGH]",
        help_heading = "Start",
        value_delimiter = ','
    )]
    map: Vec<String>,
    /// Pixels of the map: W or WxH [default: 300]
    #[arg(long, value_name = "W[xH]", help_heading = "Start", allow_hyphen_values = true, value_parser = values::size, requires = "map")]
    size: Option<OneOrTwo<u64>>,

    /// Order of the integrator: 2, 6 or 8 [default: 6]
    #[arg(long, value_name = "P", help_heading = "Integration", allow_hyphen_values = true, value_parser = order)]
    order: Option<Order>,
    /// Steps in a period of the tightest circular binary that the energy allows, 10 to 1e6 [default: 1000, 50, 35 at order 2, 6,
    /// 8]
    #[arg(long, value_name = "N", help_heading = "Integration", allow_hyphen_values = true, value_parser = values::number)]
    steps_per_period: Option<f64>,
    /// Jump over excursions of the third body where what is left out of its tide is below this, 1e-12 to 1e-4; or off
    /// [default: 1e-6, beyond 31.6 semi-major axes]
    #[arg(long, value_name = "TOLERANCE", help_heading = "Integration", allow_hyphen_values = true, value_parser = jump)]
    jump: Option<Jump>,

    /// Distance at which an unbound body has escaped, 5 to 1e6 (semi-major axes of the binary) [default: 20]
    #[arg(long, value_name = "RATIO", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::number)]
    escape_radius: Option<f64>,
    /// Radii of bodies 1, 2, 3, which collide when they touch (length) [default: 0,0,0]
    #[arg(long, value_name = "R1,R2,R3", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::triple)]
    radii: Option<[f64; 3]>,
    /// End runs that are still open at this time [default: none]
    #[arg(long, value_name = "TIME", help_heading = "Ends", allow_hyphen_values = true, value_parser = values::number)]
    max_time: Option<f64>,
    /// End runs that are still open after so many steps, 1 to 4e9 [default: 4000000]
    #[arg(long, value_name = "N", help_heading = "Ends", allow_hyphen_values = true, value_parser = steps)]
    max_steps: Option<u32>,

    /// Write the records to .npz or .csv, or the map of outcomes to .png; can be repeated
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) out: Vec<PathBuf>,
    /// Draw the distributions of e², velocities and lifetimes to PREFIX-e2.png, PREFIX-v-inf.png and PREFIX-lifetime.png
    #[arg(long, value_name = "PREFIX", help_heading = "Output")]
    pub(super) plots: Option<PathBuf>,
    /// Draw light lines on near-black (dark) or dark lines on white (light)
    #[arg(long, value_name = "NAME", help_heading = "Output", default_value = "dark", value_parser = theme)]
    pub(super) theme: Theme,

    /// Where to compute: auto (a GPU for 20000 runs and more, if one can be used), cpu or gpu
    #[arg(long, value_name = "NAME", help_heading = "Computation", default_value = "auto", value_parser = values::backend)]
    pub(super) backend: Backend,
    /// Threads of the CPU engine, 1 to 4096 [default: as many as the process may use]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::threads)]
    pub(super) threads: Option<usize>,
    /// GPUs that share the work, which chooses --backend gpu; their number changes no bit [default: all]
    #[arg(long, value_name = "N", help_heading = "Computation", allow_hyphen_values = true, value_parser = values::gpu_count)]
    pub(super) gpus: Option<u32>,

    /// Warn of runs whose relative error of the energy is above this
    #[arg(long, value_name = "ERROR", help_heading = "Report", default_value = "1e-6", allow_hyphen_values = true, value_parser = values::number)]
    pub(super) max_error: f64,
    /// Print one JSON object instead of the summary
    #[arg(long, help_heading = "Report")]
    pub(super) json: bool,
    /// Print neither progress nor summary nor warnings
    #[arg(short, long, help_heading = "Report")]
    pub(super) quiet: bool,
}

/// A whole number, also written as 1e6.
fn whole(text: &str, most: u64) -> Option<u64> {
    let text = text.trim();
    let exact = text.parse::<u64>().ok();
    let rounded = || {
        let x = text.parse::<f64>().ok()?;
        // Beyond 2^53 not every number can be written in this way.
        (x.fract() == 0.0 && (0.0..9e15).contains(&x)).then_some(x as u64)
    };
    exact.or_else(rounded).filter(|n| (1..=most).contains(n))
}

fn runs(text: &str) -> Result<u64, String> {
    whole(text, 1 << 32).ok_or_else(|| "must be a whole number from 1 to 4294967296 (2^32)".into())
}

fn steps(text: &str) -> Result<u32, String> {
    let steps = whole(text, 4_000_000_000).and_then(|n| n.try_into().ok());
    steps.ok_or_else(|| "must be a whole number from 1 to 4000000000".into())
}

fn order(text: &str) -> Result<Order, String> {
    match text.trim() {
        "2" => Ok(Order::Two),
        "6" => Ok(Order::Six),
        "8" => Ok(Order::Eight),
        _ => Err("must be 2, 6 or 8".into()),
    }
}

fn jump(text: &str) -> Result<Jump, String> {
    match text.trim() {
        "off" => Ok(Jump::Off),
        text => match text.parse() {
            Ok(tolerance) => Ok(Jump::Tolerance(tolerance)),
            Err(_) => Err("must be off, or a tolerance from 1e-12 to 1e-4".into()),
        },
    }
}

fn theme(text: &str) -> Result<Theme, String> {
    match text {
        "dark" => Ok(Theme::Dark),
        "light" => Ok(Theme::Light),
        _ => Err("must be dark or light".into()),
    }
}

/// A value of the specification that is not allowed.
fn refused(error: &SpecError) -> Failure {
    Failure::specification(error, true, None)
}

/// The parameter of a setup that an option names.
fn parameter(
    setup: Setup,
    name: &str,
    option: &str,
    given: &str,
) -> Result<&'static Parameter, Failure> {
    match setup.parameter(name) {
        Some((_, parameter)) => Ok(parameter),
        None => {
            let names: Vec<&str> = setup.parameters().iter().map(|p| p.name).collect();
            let reason = if names.is_empty() {
                format!("the setup {setup} has no parameters")
            } else {
                let names = names.join(", ");
                format!("the setup {setup} has no {name}; its parameters are {names}")
            };
            Err(Failure::value(given, option, &reason))
        }
    }
}

impl Args {
    /// Values of parameters that are fixed by an option of their own.
    fn fixed(&self) -> Vec<(&'static str, &'static str, f64)> {
        let masses = self.masses.unwrap_or_default();
        let mass = |i: usize| self.masses.map(|_| masses[i]);
        [
            ("mass1", "--masses", mass(0)),
            ("mass2", "--masses", mass(1)),
            ("mass3", "--masses", mass(2)),
            ("a", "--a", self.a),
            ("e", "--e", self.e),
            ("inclination", "--inclination", self.inclination),
            ("node", "--node", self.node),
            ("argument", "--argument", self.argument),
            ("phase", "--phase", self.phase),
            ("distance", "--distance", self.distance),
            ("v-inf", "--v-inf", self.v_inf),
            ("impact", "--impact", self.impact),
            ("x", "--x", self.x),
            ("y", "--y", self.y),
        ]
        .into_iter()
        .filter_map(|(name, option, value)| Some((name, option, value?)))
        .collect()
    }

    /// What the options ask for, checked; points are read.
    pub(super) fn validated(&self) -> Result<Validated, Failure> {
        let setup = self.setup.unwrap_or(if self.points.is_some() {
            Setup::Points
        } else {
            Setup::BinarySingle
        });
        let mut spec = Specification {
            setup,
            ..Specification::default()
        };
        spec.parameters.clear();
        let mut put = |name: &'static str, choice, option: &str, given: &str| match spec
            .parameters
            .insert(name, choice)
        {
            None => Ok(()),
            Some(_) => {
                let reason = format!("{name} is given twice: fixed, drawn or an axis of the map");
                Err(Failure::value(given, option, &reason))
            }
        };
        for (name, option, value) in self.fixed() {
            let given = value.to_string();
            let parameter = parameter(setup, name, option, &given)?;
            if !parameter.allows(value) {
                let allowed = parameter.allowed_in_words();
                return Err(Failure::value(&given, option, &allowed));
            }
            put(parameter.name, Choice::Fixed(value), option, &given)?;
        }
        for given in &self.draw {
            let (name, law) = given.split_once('=').ok_or_else(|| {
                Failure::value(
                    given,
                    "--draw",
                    "must be NAME=LAW, such as inclination=isotropic",
                )
            })?;
            let parameter = parameter(setup, name, "--draw", given)?;
            let choice = Choice::parse_draw(law, parameter)
                .map_err(|reason| Failure::value(given, "--draw", &reason))?;
            put(parameter.name, choice, "--draw", given)?;
        }
        if self.map.len() > 2 {
            let given = self.map.join(",");
            return Err(Failure::value(
                &given,
                "--map",
                "must be one or two parameters",
            ));
        }
        for (axis, given) in self.map.iter().enumerate() {
            let (name, words) = match given.split_once('=') {
                Some((name, words)) => (name, words.split(':').collect()),
                None => (given.as_str(), Vec::new()),
            };
            let parameter = parameter(setup, name, "--map", given)?;
            let range = range(&words, parameter)
                .map_err(|reason| Failure::value(given, "--map", &reason))?;
            let choice = [Choice::Columns(range), Choice::Rows(range)][axis];
            put(parameter.name, choice, "--map", given)?;
        }
        if self.map.is_empty() {
            let usual = Specification::default().parameters;
            let drawn: Vec<(&str, Choice)> = match setup {
                Setup::BinarySingle => usual.into_iter().collect(),
                Setup::FreeFall if !["x", "y"].iter().any(|k| spec.parameters.contains_key(k)) => {
                    vec![("x", Choice::Region), ("y", Choice::Region)]
                }
                _ => Vec::new(),
            };
            for (name, choice) in drawn {
                spec.parameters.entry(name).or_insert(choice);
            }
        } else {
            let [w, h] = match &self.size {
                None => [300, 300],
                Some(OneOrTwo::One(w)) => [*w, *w],
                Some(OneOrTwo::Two(size)) => *size,
            };
            let size = if self.map.len() == 1 { [w, 1] } else { [w, h] };
            let pixels = size[0].checked_mul(size[1]);
            let most = |n: &u64| (1..=1 << 32).contains(n);
            spec.n = pixels.filter(most).ok_or_else(|| {
                let given = format!("{}x{}", size[0], size[1]);
                Failure::value(
                    &given,
                    "--size",
                    "must be from 1 to 4294967296 (2^32) pixels",
                )
            })?;
            spec.size = Some(size);
        }
        match (self.n, setup) {
            (Some(n), _) => spec.n = n,
            (None, Setup::Burrau) => spec.n = 1,
            _ => {}
        }
        if let Some(seed) = self.seed {
            spec.seed = seed;
        }
        if let Some(order) = self.order {
            spec.order = order;
        }
        spec.steps_per_period = (self.steps_per_period).unwrap_or(spec.order.steps_per_period());
        spec.jump = self.jump.unwrap_or(spec.jump);
        spec.escape_radius = self.escape_radius.unwrap_or(spec.escape_radius);
        spec.radii = self.radii.unwrap_or(spec.radii);
        spec.limits.max_time = self.max_time;
        spec.limits.max_steps = self.max_steps.unwrap_or(spec.limits.max_steps);
        let valid = match &self.points {
            None => spec.validate(),
            Some(path) => {
                let points = Points::read(path).map_err(Failure::BadInput)?;
                spec.validate_points(&points)
            }
        };
        valid.map_err(|e| refused(&e))
    }
}
