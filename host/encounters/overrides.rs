//! The values that a user gives, under the names of the command line, and the specification that they make.

use super::parameter::AT_REST;
use super::spec::{MAX_RUNS, wrong};
use super::{Jump, Order, Precision, Setup, Specification, Validated};
use trisolar_bodies::Points;
use trisolar_run::max_error;
use trisolar_spec::{
    Choice, OneOrTwo, Parameter, Parameters as _, SpecError, each_once, one_or_more,
    optional_whole, parameters, read,
};

parameters! {
    /// Values of a [`Specification`], all of them optional: the options of `trisolar encounters` and the keywords of Python.
    pub struct Overrides {
        "Start" {
            /// Start of the three bodies: binary-single, free-fall (three bodies at rest, the first two at x = -0.5 and 0.5) or burrau
            /// (Burrau 1913)
            setup: Option<Setup> = "NAME" => read::parsed, default "binary-single";
            /// Number of runs, 1 to 4294967296, such as 1e6
            #[serde(deserialize_with = "optional_whole")]
            n: Option<u64> = "N" => |text| read::whole(text, 1..=MAX_RUNS), default "10000; burrau: 1",
                where { conflicts: &["map"] };
            /// Seed of all random numbers
            #[serde(deserialize_with = "optional_whole")]
            seed: Option<u64> = "SEED" => |text| read::whole(text, 0..=u64::MAX), default "1";
            /// Masses of bodies 1, 2 (the binary) and 3
            masses: Option<[f64; 3]> = "M1,M2,M3" => read::triple, default "15,17.5,12.5; free-fall: 1,1,1";
            /// Semi-major axis of the binary
            a: Option<f64> = "LENGTH" => read::number, unit "length", default "5";
            /// Eccentricity of the binary, 0 to 0.999999
            e: Option<f64> = "E" => read::number, default "0";
            /// Angle between the binary's angular momentum and the direction in which the single body comes in, 0 to 180 degrees
            inclination: Option<f64> = "DEGREES" => read::number, default "uniform; in a map 90";
            /// Longitude of the binary's ascending node, from the y axis
            node: Option<f64> = "DEGREES" => read::number, unit "degrees", default "0";
            /// Argument of the binary's pericentre, from the ascending node
            argument: Option<f64> = "DEGREES" => read::number, unit "degrees", default "0";
            /// Mean anomaly of the binary
            phase: Option<f64> = "DEGREES" => read::number, unit "degrees", default "uniform; in a map 0";
            /// Distance of the single body from the binary's centre of mass, on the x axis
            distance: Option<f64> = "LENGTH" => read::number, unit "length", default "100";
            /// Velocity of the single body at infinity; 0 is a parabola
            v_inf: Option<f64> = "SPEED" => read::number, unit "length / time", default "none: it is at rest at its distance";
            /// Impact parameter of the single body
            impact: Option<f64> = "LENGTH" => read::number, unit "length", default "0";
            /// free-fall: x of body 3
            x: Option<f64> = "LENGTH" => read::number, unit "length",
                default "drawn in the region of Agekyan & Anosova (1967); in a map 0.2";
            /// free-fall: y of body 3
            y: Option<f64> = "LENGTH" => read::number, unit "length",
                default "drawn in the region of Agekyan & Anosova (1967); in a map 0.5";
            /// Draw a parameter (mass1, mass2, mass3, a, e, inclination, node, argument, phase, distance, v-inf, impact; x, y): uniform,
            /// isotropic (inclination), thermal (e), disc (impact: uniform in its square) or region (x and y), with :LOW:HIGH where it
            /// has no range of its own, such as inclination=isotropic or impact=disc:0:20; can be repeated
            #[serde(deserialize_with = "one_or_more")]
            draw: Vec<String> = "NAME=LAW,..." => read::parsed, where { separator: Some(',') };
            /// Compute a map over two parameters (columns, then rows) or one, with a range where they have none of their own, such as
            /// phase,inclination or a=1:10,e=0:0.9. Nothing else is drawn unless --draw says so
            #[serde(deserialize_with = "one_or_more")]
            map: Vec<String> = "X[=LOW:HIGH],Y[=LOW:HIGH]" => read::parsed, where { separator: Some(',') };
            /// Pixels of the map: W or WxH
            size: Option<OneOrTwo<u64>> = "W[xH]" => read::size, default "300", where { requires: Some("map") };
        }
        "Integration" {
            /// Arithmetic of the steps: f64 (the same bits on every machine), or fast (the GPU's approximate reciprocals, refined to 12
            /// digits; 1.2 times as fast on an H200; the bits depend on the device, and on a CPU they are those of f64)
            precision: Option<Precision> = "NAME" => read::parsed, default "f64";
            /// Order of the integrator: 2, 6 or 8
            order: Option<Order> = "P" => read::parsed, default "6";
            /// Steps in a period of a circular binary of the lightest two bodies (more than that for heavier pairs, and for bodies that
            /// are much lighter than the others), 10 to 1e6
            steps_per_period: Option<f64> = "N" => read::number, default "1000, 50, 35 at order 2, 6, 8";
            /// Jump over excursions of the third body where what is left out of its tide is below this, 1e-12 to 1e-4; or off
            jump: Option<Jump> = "TOLERANCE" => read::parsed, default "1e-6, beyond 31.6 semi-major axes";
        }
        "Ends" {
            /// Distance at which an unbound body has escaped, 5 to 1e6
            escape_radius: Option<f64> = "RATIO" => read::number, unit "semi-major axes of the binary", default "20";
            /// Radii of bodies 1, 2, 3, which collide when they touch
            radii: Option<[f64; 3]> = "R1,R2,R3" => read::triple, unit "length", default "0,0,0";
            /// End runs that are still open at this time
            max_time: Option<f64> = "TIME" => read::number, default "none";
            /// End runs that are still open after so many steps, 1 to 4e9
            #[serde(deserialize_with = "optional_whole")]
            max_steps: Option<u64> = "N" => |text| read::whole(text, 1..=4_000_000_000), default "4000000";
        }
        "Accuracy" {
            /// Fail (exit code 1), after writing all files, if any run failed or has a relative energy error above X; without
            /// --max-error, failed runs and errors above 1e-6 are warnings
            max_error: Option<f64> = "X" => read::number;
        }
    }
}

/// The parameter of a setup with this name.
fn parameter(setup: Setup, name: &str) -> Result<&'static Parameter, String> {
    if let Some((_, parameter)) = setup.parameter(name) {
        return Ok(parameter);
    }
    let names: Vec<&str> = setup.parameters().iter().map(|p| p.name).collect();
    Err(match &names[..] {
        [] => format!("the setup {setup} has no parameters"),
        names => {
            let names = names.join(", ");
            format!("the setup {setup} has no {name}; its parameters are {names}")
        }
    })
}

impl Overrides {
    /// The field of a parameter with an option of its own, which has the parameter's name.
    fn own(&mut self, name: &str) -> Option<&mut Option<f64>> {
        let field = self.field_mut(&name.replace('-', "_"))?;
        field.as_any().downcast_mut()
    }

    /// The fixed parameters: their names, the options that fix them, and the values.
    fn fixed(&self) -> Vec<(&'static str, &'static str, f64)> {
        let masses = ["mass1", "mass2", "mass3"].into_iter();
        let masses = masses.zip(self.masses.into_iter().flatten());
        let masses = masses.map(|(name, value)| (name, "masses", value));
        let mut overrides = self.clone();
        let names = Setup::NAMED.into_iter().flat_map(Setup::parameters);
        let own = names.filter_map(|p| Some((p.name, p.name, (*overrides.own(p.name)?)?)));
        masses.chain(own).collect()
    }

    /// The validated specification, whose runs start from `points` if there are any.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validated(&self, points: Option<&Points>) -> Result<Validated, SpecError> {
        if let Some(most) = self.max_error {
            max_error(most).map_err(|allowed| wrong("max-error", most, allowed))?;
        }
        let spec = self.specification(points.is_some())?;
        match points {
            None => spec.validate(),
            Some(points) => spec.validate_points(points),
        }
    }

    fn specification(&self, points: bool) -> Result<Specification, SpecError> {
        if points {
            self.check_points()?;
        }
        let usual = if points {
            Setup::Points
        } else {
            Setup::BinarySingle
        };
        let setup = self.setup.unwrap_or(usual);
        let mut spec = Specification {
            setup,
            ..Specification::default()
        };
        let drawn = std::mem::take(&mut spec.parameters);
        let find = |name: &str| parameter(setup, name);
        let mut choices = Vec::new();
        for (name, option, value) in self.fixed() {
            let parameter = find(name).map_err(|allowed| wrong(option, value, allowed))?;
            if !parameter.allows(value) {
                return Err(wrong(option, value, parameter.allowed_in_words()));
            }
            choices.push((parameter, Choice::Fixed(value)));
        }
        for given in &self.draw {
            let choice = Choice::parse_draw(given, find);
            choices.push(choice.map_err(|allowed| wrong("draw", given, allowed))?);
        }
        let axes = Choice::parse_axes(&self.map, find);
        choices.extend(axes.map_err(|(given, allowed)| wrong("map", given, allowed))?);
        each_once(&choices, &[("draw", &self.draw), ("map", &self.map)])?;
        let choices = choices.into_iter();
        spec.parameters = choices.map(|(p, choice)| (p.name, choice)).collect();
        if self.map.is_empty() {
            if let Some(size) = &self.size {
                let [w, h] = pixels(size);
                return Err(wrong("size", format!("{w}x{h}"), "needs --map"));
            }
            let free = |name: &str| !spec.parameters.contains_key(name);
            let usual: Vec<(&'static str, Choice)> = match setup {
                Setup::BinarySingle => drawn.into_iter().collect(),
                Setup::FreeFall if free("x") && free("y") => {
                    vec![("x", Choice::Region), ("y", Choice::Region)]
                }
                _ => Vec::new(),
            };
            for (name, choice) in usual {
                spec.parameters.entry(name).or_insert(choice);
            }
        } else {
            if let Some(n) = self.n {
                let allowed =
                    "cannot be used with --map, whose --size determines the number of runs";
                return Err(wrong("n", n, allowed));
            }
            let [w, h] = self.size.as_ref().map_or([300, 300], pixels);
            let size = if self.map.len() == 1 { [w, 1] } else { [w, h] };
            let most = |n: &u64| (1..=MAX_RUNS).contains(n);
            spec.n = size[0].checked_mul(size[1]).filter(most).ok_or_else(|| {
                let allowed = "must be from 1 to 4294967296 (2^32) pixels";
                wrong("size", format!("{}x{}", size[0], size[1]), allowed)
            })?;
            spec.size = Some(size);
        }
        match (self.n, setup) {
            (Some(n), _) => spec.n = n,
            (None, Setup::Burrau) => spec.n = 1,
            _ => {}
        }
        spec.seed = self.seed.unwrap_or(spec.seed);
        spec.precision = self.precision.unwrap_or(spec.precision);
        spec.order = self.order.unwrap_or(spec.order);
        spec.steps_per_period = (self.steps_per_period).unwrap_or(spec.order.steps_per_period());
        spec.jump = self.jump.unwrap_or(spec.jump);
        spec.escape_radius = self.escape_radius.unwrap_or(spec.escape_radius);
        spec.radii = self.radii.unwrap_or(spec.radii);
        spec.limits.max_time = self.max_time;
        if let Some(steps) = self.max_steps {
            spec.limits.max_steps = u32::try_from(steps)
                .map_err(|_| wrong("max-steps", steps, super::spec::STEPS_ALLOWED))?;
        }
        Ok(spec)
    }

    /// Checks that no value is given together with points that replace it.
    fn check_points(&self) -> Result<(), SpecError> {
        let others = [
            ("setup", self.setup.map(|s| s.to_string())),
            ("n", self.n.map(|n| n.to_string())),
            ("seed", self.seed.map(|n| n.to_string())),
            ("draw", self.draw.first().cloned()),
            ("map", self.map.first().cloned()),
            ("size", self.size.as_ref().map(|s| pixels(s)[0].to_string())),
        ];
        for (option, given) in others {
            if let Some(given) = given {
                return Err(wrong(option, given, "cannot be used with --points"));
            }
        }
        Ok(())
    }

    /// Every value of a specification, without its points.
    pub fn of(spec: &Specification) -> Self {
        let mut overrides = Self {
            seed: Some(spec.seed),
            size: spec.size.map(OneOrTwo::Two),
            n: spec.size.is_none().then_some(spec.n),
            setup: Some(spec.setup),
            precision: Some(spec.precision),
            order: Some(spec.order),
            steps_per_period: Some(spec.steps_per_period),
            jump: Some(spec.jump),
            escape_radius: Some(spec.escape_radius),
            radii: Some(spec.radii),
            max_time: spec.limits.max_time,
            max_steps: Some(spec.limits.max_steps.into()),
            ..Self::default()
        };
        if spec.setup == Setup::Points {
            (overrides.setup, overrides.n, overrides.seed) = (None, None, None);
        }
        let mut rows = None;
        for parameter in spec.setup.parameters() {
            let (name, choice) = (parameter.name, spec.choice(parameter));
            let [low, high] = choice.range();
            let ranged = |law: &str| format!("{name}={law}:{low}:{high}");
            match choice {
                Choice::Fixed(x) if x == AT_REST => {}
                // One option sets all three masses.
                Choice::Fixed(x) => {
                    if let Some(field) = overrides.own(name) {
                        *field = Some(x);
                    }
                }
                Choice::Region => overrides.draw.push(format!("{name}=region")),
                Choice::Uniform(_) => overrides.draw.push(ranged("uniform")),
                Choice::Isotropic(_) => overrides.draw.push(ranged("isotropic")),
                Choice::Square(_) if name == "e" => overrides.draw.push(ranged("thermal")),
                Choice::Square(_) => overrides.draw.push(ranged("disc")),
                Choice::Columns(_) => overrides.map.push(format!("{name}={low}:{high}")),
                Choice::Rows(_) => rows = Some(format!("{name}={low}:{high}")),
            }
        }
        overrides.map.extend(rows);
        let masses = ["mass1", "mass2", "mass3"].map(|name| spec.setup.parameter(name));
        if let [Some((_, a)), Some((_, b)), Some((_, c))] = masses {
            let masses = [a, b, c].map(|p| spec.choice(p));
            if masses.iter().all(|choice| !choice.varies()) {
                overrides.masses = Some(masses.map(|choice| choice.range()[0]));
            }
        }
        overrides
    }
}

fn pixels(size: &OneOrTwo<u64>) -> [u64; 2] {
    match *size {
        OneOrTwo::One(w) => [w, w],
        OneOrTwo::Two(size) => size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_gives_itself() {
        let texts = |list: &[&str]| list.iter().map(|t| (*t).to_owned()).collect();
        let cases = [
            Overrides::default(),
            Overrides {
                draw: texts(&[
                    "inclination=isotropic",
                    "e=thermal:0:0.9",
                    "impact=disc:0:20",
                ]),
                v_inf: Some(0.5),
                masses: Some([1.0, 2.0, 3.0]),
                jump: Some(Jump::Off),
                n: Some(17),
                ..Overrides::default()
            },
            Overrides {
                setup: Some(Setup::FreeFall),
                max_time: Some(3.5),
                ..Overrides::default()
            },
            Overrides {
                map: texts(&["e=0:0.5", "a=1:10"]),
                size: Some(OneOrTwo::One(5)),
                order: Some(Order::Eight),
                ..Overrides::default()
            },
            Overrides {
                setup: Some(Setup::Burrau),
                ..Overrides::default()
            },
        ];
        for overrides in cases {
            let spec = overrides
                .validated(None)
                .expect("valid")
                .specification()
                .clone();
            let all = Overrides::of(&spec);
            let again = all.validated(None).expect("valid").specification().clone();
            assert_eq!(again, spec, "{all:?}");
            let json = serde_json::to_string(&all).expect("plain data");
            let read: Overrides = serde_json::from_str(&json).expect("its own text");
            assert_eq!(read, all);
            let text = toml::to_string(&all).expect("plain data");
            assert_eq!(
                toml::from_str::<Overrides>(&text).expect("its own text"),
                all
            );
        }
    }

    #[test]
    fn parameters_of_starts_have_the_units_of_their_options() {
        let mut options = 0;
        for parameter in Setup::NAMED.into_iter().flat_map(Setup::parameters) {
            let name = parameter.name.replace('-', "_");
            let option = Overrides::DECLARATIONS.iter().find(|d| d.name == name);
            if let Some(option) = option.filter(|option| !option.unit.is_empty()) {
                assert_eq!(option.unit, parameter.unit, "{name}");
                options += 1;
            }
        }
        assert!(options >= 9, "{options}");
    }

    #[test]
    fn numbers_may_be_written_as_floats_and_lists_as_text() {
        let overrides: Overrides =
            serde_json::from_str(r#"{"n": 1e6, "draw": "e=thermal, phase=uniform"}"#)
                .expect("fine");
        assert_eq!(overrides.n, Some(1_000_000));
        assert_eq!(overrides.draw, ["e=thermal", "phase=uniform"]);
        for wrong in [
            r#"{"n": 1.5}"#,
            r#"{"n": -1}"#,
            r#"{"order": 3}"#,
            r#"{"jump": "on"}"#,
        ] {
            serde_json::from_str::<Overrides>(wrong).expect_err(wrong);
        }
    }
}
