//! What a user gives, under the names of the command line, and the specification that it makes.

use serde::{Deserialize, Deserializer, Serialize};

use super::parameter::{AT_REST, range};
use super::spec::wrong;
use super::{Choice, Jump, Order, Parameter, Setup, Specification, Validated};
use trisolar_bodies::Points;
use trisolar_run::max_error;
use trisolar_spec::{OneOrTwo, SpecError};

/// Values of a [`Specification`], all of them optional: the options of `trisolar encounters` and the keywords of Python.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Given {
    /// What three bodies start as \[binary-single; points, if there are any\].
    pub setup: Option<Setup>,
    /// Number of runs \[10000; burrau: 1\].
    #[serde(deserialize_with = "whole")]
    pub n: Option<u64>,
    /// Seed of all draws \[1\].
    #[serde(deserialize_with = "whole")]
    pub seed: Option<u64>,
    /// Masses of bodies 1, 2 and 3.
    pub masses: Option<[f64; 3]>,
    /// Semi-major axis of the binary (length).
    pub a: Option<f64>,
    /// Eccentricity of the binary.
    pub e: Option<f64>,
    /// Inclination of the binary (degrees).
    pub inclination: Option<f64>,
    /// Longitude of the binary's ascending node (degrees).
    pub node: Option<f64>,
    /// Argument of the binary's pericentre (degrees).
    pub argument: Option<f64>,
    /// Mean anomaly of the binary (degrees).
    pub phase: Option<f64>,
    /// Distance of the single body (length).
    pub distance: Option<f64>,
    /// Velocity of the single body at infinity (length / time) \[at rest at its distance\].
    pub v_inf: Option<f64>,
    /// Impact parameter of the single body (length).
    pub impact: Option<f64>,
    /// Free fall: x of body 3 (length).
    pub x: Option<f64>,
    /// Free fall: y of body 3 (length).
    pub y: Option<f64>,
    /// Parameters that are drawn: `NAME=LAW` or `NAME=LAW:LOW:HIGH`.
    #[serde(deserialize_with = "one_or_more")]
    pub draw: Vec<String>,
    /// Parameters that are axes of a map, columns first: `NAME` or `NAME=LOW:HIGH`.
    #[serde(deserialize_with = "one_or_more")]
    pub map: Vec<String>,
    /// Pixels of the map: its width, or width and height \[300\].
    pub size: Option<OneOrTwo<u64>>,
    /// Order of the integrator \[6\].
    pub order: Option<Order>,
    /// Steps in a period of the tightest circular binary that the energy allows.
    pub steps_per_period: Option<f64>,
    /// Tolerance of jumps, or off \[1e-6\].
    pub jump: Option<Jump>,
    /// Where an unbound body has escaped (semi-major axes of the binary) \[20\].
    pub escape_radius: Option<f64>,
    /// Radii of bodies 1, 2 and 3 (length) \[0, 0, 0\].
    pub radii: Option<[f64; 3]>,
    /// When runs end that are still open (time) \[never\].
    pub max_time: Option<f64>,
    /// Steps after which runs end that are still open \[4000000\].
    #[serde(deserialize_with = "whole")]
    pub max_steps: Option<u64>,
    /// Relative energy error of a run above which the computation is a failure \[none\].
    pub max_error: Option<f64>,
}

/// The whole number that a float is, such as 1e6.
pub fn whole_number(x: f64) -> Option<u64> {
    // Beyond 2^53 not every whole number can be written as a float.
    (x.fract() == 0.0 && (0.0..9e15).contains(&x)).then_some(x as u64)
}

/// A whole number, which may be written as a float.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be a whole number of at least 0")]
    enum Number {
        Whole(u64),
        Real(f64),
    }
    match Option::<Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Number::Whole(n)) => Ok(Some(n)),
        Some(Number::Real(x)) => match whole_number(x) {
            Some(n) => Ok(Some(n)),
            None => Err(serde::de::Error::custom(format!(
                "{x} must be a whole number of at least 0"
            ))),
        },
    }
}

/// A text, or several; a comma separates them, too.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "must be a string or a sequence of strings")]
    enum Texts {
        One(String),
        More(Vec<String>),
    }
    let texts = match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::More(texts) => texts,
    };
    let parts = texts.iter().flat_map(|text| text.split(','));
    Ok(parts.map(|part| part.trim().to_owned()).collect())
}

/// The parameter of a setup that an option names.
fn parameter(
    setup: Setup,
    name: &str,
    option: &'static str,
    given: &str,
) -> Result<&'static Parameter, SpecError> {
    if let Some((_, parameter)) = setup.parameter(name) {
        return Ok(parameter);
    }
    let names: Vec<&str> = setup.parameters().iter().map(|p| p.name).collect();
    let reason = match &names[..] {
        [] => format!("the setup {setup} has no parameters"),
        names => {
            let names = names.join(", ");
            format!("the setup {setup} has no {name}; its parameters are {names}")
        }
    };
    Err(wrong(option, given, reason))
}

/// The choices that were made so far.
struct Choices<'a> {
    specification: &'a mut Specification,
}

impl Choices<'_> {
    fn put(
        &mut self,
        parameter: &Parameter,
        choice: Choice,
        option: &'static str,
        given: &str,
    ) -> Result<(), SpecError> {
        let name = parameter.name;
        match self.specification.parameters.insert(name, choice) {
            None => Ok(()),
            Some(_) => {
                let reason = format!("{name} is given twice: fixed, drawn or an axis of the map");
                Err(wrong(option, given, reason))
            }
        }
    }
}

impl Given {
    /// Parameters with an option of their own, which has the parameter's name.
    fn own(&mut self) -> [(&'static str, &mut Option<f64>); 11] {
        [
            ("a", &mut self.a),
            ("e", &mut self.e),
            ("inclination", &mut self.inclination),
            ("node", &mut self.node),
            ("argument", &mut self.argument),
            ("phase", &mut self.phase),
            ("distance", &mut self.distance),
            ("v-inf", &mut self.v_inf),
            ("impact", &mut self.impact),
            ("x", &mut self.x),
            ("y", &mut self.y),
        ]
    }

    /// Parameters that are fixed: their names, the options that fix them and the values.
    fn fixed(&self) -> Vec<(&'static str, &'static str, f64)> {
        let masses = ["mass1", "mass2", "mass3"].into_iter();
        let masses = masses.zip(self.masses.into_iter().flatten());
        let masses = masses.map(|(name, value)| (name, "masses", value));
        let mut given = self.clone();
        let own = given.own().map(|(name, value)| (name, *value));
        let own = own
            .into_iter()
            .filter_map(|(name, value)| Some((name, name, value?)));
        masses.chain(own).collect()
    }

    /// As TOML, of which a configuration file is made.
    ///
    /// # Errors
    /// A number that TOML has not: a seed of 2^63 and more.
    pub fn to_toml(&self) -> Result<String, String> {
        let values = toml::to_string(self).map_err(|e| e.to_string())?;
        Ok(format!(
            "# Trisolar encounters: trisolar encounters --config THIS_FILE\n{values}"
        ))
    }

    /// Whether the option of this name is given.
    pub fn has(&self, option: &str) -> bool {
        let values = serde_json::to_value(self).unwrap_or_default();
        match &values[option.replace('-', "_")] {
            serde_json::Value::Null => option == "points",
            serde_json::Value::Array(list) => !list.is_empty(),
            _ => true,
        }
    }

    /// Takes every value that is not given from `under`. Parameters are one value: choices of `under` for parameters that are given
    /// here in another way would be contradictions, so that its draws and axes count only where none are given here.
    #[must_use]
    pub fn over(self, under: Self) -> Self {
        let list = |own: Vec<String>, under: Vec<String>| if own.is_empty() { under } else { own };
        Self {
            setup: self.setup.or(under.setup),
            n: self.n.or(under.n),
            seed: self.seed.or(under.seed),
            masses: self.masses.or(under.masses),
            a: self.a.or(under.a),
            e: self.e.or(under.e),
            inclination: self.inclination.or(under.inclination),
            node: self.node.or(under.node),
            argument: self.argument.or(under.argument),
            phase: self.phase.or(under.phase),
            distance: self.distance.or(under.distance),
            v_inf: self.v_inf.or(under.v_inf),
            impact: self.impact.or(under.impact),
            x: self.x.or(under.x),
            y: self.y.or(under.y),
            draw: list(self.draw, under.draw),
            map: list(self.map, under.map),
            size: self.size.or(under.size),
            order: self.order.or(under.order),
            steps_per_period: self.steps_per_period.or(under.steps_per_period),
            jump: self.jump.or(under.jump),
            escape_radius: self.escape_radius.or(under.escape_radius),
            radii: self.radii.or(under.radii),
            max_time: self.max_time.or(under.max_time),
            max_steps: self.max_steps.or(under.max_steps),
            max_error: self.max_error.or(under.max_error),
        }
    }

    /// The specification, checked; of runs from `points`, if there are any.
    ///
    /// # Errors
    /// The first value that is not allowed, and what is.
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
        let mut choices = Choices {
            specification: &mut spec,
        };
        for (name, option, value) in self.fixed() {
            let given = value.to_string();
            let parameter = parameter(setup, name, option, &given)?;
            if !parameter.allows(value) {
                return Err(wrong(option, given, parameter.allowed_in_words()));
            }
            choices.put(parameter, Choice::Fixed(value), option, &given)?;
        }
        for given in &self.draw {
            let (name, law) = given.split_once('=').ok_or_else(|| {
                let allowed = "must be NAME=LAW, such as inclination=isotropic";
                wrong("draw", given, allowed)
            })?;
            let parameter = parameter(setup, name, "draw", given)?;
            let choice = Choice::parse_draw(law, parameter);
            let choice = choice.map_err(|allowed| wrong("draw", given, allowed))?;
            choices.put(parameter, choice, "draw", given)?;
        }
        if self.map.len() > 2 {
            let given = self.map.join(",");
            return Err(wrong("map", given, "must be one or two parameters"));
        }
        for (axis, given) in self.map.iter().enumerate() {
            let (name, words) = match given.split_once('=') {
                Some((name, words)) => (name, words.split(':').collect()),
                None => (given.as_str(), Vec::new()),
            };
            let parameter = parameter(setup, name, "map", given)?;
            let range = range(&words, parameter).map_err(|allowed| wrong("map", given, allowed))?;
            let choice = [Choice::Columns(range), Choice::Rows(range)][axis];
            choices.put(parameter, choice, "map", given)?;
        }
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
            let most = |n: &u64| (1..=super::spec::MOST_RUNS).contains(n);
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

    /// That nothing is given beside points which they stand in for.
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

    /// Every value of a specification; points are not among them.
    pub fn of(spec: &Specification) -> Self {
        let mut given = Self {
            seed: Some(spec.seed),
            size: spec.size.map(OneOrTwo::Two),
            n: spec.size.is_none().then_some(spec.n),
            setup: Some(spec.setup),
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
            (given.setup, given.n, given.seed) = (None, None, None);
        }
        let mut rows = None;
        for parameter in spec.setup.parameters() {
            let (name, choice) = (parameter.name, spec.choice(parameter));
            let [low, high] = choice.range();
            let ranged = |law: &str| format!("{name}={law}:{low}:{high}");
            match choice {
                Choice::Fixed(x) if x == AT_REST => {}
                // Masses have one option for all three.
                Choice::Fixed(x) => {
                    let field = given.own().into_iter().find(|(own, _)| *own == name);
                    if let Some((_, field)) = field {
                        *field = Some(x);
                    }
                }
                Choice::Region => given.draw.push(format!("{name}=region")),
                Choice::Uniform(_) => given.draw.push(ranged("uniform")),
                Choice::Isotropic(_) => given.draw.push(ranged("isotropic")),
                Choice::Square(_) if name == "e" => given.draw.push(ranged("thermal")),
                Choice::Square(_) => given.draw.push(ranged("disc")),
                Choice::Columns(_) => given.map.push(format!("{name}={low}:{high}")),
                Choice::Rows(_) => rows = Some(format!("{name}={low}:{high}")),
            }
        }
        given.map.extend(rows);
        let masses = ["mass1", "mass2", "mass3"].map(|name| spec.setup.parameter(name));
        if let [Some((_, a)), Some((_, b)), Some((_, c))] = masses {
            let masses = [a, b, c].map(|p| spec.choice(p));
            if masses.iter().all(|choice| !choice.varies()) {
                given.masses = Some(masses.map(|choice| choice.range()[0]));
            }
        }
        given
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
            Given::default(),
            Given {
                draw: texts(&[
                    "inclination=isotropic",
                    "e=thermal:0:0.9",
                    "impact=disc:0:20",
                ]),
                v_inf: Some(0.5),
                masses: Some([1.0, 2.0, 3.0]),
                jump: Some(Jump::Off),
                n: Some(17),
                ..Given::default()
            },
            Given {
                setup: Some(Setup::FreeFall),
                max_time: Some(3.5),
                ..Given::default()
            },
            Given {
                map: texts(&["e=0:0.5", "a=1:10"]),
                size: Some(OneOrTwo::One(5)),
                order: Some(Order::Eight),
                ..Given::default()
            },
            Given {
                setup: Some(Setup::Burrau),
                ..Given::default()
            },
        ];
        for given in cases {
            let spec = given
                .validated(None)
                .expect("valid")
                .specification()
                .clone();
            let all = Given::of(&spec);
            let again = all.validated(None).expect("valid").specification().clone();
            assert_eq!(again, spec, "{all:?}");
            let json = serde_json::to_string(&all).expect("plain data");
            let read: Given = serde_json::from_str(&json).expect("its own text");
            assert_eq!(read, all);
            let text = toml::to_string(&all).expect("plain data");
            assert_eq!(toml::from_str::<Given>(&text).expect("its own text"), all);
        }
    }

    #[test]
    fn numbers_may_be_written_as_floats_and_lists_as_text() {
        let given: Given =
            serde_json::from_str(r#"{"n": 1e6, "draw": "e=thermal, phase=uniform"}"#)
                .expect("fine");
        assert_eq!(given.n, Some(1_000_000));
        assert_eq!(given.draw, ["e=thermal", "phase=uniform"]);
        for wrong in [
            r#"{"n": 1.5}"#,
            r#"{"n": -1}"#,
            r#"{"order": 3}"#,
            r#"{"jump": "on"}"#,
        ] {
            serde_json::from_str::<Given>(wrong).expect_err(wrong);
        }
    }
}
