//! The specification of planetary systems, validated once.

use std::fmt;
use std::str::FromStr;

use kernels_gpu::encounters::Law;
use kernels_gpu::planets::physics::Body;
use kernels_gpu::planets::start::Limits;
use kernels_gpu::planets::{MAX_PLANETS, Observation, Physics, Plan};
use serde::{Deserialize, Serialize};

use super::number::{
    ELEMENTS, LIGHT2, Number, PROPERTIES, PlanetText, YEAR, as_text, named as number_named,
    unit_of_time,
};
use super::{Angle, Observable, corrector};
use trisolar_spec::SpecError;

/// The step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// In years.
    Years(f64),
    /// As a share of the shortest period of each system.
    Periods(f64),
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, periods) = match text.strip_suffix('P') {
            Some(number) => (number, true),
            None => (text.strip_suffix("yr").unwrap_or(text), false),
        };
        let x = number.trim().parse::<f64>().ok();
        let x = x.filter(|x| *x > 0.0 && x.is_finite());
        let allowed = "must be years above 0, or a share of the shortest period, such as 0.05P";
        let x = x.ok_or(allowed)?;
        Ok(if periods {
            Self::Periods(x)
        } else {
            Self::Years(x)
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Years(x) => write!(f, "{x}"),
            Self::Periods(x) => write!(f, "{x}P"),
        }
    }
}

impl Step {
    /// Its length in years or periods.
    pub fn length(self) -> f64 {
        match self {
            Self::Years(x) | Self::Periods(x) => x,
        }
    }

    /// Half of it.
    pub(super) fn half(self) -> Self {
        match self {
            Self::Years(x) => Self::Years(0.5 * x),
            Self::Periods(x) => Self::Periods(0.5 * x),
        }
    }
}

/// A condition that ends a system before its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// A planet is beyond this distance (au).
    Distance(f64),
    /// Two planets are within this number of Hill radii of either of them.
    Hill(f64),
    /// MEGNO is above this number.
    Megno(f64),
    /// Two planets are within this distance (au).
    Closest(f64),
    /// An observable is above this number.
    Observed(Observable, f64),
}

impl FromStr for Stop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = || {
            let names = Observable::names_of_stops();
            format!(
                "must be r>DISTANCE (au), hill<NUMBER (of Hill radii), closest<DISTANCE (au) or megno>NUMBER, each above 0 and up to 1e9, or a limit such as e-max>0.9 of {names}"
            )
        };
        let (name, then) = text.split_at(text.find(['<', '>']).ok_or_else(allowed)?);
        let (sign, x) = then.split_at(1);
        let Ok(Number::Fixed(x)) = x.parse() else {
            return Err(allowed());
        };
        if !(x > 0.0 && x <= 1e9) {
            return Err(allowed());
        }
        match (name.trim(), sign) {
            ("r", ">") => Ok(Self::Distance(x)),
            ("hill", "<") => Ok(Self::Hill(x)),
            ("closest", "<") => Ok(Self::Closest(x)),
            ("megno", ">") => Ok(Self::Megno(x)),
            (name, ">") => {
                let observable: Observable = name.parse().map_err(|_| allowed())?;
                match observable.stop() {
                    Some((_, most)) if x <= most => Ok(Self::Observed(observable, x)),
                    Some((_, most)) => Err(format!("the limit of {name} must be up to {most}")),
                    None => Err(allowed()),
                }
            }
            _ => Err(allowed()),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Distance(x) => write!(f, "r>{x}"),
            Self::Hill(x) => write!(f, "hill<{x}"),
            Self::Megno(x) => write!(f, "megno>{x}"),
            Self::Closest(x) => write!(f, "closest<{x}"),
            Self::Observed(observable, x) => write!(f, "{observable}>{x}"),
        }
    }
}

as_text!(Step, Stop, Form, Integrator, Relativity, Elements);

/// A type whose values have names.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// The names.
            pub fn names() -> Vec<String> {
                [$($text),+].map(str::to_owned).to_vec()
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text.trim() {
                    $($text => Ok(Self::$value),)+
                    _ => Err(format!("must be one of {}", Self::names().join(", "))),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$value => $text,)+
                })
            }
        }
    };
}

pub(super) use named;

named! {
    /// The order of the parts of a Wisdom-Holman step.
    Form {
        /// Half a kick, a drift and half a kick.
        Kdk = "kdk",
        /// Half a drift, a kick and half a drift.
        Dkd = "dkd",
    }
}

named! {
    /// About what orbits are given.
    Elements {
        /// About the centre of mass of the star and the planets further in.
        Jacobi = "jacobi",
        /// About the star alone.
        Heliocentric = "heliocentric",
    }
}

named! {
    /// How relativity acts.
    Relativity {
        /// By a potential of the star that has its precession to first order (Nobili & Roxburgh 1986).
        Potential = "potential",
        /// By the first post-Newtonian acceleration of the star in harmonic coordinates (Anderson et al. 1975).
        Full = "full",
    }
}

named! {
    /// How systems are integrated.
    Integrator {
        /// Fixed steps of Wisdom & Holman.
        WisdomHolman = "wisdom-holman",
        /// Steps of each system's own length by the scheme of Dormand & Prince of order 8.
        Adaptive = "adaptive",
        /// Steps of Wisdom & Holman, and adaptive ones where planets are within four Hill radii.
        Hybrid = "hybrid",
    }
}

/// Planetary systems to follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Specification {
    /// Mass of the star (solar masses).
    pub star: Number,
    /// The planets, from the inside out.
    pub planets: Vec<PlanetText>,
    /// Number of systems: the number of pixels of a map.
    pub n: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// The time for which systems are followed.
    pub years: f64,
    /// The step.
    pub step: Step,
    /// What ends systems sooner.
    pub stop: Vec<Stop>,
    /// What is observed.
    pub observable: Observable,
    /// The planet that is observed, counted from 1, if it is not the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The angle whose libration is observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub angle: Option<Angle>,
    /// How systems are integrated, if not by Wisdom & Holman's steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrator: Option<Integrator>,
    /// The largest relative error of an adaptive step, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// The order of the parts of a step, if it is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// The order of the symplectic corrector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrector: Option<u64>,
    /// About what orbits are given, if not about the star and the planets further in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<Elements>,
    /// How relativity acts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relativity: Option<Relativity>,
    /// J₂ of the star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub j2: Option<f64>,
    /// J₄ of the star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub j4: Option<f64>,
    /// The equatorial radius of the star (au).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<Number>,
    /// The Love number of the tides on the star.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub k2: Option<f64>,
    /// The time by which they lag (s).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<f64>,
    /// The period of the star's rotation (days).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin: Option<f64>,
}

/// The largest relative error of a step that is usually allowed.
const TOLERANCE: f64 = 1e-12;

/// An axis of a map: its name, such as a2, its range, and its number of values.
pub type MapAxis = (String, [f64; 2], u64);

impl Specification {
    /// All numbers with their names: that of the star, then those of planet 1, 2, and so on.
    fn numbers(&self) -> impl Iterator<Item = (String, &Number)> {
        let planets = self.planets.iter().enumerate().flat_map(|(i, planet)| {
            let named = planet.names().into_iter().zip(&planet.0);
            named.map(move |(name, number)| (format!("{name}{}", i + 1), number))
        });
        [("star".to_owned(), &self.star)].into_iter().chain(planets)
    }

    /// The number with this name, such as `a2`.
    ///
    /// # Errors
    /// The names that there are.
    pub fn number_mut(&mut self, name: &str) -> Result<&mut Number, String> {
        number_named(name, &mut self.star, &mut self.planets)
    }

    /// The axes of the map, in the order in which they are given.
    pub fn axes(&self) -> Vec<MapAxis> {
        let axis = |(name, number): (String, &Number)| match *number {
            Number::Axis(range, n) => Some((name, range, n)),
            _ => None,
        };
        self.numbers().filter_map(axis).collect()
    }

    /// Columns and rows of the map; a map of one axis has one row.
    pub fn size(&self) -> Option<[u64; 2]> {
        let axes = self.axes();
        let columns = axes.first()?.2;
        Some([columns, axes.get(1).map_or(1, |axis| axis.2)])
    }

    /// Whether any number is drawn.
    pub fn draws(&self) -> bool {
        self.numbers().any(|(_, number)| number.is_drawn())
    }

    /// Whether systems have a tangent vector.
    pub fn has_tangent(&self) -> bool {
        let stops = self.stop.iter().any(|stop| match stop {
            Stop::Megno(_) => true,
            Stop::Observed(observable, _) => observable.has_tangent(),
            _ => false,
        });
        stops || self.observable.has_tangent()
    }

    /// As JSON text.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("plain data")
    }

    /// The integrator.
    pub fn integrator(&self) -> Integrator {
        self.integrator.unwrap_or(Integrator::WisdomHolman)
    }

    /// The radius of the star, if there is one.
    fn radius(&self) -> f64 {
        match self.radius {
            Some(Number::Fixed(radius)) => radius,
            _ => 0.0,
        }
    }

    /// What systems have beside the gravity of points, and their integrator.
    fn physics(&self) -> Result<Physics, SpecError> {
        let refuse = |name: &'static str, value: &dyn fmt::Display, allowed: &str| {
            Err(SpecError::new(name, value, allowed))
        };
        let integrator = self.integrator();
        let mut physics = Physics {
            drift_first: u64::from(self.form == Some(Form::Dkd)),
            integrator: match integrator {
                Integrator::WisdomHolman => Physics::WISDOM_HOLMAN,
                Integrator::Adaptive => Physics::ADAPTIVE,
                Integrator::Hybrid => Physics::HYBRID,
            },
            tolerance: self.tolerance.unwrap_or(TOLERANCE),
            ..Physics::default()
        };
        if let Some(form) = self.form.filter(|_| integrator != Integrator::WisdomHolman) {
            let allowed = "is a form of steps of --integrator wisdom-holman only";
            return refuse("form", &form, allowed);
        }
        if let Some(order) = self.corrector {
            if !corrector::ORDERS.contains(&order) {
                return refuse("corrector", &order, "must be 3, 5, 7, 11 or 17");
            }
            if integrator != Integrator::WisdomHolman {
                let allowed = "corrects steps of --integrator wisdom-holman only";
                return refuse("corrector", &order, allowed);
            }
            (physics.corrector, physics.corrector_stages) =
                corrector::stages(order, physics.drift_first != 0);
        }
        if let Some(tolerance) = self.tolerance {
            if !(1e-15..=1e-3).contains(&tolerance) {
                return refuse("tolerance", &tolerance, "must be from 1e-15 to 1e-3");
            }
            if integrator == Integrator::WisdomHolman {
                let allowed = "is used with --integrator adaptive or hybrid";
                return refuse("tolerance", &tolerance, allowed);
            }
        }
        let only_adaptive = "depends on velocities, which a Wisdom-Holman step cannot follow; it needs --integrator adaptive";
        let is_adaptive = integrator == Integrator::Adaptive;
        match self.relativity {
            Some(Relativity::Potential) => physics.relativity = 6.0 / LIGHT2,
            Some(full) if !is_adaptive => return refuse("relativity", &full, only_adaptive),
            Some(Relativity::Full) => physics.post_newtonian = 1.0 / LIGHT2,
            None => {}
        }
        for (name, value, range) in [
            ("j2", self.j2, -1.0..=1.0),
            ("j4", self.j4, -1.0..=1.0),
            ("k2", self.k2, 0.0..=1.5),
            ("lag", self.lag, 0.0..=1e9),
            ("spin", self.spin, -1e9..=1e9),
        ] {
            if let Some(x) = value.filter(|x| !range.contains(x)) {
                let allowed = format!("must be from {} to {}", range.start(), range.end());
                return refuse(name, &x, &allowed);
            }
        }
        for (name, value) in [("k2", self.k2), ("lag", self.lag), ("spin", self.spin)] {
            let Some(x) = value else {
                continue;
            };
            if !is_adaptive {
                return refuse(name, &x, only_adaptive);
            }
            if self.k2.is_none() {
                return refuse(name, &x, "is used with --k2 only");
            }
        }
        if let Some(spin) = self.spin.filter(|spin| *spin == 0.0) {
            let allowed = "must not be 0; a star without --spin does not turn";
            return refuse("spin", &spin, allowed);
        }
        let given = [("j2", self.j2), ("j4", self.j4), ("k2", self.k2)];
        let given = given.iter().find(|(_, value)| value.is_some());
        match (self.radius, given) {
            (Some(Number::Fixed(radius)), Some(_)) if radius > 0.0 && radius <= 1e3 => {
                physics.j2 = 1.5 * self.j2.unwrap_or(0.0) * radius.powi(2);
                physics.j4 = 0.625 * self.j4.unwrap_or(0.0) * radius.powi(4);
                physics.tide = 3.0 * self.k2.unwrap_or(0.0) * radius.powi(5);
            }
            (None, Some((name, value))) => {
                let allowed = "needs --radius, the equatorial radius of the star";
                return refuse(name, &value.unwrap_or_default(), allowed);
            }
            (Some(radius), None) => {
                return refuse("radius", &radius, "is used with --j2, --j4 or --k2 only");
            }
            (Some(radius), Some(_)) => {
                let allowed = "must be one number above 0 and at most 1000 (au, or with km, rjup or rsun behind it)";
                return refuse("radius", &radius, allowed);
            }
            (None, None) => {}
        }
        let second = 1.0 / unit_of_time();
        physics.lag = self.lag.unwrap_or(0.0) * second;
        physics.spin = self
            .spin
            .map_or(0.0, |days| YEAR / (days * 86_400.0 * second));
        physics.slowness = LIGHT2.sqrt().recip();
        for ((i, planet), body) in self.planets.iter().enumerate().zip(&mut physics.bodies) {
            let [tau_a, tau_e, beta, k2, lag, radius] = planet.1;
            if planet.1 == [0.0; PROPERTIES.len()] {
                continue;
            }
            let number = i + 1;
            let refuse = |reason: &str| {
                let allowed = format!("planet {number}: {reason}");
                Err(SpecError::new("planet", planet, allowed))
            };
            if !is_adaptive {
                let names = PROPERTIES.iter().zip(planet.1);
                let mut names = names.filter(|(_, x)| *x != 0.0).map(|(name, _)| *name);
                let name = names.next().unwrap_or_default();
                return refuse(&format!("{name} {only_adaptive}"));
            }
            if !(0.0..=1e15).contains(&tau_a) || !(0.0..=1e15).contains(&tau_e) {
                return refuse("tau_a and tau_e must be from 0 (none) to 1e15 (years)");
            }
            if !(0.0..1.0).contains(&beta) {
                return refuse("beta must be from 0 and below 1");
            }
            if !(0.0..=1.5).contains(&k2) || !(0.0..=1e9).contains(&lag) {
                return refuse("k2 must be from 0 to 1.5, and lag from 0 to 1e9 (s)");
            }
            if (k2 > 0.0) != (radius > 0.0)
                || (lag > 0.0 && k2 == 0.0)
                || radius.is_nan()
                || radius > 1e3
            {
                return refuse("a tide needs k2 and radius (au), and may have a lag (s)");
            }
            if k2 > 0.0 && planet.0[0].range()[0] <= 0.0 {
                return refuse("a tide needs a mass m above 0");
            }
            let rate = |time: f64| if time > 0.0 { 1.0 / (time * YEAR) } else { 0.0 };
            *body = Body {
                beta,
                shrinks: 0.5 * rate(tau_a),
                circularises: 2.0 * rate(tau_e),
                tide: 3.0 * k2 * radius.powi(5),
                lag: lag * second,
            };
        }
        let has_body = physics.bodies.iter().any(|body| *body != Body::default());
        physics.has_drags =
            u64::from(has_body || physics.tide != 0.0 || physics.post_newtonian != 0.0);
        Ok(physics)
    }

    /// What is observed on the way.
    fn observation(&self) -> Result<Observation, SpecError> {
        let (observable, count) = (self.observable, self.planets.len() as u64);
        let refuse = |name: &'static str, value: &dyn fmt::Display, allowed: String| {
            Err(SpecError::new(name, value, allowed))
        };
        // What stops is observed together with the observable, if that is observed on the way.
        let mut stops = self.stop.iter().filter_map(|stop| match stop {
            Stop::Observed(of, x) => Some((stop, *of, *x)),
            _ => None,
        });
        let (mut kind, mut limit) = (observable.kind(), f64::INFINITY);
        let first = stops.clone().next().map(|(_, of, _)| of);
        for (stop, of, x) in stops.by_ref() {
            let (own, _) = of.stop().unwrap_or_default();
            let other = match first {
                Some(first) if first != of => Some(format!("--stop by {first}")),
                _ if ![Observation::NONE, own].contains(&kind) => {
                    Some(format!("--observable {observable}"))
                }
                _ => None,
            };
            if let Some(other) = other {
                let allowed = format!(
                    "one thing is observed on the way, which is that of {other}; r, hill, closest and megno can stop besides"
                );
                return refuse("stop", &stop, allowed);
            }
            kind = own;
            let x = if of == Observable::Lyapunov {
                x / YEAR
            } else {
                x
            };
            limit = limit.min(Observation::level(own, x));
        }
        let observes =
            |which: fn(Observable) -> bool| which(observable) || first.is_some_and(which);
        let needs_angle = observes(|which| which == Observable::Libration);
        if let Some(of) = self.of {
            if !observes(Observable::has_planet) {
                let of_planets = Observable::all().filter(|which| which.has_planet());
                let names: Vec<&str> = of_planets.map(Observable::name).collect();
                let allowed = format!("is used with --observable {}", names.join(", "));
                return refuse("of", &of, allowed);
            }
            if !(1..=count).contains(&of) {
                return refuse("of", &of, format!("must be a planet from 1 to {count}"));
            }
        }
        match self.angle {
            Some(angle) if !needs_angle => {
                let allowed = "is used with --observable libration".into();
                return refuse("angle", &angle, allowed);
            }
            Some(angle) if angle.last() as u64 > count => {
                let allowed = format!("must be of planets from 1 to {count}");
                return refuse("angle", &angle, allowed);
            }
            None if needs_angle => {
                let allowed = "needs --angle, such as 3*lambda2-2*lambda1-pomega2".into();
                let observable = first.unwrap_or(observable);
                return refuse("observable", &observable, allowed);
            }
            _ => {}
        }
        if observes(Observable::needs_two) && count < 2 {
            let allowed = "needs two planets".into();
            return refuse("observable", &observable, allowed);
        }
        let retrograde = |planet: &PlanetText| {
            let inc = planet.0[3].range();
            !planet.2.is_cartesian() && inc.contains(&std::f64::consts::PI)
        };
        let has_longitudes = needs_angle || kind == Observation::FREQUENCY;
        if let Some(planet) = self
            .planets
            .iter()
            .find(|p| has_longitudes && retrograde(p))
        {
            let allowed = format!(
                "an orbit with inc of exactly 180 degrees has no longitudes, which --observable {observable} needs"
            );
            return refuse("planet", planet, allowed);
        }
        Ok(Observation {
            kind,
            limit,
            planet: self.of.unwrap_or(count) - 1,
            angle: self
                .angle
                .map_or(Default::default(), |angle| angle.numbers()),
        })
    }

    /// Checks everything.
    ///
    /// # Errors
    /// The first value that is not allowed, with the allowed values.
    pub fn validate(mut self) -> Result<Validated, SpecError> {
        let count = self.planets.len();
        if count == 0 || count > MAX_PLANETS {
            let given = format!("{count} times");
            return Err(SpecError::new(
                "planet",
                given,
                "must be given 1 to 15 times",
            ));
        }
        let above_zero = "the mass must be a finite number above 0 (solar masses)";
        let allowed = |number: &Number, low: f64, high: f64| {
            let [least, most] = number.range();
            (low..=high).contains(&least) && (low..=high).contains(&most)
        };
        if !allowed(&self.star, 1e-6, 1e6) {
            let reason = "the mass must be from 1e-6 to 1e6 (solar masses)";
            return Err(SpecError::new("star", self.star, reason));
        }
        for (i, planet) in self.planets.iter().enumerate() {
            let number = i + 1;
            let refuse = |reason: String| Err(SpecError::new("planet", planet, reason));
            let [mass, a, e, angles @ ..] = &planet.0;
            let [_, size, .., anomaly] = planet.names();
            if !allowed(mass, 0.0, 1e6) {
                return refuse(format!("planet {number}: {above_zero}, or 0"));
            }
            if planet.2.is_cartesian() {
                if !planet.0.iter().all(|x| allowed(x, -1e6, 1e6)) {
                    let reason = "coordinates must be from -1e6 to 1e6 (au, and au a year)";
                    return refuse(format!("planet {number}: {reason}"));
                }
                continue;
            }
            if size == "P" && !allowed(a, 1e-9, 1e9) {
                return refuse(format!(
                    "planet {number}: P must be from 1e-9 to 1e9 (years)"
                ));
            }
            if size == "a" && !allowed(a, 1e-6, 1e6) {
                return refuse(format!("planet {number}: a must be from 1e-6 to 1e6 (au)"));
            }
            if !allowed(e, 0.0, 0.999_999) {
                return refuse(format!("planet {number}: e must be from 0 to 0.999999"));
            }
            const HALF_TURN: f64 = std::f64::consts::PI;
            // Axes may go further, as in a view that is moved.
            if matches!(angles[0], Number::Fixed(inc) if inc.abs() > HALF_TURN) {
                return refuse(format!(
                    "planet {number}: inc must be from -π to π (radians); ten degrees are 10deg"
                ));
            }
            if !angles.iter().all(|angle| allowed(angle, -1e6, 1e6)) {
                let unit = if anomaly == "T" {
                    "radians, and years for T"
                } else {
                    "radians"
                };
                return refuse(format!(
                    "planet {number}: angles must be from -1e6 to 1e6 ({unit})"
                ));
            }
            // Those of which one has an a and the other has none are compared in a sample.
            let before = i.checked_sub(1).map(|before| &self.planets[before]);
            if let Some(before) = before.filter(|before| before.names()[1] == size) {
                let inner = before.0[1].range()[1];
                if inner >= a.range()[0] {
                    return refuse(format!(
                        "planets must come from the inside out: {size} of planet {number} must be above that of planet {i}, {inner}"
                    ));
                }
            }
        }
        let axes = self.axes();
        if axes.len() > 2 {
            let names: Vec<&str> = axes.iter().map(|(name, ..)| name.as_str()).collect();
            let allowed = "at most two numbers can be axes of a map (LOW:HIGH:N)";
            return Err(SpecError::new("planet", names.join(", "), allowed));
        }
        if let Some([columns, rows]) = self.size() {
            self.n = columns.saturating_mul(rows);
        }
        if !(1..=1 << 32).contains(&self.n) {
            let allowed = "must be from 1 to 4294967296 (2^32) systems";
            return Err(SpecError::new("n", self.n, allowed));
        }
        if !(self.years > 0.0 && self.years <= 1e12) {
            let allowed = "must be above 0 and at most 1e12";
            return Err(SpecError::new("years", self.years, allowed));
        }
        let (step, step_in_periods) = match self.step {
            Step::Years(x) => (x * YEAR, 0),
            Step::Periods(x) => (x, 1),
        };
        let mut limits = Limits {
            step,
            step_in_periods,
            end: self.years * YEAR,
            far: 1e9,
            hill: 0.0,
            near: 0.0,
            megno: f64::INFINITY,
        };
        for stop in &self.stop {
            match *stop {
                Stop::Distance(x) => limits.far = x,
                Stop::Hill(x) => limits.hill = x,
                Stop::Megno(x) => limits.megno = x,
                Stop::Closest(x) => limits.near = x,
                Stop::Observed(..) => {}
            }
            let massless = self.planets.iter().all(|p| p.0[0].range()[1] == 0.0);
            let never = match stop {
                Stop::Hill(_) | Stop::Closest(_) if count < 2 => "there is only one planet",
                Stop::Hill(_) if massless => "no planet has a mass, and hence a Hill radius",
                _ => continue,
            };
            return Err(SpecError::new(
                "stop",
                stop,
                format!("is never true: {never}"),
            ));
        }
        let mut place = 0;
        let mut law = |number: &Number| {
            let law = number.law(place);
            place += usize::from(matches!(number, Number::Axis(..)));
            law
        };
        let mut plan = Plan {
            count: count as u64,
            seed: self.seed,
            size: self.size().unwrap_or([1, 1]),
            limits,
            physics: self.physics()?,
            observation: self.observation()?,
            star: law(&self.star),
            planets: [[Law::default(); ELEMENTS.len()]; MAX_PLANETS],
            forms: [0; MAX_PLANETS],
            heliocentric: u64::from(self.elements == Some(Elements::Heliocentric)),
        };
        for (form, planet) in plan.forms.iter_mut().zip(&self.planets) {
            *form = planet.2.0;
        }
        for (laws, planet) in plan.planets.iter_mut().zip(&self.planets) {
            for (to, number) in laws.iter_mut().zip(&planet.0) {
                *to = law(number);
            }
        }
        let valid = Validated {
            specification: self,
            plan: Box::new(plan),
        };
        valid.check_steps()?;
        Ok(valid)
    }
}

/// A [`Specification`] that has been validated.
#[derive(Clone, Debug)]
pub struct Validated {
    specification: Specification,
    plan: Box<Plan>,
}

/// The most systems of which it is checked whether their steps resolve them.
const SAMPLE: u64 = 1024;

impl Validated {
    /// The specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The plan from which starts are made.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Up to `most` systems, evenly spaced.
    fn sample(&self, most: u64) -> Vec<u64> {
        trisolar_ensemble::evenly_spaced(self.specification.n, most)
    }

    /// Checks that orbits are bound and in order, and that systems take at least one step and not too many.
    fn check_steps(&self) -> Result<(), SpecError> {
        let planets = &self.specification.planets;
        for item in self.sample(SAMPLE) {
            let starts = self.plan.starts::<MAX_PLANETS>(item);
            for (i, planet) in planets.iter().enumerate() {
                let (a, number) = (starts[i].a, i + 1);
                if !(1e-6..=1e6).contains(&a) {
                    let reason = format!(
                        "planet {number}: the orbit must be bound and have a from 1e-6 to 1e6 (au); it is {a} in system {item}"
                    );
                    return Err(SpecError::new("planet", planet, reason));
                }
                let inner = i.checked_sub(1).map(|before| starts[before].a);
                if let Some(inner) = inner.filter(|inner| *inner >= a) {
                    let reason = format!(
                        "planets must come from the inside out: a of planet {number} is {a} in system {item}, and that of planet {i} {inner}"
                    );
                    return Err(SpecError::new("planet", planet, reason));
                }
            }
            let (h, _) = self.plan.step(item);
            let steps = self.plan.limits.end / h;
            if !(0.999_999..=4e9).contains(&steps) {
                let s = &self.specification;
                let allowed = format!(
                    "must make 1 to 4e9 steps of the {} years; with it system {item} takes {steps:.3e}",
                    s.years
                );
                return Err(SpecError::new("step", s.step, allowed));
            }
        }
        Ok(())
    }

    /// What the user should know before believing the results: shares of a sample of systems whose steps are too long for their pericentres,
    /// or whose orbits cross, which the integrator cannot follow.
    pub fn warnings(&self) -> Vec<String> {
        let sample = self.sample(SAMPLE);
        let (radius, integrator) = (self.specification.radius(), self.specification.integrator());
        let (mut long, mut crossing, mut inside) = (0_u32, 0_u32, 0_u32);
        for &item in &sample {
            let (h, _) = self.plan.step(item);
            let starts = self.plan.starts::<MAX_PLANETS>(item);
            let (mut is_long, mut crosses, mut apocentre) = (false, false, 0.0);
            let mut is_inside = false;
            for start in &starts[..self.specification.planets.len()] {
                let (a, e) = (start.a, start.e);
                let q = a * (1.0 - e);
                // The period of a circular motion at the angular velocity of the pericentre.
                let passage = YEAR * (q * q * q / (start.about * (1.0 + e))).sqrt();
                is_long |= h > passage / 16.0;
                crosses |= q <= apocentre;
                is_inside |= q < radius;
                apocentre = a * (1.0 + e);
            }
            long += u32::from(is_long);
            crossing += u32::from(crosses);
            inside += u32::from(is_inside);
        }
        let share = |count: u32| 100.0 * f64::from(count) / sample.len() as f64;
        let mut warnings = Vec::new();
        if long > 0 && integrator != Integrator::Adaptive {
            warnings.push(format!(
                "the step is longer than 1/16 of a pericentre passage in {:.1} % of the systems (a smaller --step resolves it)",
                share(long)
            ));
        }
        if crossing > 0 && integrator == Integrator::WisdomHolman {
            warnings.push(format!(
                "orbits cross at the start of {:.1} % of the systems: a Wisdom-Holman step does not resolve encounters of planets; --integrator hybrid follows them, and --stop 'hill<1' ends them",
                share(crossing)
            ));
        }
        if inside > 0 {
            warnings.push(format!(
                "a pericentre is inside of the star in {:.1} % of the systems",
                share(inside)
            ));
        }
        warnings
    }

    /// The same systems with half the step, and a 32nd of the tolerance.
    pub(super) fn with_half_step(&self) -> Result<Self, SpecError> {
        let mut finer = self.specification.clone();
        finer.step = finer.step.half();
        if finer.integrator.is_some() {
            let tolerance = finer.tolerance.unwrap_or(TOLERANCE) / 32.0;
            finer.tolerance = Some(tolerance.max(1e-15));
        }
        finer.validate()
    }
}
