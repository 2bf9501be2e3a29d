//! The values that a user gives, under the names of the command line, and the specification that they make.

use super::{
    Angle, Elements, Form, Integrator, Number, Observable, PlanetText, Preset, Relativity, Setting,
    Specification, Step, Stop, Validated,
};
use trisolar_run::max_error;
use trisolar_spec::{SpecError, parameters, read};

parameters! {
    /// Values of a [`Specification`], all of them optional: the options of `trisolar planets`.
    pub struct Overrides {
        "Start" {
            /// A known system in place of --star and --planet: solar-system, giants (from Jupiter on), trappist-1 (Agol et al. 2021) or kepler-36
            /// (like those of Carter et al. 2012, on circular orbits)
            preset: Option<Preset> = "NAME" => read::parsed,
                where { choices: Some(Preset::names), conflicts: &["star", "planet"] };
            /// Replaces a number of the preset or of the planets, such as a2=7:10:96 or star=0.9; can be repeated
            set: Vec<Setting> = "NAME=NUMBER" => read::parsed, where { separator: Some(';') };
            /// Mass of the star (solar masses, or with mjup or mearth behind it). Every number of the star and the planets is fixed, an axis of
            /// a map LOW:HIGH:N (the first one along the columns, the second one along the rows), or drawn: uniform(LOW,HIGH) or
            /// thermal(LOW,HIGH), uniform in its square
            star: Option<Number> = "MASS" => read::parsed, default "1";
            /// A planet, from the inside out; repeat it for each, up to 15 times: mass m (0 for a test particle), semi-major axis a (au),
            /// eccentricity e, inclination inc, longitude of the node Omega, argument of the pericentre omega, mean anomaly M (radians, or
            /// with deg behind it), about the star and the planets further in; or the period P (years, or with days behind it) for a, the longitude
            /// of the pericentre pomega for omega, mean longitude lambda, true anomaly f or time of the pericentre T (years) for M, or
            /// x, y, z (au), vx, vy, vz (au a year, or with km/s behind it) for all elements; and for --integrator adaptive the times tau_a and tau_e in which
            /// a and e shrink by a factor e (years), radiation pressure beta as a share of gravity, and Love number k2, time lag (s) and radius
            /// (au, or with rjup, rearth or km behind it) of the tide on it; what is not given is 0
            planet: Vec<PlanetText> = "m=MASS,a=AU,e=E,..." => read::parsed, where { separator: Some(';') };
            /// About what the orbits of the planets are: jacobi (the star and the planets further in) or heliocentric (the star alone)
            elements: Option<Elements> = "NAME" => read::parsed, default "jacobi", where { choices: Some(Elements::names) };
            /// Number of systems, if they are not a map
            n: Option<u64> = "N" => |text| read::whole(text, 1..=1 << 32), default "1; with drawn numbers 1000";
            /// Seed of all random numbers
            seed: Option<u64> = "SEED" => |text| read::whole(text, 0..=u64::MAX), default "1";
        }
        "Forces" {
            /// Relativity of the star to first order: potential, which has the precession of the pericentres (Nobili & Roxburgh 1986), or full,
            /// its post-Newtonian acceleration, which needs --integrator adaptive
            relativity: Option<Relativity> = "NAME" => read::parsed,
                where { choices: Some(Relativity::names), aliases: &["pn"] };
            /// Oblateness J2 of the star, whose axis is that of z; needs --radius
            j2: Option<f64> = "X" => read::number;
            /// Coefficient J4 of the star; needs --radius
            j4: Option<f64> = "X" => read::number;
            /// Equatorial radius of the star, to which J2, J4 and k2 refer (au, or with rsun, rjup or km behind it)
            radius: Option<Number> = "LENGTH" => read::parsed, where { aliases: &["star-radius"] };
            /// Love number k2 of the tides that planets raise on the star; needs --radius and --integrator adaptive
            k2: Option<f64> = "X" => read::number;
            /// Time by which these tides lag
            lag: Option<f64> = "SECONDS" => read::number, unit "s", default "0";
            /// Period of the star's rotation about the axis of z; negative if it turns backwards
            spin: Option<f64> = "DAYS" => read::number, unit "days", default "it does not turn";
        }
        "Integration" {
            /// Time for which systems are followed
            years: Option<f64> = "YEARS" => read::number, unit "years", default "10000";
            /// Integrator: wisdom-holman (1991; fixed steps), adaptive (steps of each system's own length, for close encounters, high
            /// eccentricities and forces that depend on velocities) or hybrid (wisdom-holman, and adaptive where planets are within four Hill
            /// radii)
            integrator: Option<Integrator> = "NAME" => read::parsed, default "wisdom-holman",
                where { choices: Some(Integrator::names) };
            /// Largest relative error of an adaptive step
            tolerance: Option<f64> = "X" => read::number, default "1e-12";
            /// Step of the integrator: years, or a share of the shortest period of each system; adaptive steps are powers of two times this
            step: Option<Step> = "YEARS or XP" => read::parsed, default "0.05P";
            /// Order of the parts of a step: kdk (kick, drift, kick) or dkd (drift, kick, drift, as in WHFast, with two drifts for each step)
            form: Option<Form> = "NAME" => read::parsed, default "kdk", where { choices: Some(Form::names) };
            /// Order of the symplectic corrector at the start and at the end of a system, 3, 5, 7, 11 or 17 (Wisdom 2006): the energy error
            /// then falls with the square of the planets' masses
            corrector: Option<u64> = "ORDER" => |text| read::whole(text, 3..=17), default "none";
            /// What is observed: megno (its mean over time), lyapunov (exponent), fli (fast Lyapunov indicator), time (of the end),
            /// energy-error, a-range, e-max and inc-max (of a planet), amd (the largest relative angular momentum deficit), amd-stability
            /// (that of the start relative to the critical one), libration (amplitude of an angle), frequency-drift (change of a planet's
            /// mean motion between the halves of the time) or closest (the least distance of two planets)
            observable: Option<Observable> = "NAME" => read::parsed, default "megno",
                where { choices: Some(Observable::names) };
            /// The planet of --observable a-range, e-max, inc-max and frequency-drift, counted from 1
            of: Option<u64> = "PLANET" => |text| read::whole(text, 1..=15), default "the last one";
            /// The angle of --observable libration: a sum of multiples of mean longitudes, longitudes of the pericentre and longitudes of the node,
            /// such as 3*lambda2-2*lambda1-pomega2 or pomega1-Omega1
            angle: Option<Angle> = "SUM" => read::parsed;
        }
        "Ends" {
            /// What ends systems sooner: r>DISTANCE (au), hill<NUMBER (two planets within so many Hill radii of either), closest<DISTANCE (two
            /// planets; au), megno>NUMBER, or a limit of one of the observables lyapunov, fli, a-range, e-max, inc-max, amd, amd-stability
            /// and libration, such as e-max>0.9; can be repeated
            stop: Vec<Stop> = "CONDITION" => read::parsed, default "r>1e9", where { separator: Some(',') };
        }
        "Accuracy" {
            /// Fail (exit code 1), after writing all files, if a system was not solved or has a relative energy error above X
            max_error: Option<f64> = "X" => read::number;
        }
    }
}

impl Overrides {
    /// The validated specification.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validated(&self) -> Result<Validated, SpecError> {
        if let Some(most) = self.max_error {
            max_error(most).map_err(|allowed| SpecError::new("max-error", most, allowed))?;
        }
        let (star, planets) = match self.preset {
            Some(preset) => preset.system(),
            None => (1.0, Vec::new()),
        };
        let mut star = self.star.unwrap_or(Number::Fixed(star));
        let mut planets = if self.planet.is_empty() {
            planets
        } else {
            self.planet.clone()
        };
        for setting in &self.set {
            let refuse = |allowed| SpecError::new("set", setting, allowed);
            setting.apply(&mut star, &mut planets).map_err(refuse)?;
        }
        let spec = Specification {
            star,
            planets,
            n: 1,
            seed: self.seed.unwrap_or(1),
            years: self.years.unwrap_or(10_000.0),
            step: self.step.unwrap_or(Step::Periods(0.05)),
            stop: self.stop.clone(),
            observable: self.observable.unwrap_or_default(),
            of: self.of,
            angle: self.angle,
            integrator: (self.integrator).filter(|which| *which != Integrator::WisdomHolman),
            tolerance: self.tolerance,
            form: self.form.filter(|form| *form != Form::Kdk),
            corrector: self.corrector,
            elements: self.elements.filter(|about| *about != Elements::Jacobi),
            relativity: self.relativity,
            j2: self.j2,
            j4: self.j4,
            radius: self.radius,
            k2: self.k2,
            lag: self.lag,
            spin: self.spin,
        };
        let n = match (self.n, spec.size()) {
            (Some(n), Some(_)) => {
                let allowed =
                    "cannot be used with a map, whose axes determine the number of systems";
                return Err(SpecError::new("n", n, allowed));
            }
            (Some(n), None) => n,
            (None, _) if spec.draws() => 1000,
            _ => 1,
        };
        Specification { n, ..spec }.validate()
    }

    /// Every value of a specification.
    pub fn of(spec: &Specification) -> Self {
        Self {
            preset: None,
            set: Vec::new(),
            star: Some(spec.star),
            planet: spec.planets.clone(),
            n: spec.size().is_none().then_some(spec.n),
            seed: Some(spec.seed),
            years: Some(spec.years),
            step: Some(spec.step),
            observable: Some(spec.observable),
            of: spec.of,
            angle: spec.angle,
            stop: spec.stop.clone(),
            integrator: spec.integrator,
            tolerance: spec.tolerance,
            form: spec.form,
            corrector: spec.corrector,
            elements: spec.elements,
            relativity: spec.relativity,
            j2: spec.j2,
            j4: spec.j4,
            radius: spec.radius,
            k2: spec.k2,
            lag: spec.lag,
            spin: spec.spin,
            max_error: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(planets: &[&str]) -> Overrides {
        Overrides {
            planet: planets.iter().map(|p| p.parse().unwrap()).collect(),
            ..Overrides::default()
        }
    }

    #[test]
    fn presets_are_systems_of_which_numbers_can_be_set() {
        for (name, count, period) in [
            ("solar-system", 8, 87.97),
            ("giants", 4, 4332.6),
            ("trappist-1", 7, 1.510_82),
            ("kepler-36", 2, 13.8399),
        ] {
            let overrides = Overrides {
                preset: Some(name.parse().unwrap()),
                set: vec!["e2=0:0.1:8".parse().unwrap()],
                ..Overrides::default()
            };
            let valid = overrides.validated().unwrap();
            let spec = valid.specification();
            assert_eq!(spec.planets.len(), count);
            assert_eq!(spec.planets[1].0[2], Number::Axis([0.0, 0.1], 8));
            let plan = valid.plan();
            let (a, mass) = (plan.element(0, 1, 0), plan.star(0) + plan.element(0, 0, 0));
            let days = 365.256_898 * (a.powi(3) / mass).sqrt();
            assert!((days / period - 1.0).abs() < 1e-4, "{name}: {days}");
        }
    }

    #[test]
    fn a_specification_gives_itself() {
        let cases = [
            given(&["a=1"]),
            Overrides {
                stop: vec!["r>20".parse().unwrap(), "megno>10".parse().unwrap()],
                step: Some("0.8".parse().unwrap()),
                ..given(&["m=1mjup,a=5.2", "a=7:10:8,e=0:0.5:4"])
            },
            given(&["a=1,e=thermal(0,0.5),M=uniform(0,6)"]),
            Overrides {
                form: Some(Form::Dkd),
                relativity: Some(Relativity::Potential),
                j2: Some(2e-7),
                j4: Some(-1e-9),
                radius: Some("1 rsun".parse().unwrap()),
                ..given(&["a=1"])
            },
            Overrides {
                integrator: Some(Integrator::Adaptive),
                tolerance: Some(1e-10),
                relativity: Some(Relativity::Full),
                radius: Some("1 rsun".parse().unwrap()),
                k2: Some(0.03),
                lag: Some(0.1),
                spin: Some(-25.0),
                ..given(&[
                    "m=1mjup,a=0.05,tau_a=1e6,tau_e=1e4,k2=0.5,lag=100,radius=1rjup",
                    "a=1,beta=0.3",
                ])
            },
            Overrides {
                integrator: Some(Integrator::Hybrid),
                relativity: Some(Relativity::Potential),
                ..given(&["a=1", "a=1.1"])
            },
            Overrides {
                observable: Some(Observable::EMax),
                of: Some(1),
                ..given(&["a=1", "a=1.1"])
            },
            Overrides {
                observable: Some(Observable::Libration),
                angle: Some("2*lambda2-lambda1-pomega1".parse().unwrap()),
                ..given(&["a=1", "a=1.6"])
            },
            Overrides {
                corrector: Some(11),
                elements: Some(Elements::Heliocentric),
                set: vec!["P2=2:3:8".parse().unwrap(), "f1=1".parse().unwrap()],
                stop: ["e-max>0.5", "closest<0.001", "hill<1"]
                    .map(|stop| stop.parse().unwrap())
                    .to_vec(),
                ..given(&["m=1e-5,a=1", "a=1.6"])
            },
        ];
        for overrides in cases {
            let spec = overrides.validated().unwrap().specification().clone();
            let all = Overrides::of(&spec);
            assert_eq!(all.validated().unwrap().specification(), &spec);
            let text = toml::to_string(&all).unwrap();
            assert_eq!(toml::from_str::<Overrides>(&text).unwrap(), all);
        }
    }

    #[test]
    fn what_is_not_allowed_is_refused_by_name() {
        let with = |change: fn(&mut Overrides)| {
            let mut overrides = given(&["a=1", "a=2"]);
            change(&mut overrides);
            overrides
        };
        for (overrides, said) in [
            (given(&[]), "--planet 0 times: must be given 1 to 15 times"),
            (given(&["a=1"; 16]), "--planet 16 times"),
            (given(&["a=1,m=-1"]), "planet 1: the mass must be"),
            (
                given(&["a=1,e=1"]),
                "planet 1: e must be from 0 to 0.999999",
            ),
            (given(&["a=0"]), "planet 1: a must be from"),
            (given(&["a=2", "a=1:3:8"]), "from the inside out"),
            (
                given(&["a=1:2:8,e=0:0.1:8,M=0:6:8"]),
                "--planet a1, e1, M1: at most two",
            ),
            (
                with(|o| o.star = Some(Number::Fixed(0.0))),
                "--star 0: the mass",
            ),
            (
                with(|o| o.years = Some(-1.0)),
                "--years -1: must be above 0",
            ),
            (
                with(|o| o.years = Some(1e-3)),
                "--step 0.05P: must make 1 to 4e9 steps",
            ),
            (
                with(|o| o.years = Some(1e11)),
                "--step 0.05P: must make 1 to 4e9 steps",
            ),
            (with(|o| o.n = Some(0)), "--n 0: must be from 1"),
            (
                with(|o| o.set = vec!["a3=1".parse().unwrap()]),
                "--set a3=1: the numbers are star, m1 to m2, a1 to a2",
            ),
            (
                with(|o| o.set = vec!["a1=3".parse().unwrap()]),
                "from the inside out",
            ),
            (
                with(|o| o.relativity = Some(Relativity::Full)),
                "--relativity full: depends on velocities",
            ),
            (
                with(|o| {
                    o.relativity = Some(Relativity::Full);
                    o.integrator = Some(Integrator::Hybrid);
                }),
                "--relativity full: depends on velocities",
            ),
            (
                with(|o| o.tolerance = Some(1e-9)),
                "--tolerance 0.000000001: is used with --integrator",
            ),
            (
                with(|o| {
                    o.integrator = Some(Integrator::Adaptive);
                    o.tolerance = Some(1.0);
                }),
                "--tolerance 1: must be from 1e-15",
            ),
            (
                with(|o| {
                    o.integrator = Some(Integrator::Adaptive);
                    o.form = Some(Form::Dkd);
                }),
                "--form dkd: is a form of steps of --integrator wisdom-holman",
            ),
            (
                with(|o| o.k2 = Some(0.1)),
                "--k2 0.1: depends on velocities",
            ),
            (
                with(|o| {
                    o.integrator = Some(Integrator::Adaptive);
                    o.k2 = Some(0.1);
                }),
                "--k2 0.1: needs --radius",
            ),
            (
                with(|o| {
                    o.integrator = Some(Integrator::Adaptive);
                    o.lag = Some(0.1);
                }),
                "--lag 0.1: is used with --k2 only",
            ),
            (
                given(&["a=1,beta=0.1"]),
                "planet 1: beta depends on velocities",
            ),
            (
                Overrides {
                    integrator: Some(Integrator::Adaptive),
                    ..given(&["a=1", "a=2,k2=0.1"])
                },
                "planet 2: a tide needs k2 and radius",
            ),
            (
                Overrides {
                    integrator: Some(Integrator::Adaptive),
                    ..given(&["a=1,k2=0.1,radius=1e-4"])
                },
                "planet 1: a tide needs a mass",
            ),
            (
                with(|o| o.of = Some(1)),
                "--of 1: is used with --observable a-range, e-max, inc-max, frequency-drift",
            ),
            (
                with(|o| (o.of, o.observable) = (Some(3), Some(Observable::EMax))),
                "--of 3: must be a planet from 1 to 2",
            ),
            (
                with(|o| o.observable = Some(Observable::Libration)),
                "--observable libration: needs --angle",
            ),
            (
                with(|o| o.angle = Some("pomega2-pomega1".parse().unwrap())),
                "--angle pomega2-pomega1: is used with --observable libration",
            ),
            (
                with(|o| {
                    o.observable = Some(Observable::Libration);
                    o.angle = Some("pomega3-pomega1".parse().unwrap());
                }),
                "--angle pomega3-pomega1: must be of planets from 1 to 2",
            ),
            (
                Overrides {
                    observable: Some(Observable::Closest),
                    ..given(&["a=1"])
                },
                "--observable closest: needs two planets",
            ),
            (
                with(|o| o.corrector = Some(4)),
                "--corrector 4: must be 3, 5, 7, 11 or 17",
            ),
            (
                with(|o| (o.corrector, o.integrator) = (Some(3), Some(Integrator::Hybrid))),
                "--corrector 3: corrects steps of --integrator wisdom-holman",
            ),
            (
                with(|o| o.stop = vec!["hill<1".parse().unwrap()]),
                "--stop hill<1: is never true: no planet has a mass",
            ),
            (
                with(|o| o.stop = vec!["libration>1".parse().unwrap()]),
                "--observable libration: needs --angle",
            ),
            (
                with(|o| {
                    o.observable = Some(Observable::ARange);
                    o.stop = vec!["e-max>0.9".parse().unwrap()];
                }),
                "--stop e-max>0.9: one thing is observed on the way, which is that of --observable a-range",
            ),
            (
                with(|o| o.stop = ["fli>9", "amd>0.1"].map(|s| s.parse().unwrap()).to_vec()),
                "--stop amd>0.1: one thing is observed on the way, which is that of --stop by fli",
            ),
            (
                given(&["a=2", "P=1"]),
                "a of planet 2 is 1 in system 0, and that of planet 1 2",
            ),
            (given(&["x=1,vy=10"]), "planet 1: the orbit must be bound"),
            (
                with(|o| {
                    o.observable = Some(Observable::FrequencyDrift);
                    o.planet[0] = "a=1,inc=180deg".parse().unwrap();
                }),
                "inc of exactly 180 degrees has no longitudes",
            ),
            (with(|o| o.j2 = Some(0.1)), "--j2 0.1: needs --radius"),
            (with(|o| o.j4 = Some(0.1)), "--j4 0.1: needs --radius"),
            (
                with(|o| o.j2 = Some(f64::NAN)),
                "--j2 NaN: must be from -1 to 1",
            ),
            (
                with(|o| o.radius = Some(Number::Fixed(0.1))),
                "--radius 0.1: is used with --j2",
            ),
            (
                with(|o| {
                    o.radius = Some(Number::Axis([0.1, 0.2], 4));
                    o.j2 = Some(0.1);
                }),
                "--radius 0.1:0.2:4: must be one number",
            ),
        ] {
            let error = overrides.validated().unwrap_err().to_string();
            assert!(error.contains(said), "{error} / {said}");
        }
        let too_much: Result<Stop, _> = "inc-max>190deg".parse();
        assert!(too_much.unwrap_err().contains("must be up to 3.14"));
        for text in [
            "r<20",
            "hill>1",
            "megno>-1",
            "q>1",
            "r",
            "r>x",
            "closest>1",
            "e-max<1",
            "energy-error>1",
            "r>1:2:3",
        ] {
            assert!(
                text.parse::<Stop>().unwrap_err().contains("r>DISTANCE"),
                "{text}"
            );
        }
        for text in ["0", "-1", "P", "x", "1Q"] {
            assert!(
                text.parse::<Step>().unwrap_err().contains("0.05P"),
                "{text}"
            );
        }
    }
}
