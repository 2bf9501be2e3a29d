//! Start models. Those with random numbers draw them from ChaCha8 (seeded) and use libm's functions, so that a seed
//! gives the same bits on every machine.

use glam::{DVec2, DVec3};
use serde::{Deserialize, Serialize};

use super::king::{KING_W0, king};
use super::uniform::Uniform;
use super::{Bodies, Diagnostics, MAX_BODIES};

/// Largest number of bodies of a cluster that is scaled to exact virial equilibrium. For more bodies the sum over pairs would take
/// long, and the random deviation is small.
const MAX_VIRIALISED_BODIES: usize = 65_536;

/// A start model that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A model's parameter is out of its range.
    #[error("--model {model}: {reason}")]
    Parameter {
        /// Its name.
        model: String,
        /// A description of the error.
        reason: String,
    },
    /// The number of bodies differs from that of a model with a fixed number.
    #[error("--n {given}: the model has {has} bodies; remove --n")]
    Count {
        /// The given number of bodies.
        given: usize,
        /// Bodies of the model.
        has: usize,
    },
    /// No bodies, or too many.
    #[error("{given} bodies: there must be 1 to {MAX_BODIES}")]
    Bodies {
        /// The given number.
        given: usize,
    },
}

/// A start model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Model {
    /// Positions uniform in a cube about the origin, velocities uniform in another, masses uniform in a range.
    Cube {
        /// Half the edge of the cube (length).
        half_width: f64,
        /// Half the edge of the cube of velocities (length / time).
        speed: f64,
        /// Least and greatest mass; masses are divided by the number of bodies.
        mass: [f64; 2],
        /// Whether masses are used as drawn instead of being divided by n.
        whole_masses: bool,
    },
    /// A Plummer sphere (Plummer 1911) in Hénon units (total mass 1, G = 1, energy -1/4), in virial equilibrium, centred, drawn as
    /// in Aarseth, Hénon & Wielen (1974). With another G, velocities are scaled to keep the equilibrium.
    Plummer,
    /// A King model (King 1966) in Hénon units, in virial equilibrium, centred, in three dimensions. With another G, velocities are scaled
    /// to keep the equilibrium.
    King {
        /// Dimensionless central potential, within [`KING_W0`].
        w0: f64,
    },
    /// Equal masses, 1 in total, uniform in a sphere about the origin, at rest: a cold collapse.
    Sphere {
        /// Radius of the sphere (length).
        radius: f64,
    },
    /// Two bodies of masses 1 and `ratio` on an ellipse, at apocentre, in the frame of the centre of mass.
    Kepler {
        /// Half the major axis (length).
        a: f64,
        /// Eccentricity, 0 up to but not 1.
        e: f64,
        /// Mass of the second body.
        ratio: f64,
    },
    /// The Pythagorean problem: masses 3, 4, 5 at rest at the corners of a 3-4-5 triangle (Burrau 1913).
    Burrau,
    /// Three bodies of mass 1 that follow each other on a figure eight (Chenciner & Montgomery 2000), G = 1.
    FigureEight,
    /// Three bodies of mass 1 that circle at the corners of a triangle of side 1 (Lagrange 1772).
    Lagrange,
    /// The line of particles of Pacheco & Malensek (2021): mass 5e24 at x = 1e5·i, with alternating vy = ±3e4. SI units.
    Line,
    /// The sun with the inner planets' mass, Jupiter, Saturn, Uranus, Neptune, Pluto on 1994-09-05. Astronomical units, days, solar
    /// masses (Hairer, Lubich & Wanner 2006, §I.2.4).
    OuterPlanets,
    /// The sun, the eight planets and Pluto on 2000-01-01 12:00 TT (J2000.0), in the ecliptic of that time, about their barycentre.
    /// Astronomical units, days, solar masses. Elements: Standish & Williams (2013), Table 1; masses of DE405: Standish (1998).
    SolarSystem,
}

impl Model {
    /// The name on the command line and in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cube { .. } => "cube",
            Self::Plummer => "plummer",
            Self::King { .. } => "king",
            Self::Sphere { .. } => "sphere",
            Self::Kepler { .. } => "kepler",
            Self::Burrau => "burrau",
            Self::FigureEight => "figure-eight",
            Self::Lagrange => "lagrange",
            Self::Line => "line",
            Self::OuterPlanets => "outer-planets",
            Self::SolarSystem => "solar-system",
        }
    }

    /// Whether the model uses no random numbers.
    pub fn is_fixed(&self) -> bool {
        !matches!(
            self,
            Self::Cube { .. } | Self::Plummer | Self::King { .. } | Self::Sphere { .. }
        )
    }

    /// The number of bodies, if the model has no other.
    pub fn fixed_count(&self) -> Option<usize> {
        match self {
            Self::Kepler { .. } => Some(2),
            Self::Burrau | Self::FigureEight | Self::Lagrange => Some(3),
            Self::OuterPlanets => Some(6),
            Self::SolarSystem => Some(PLANETS.len() + 1),
            Self::Cube { .. }
            | Self::Plummer
            | Self::King { .. }
            | Self::Sphere { .. }
            | Self::Line => None,
        }
    }

    /// The gravitational constant of the model's units.
    pub fn natural_g(&self) -> f64 {
        match self {
            Self::Line => 6.673e-11,
            Self::OuterPlanets => 2.959_122_082_86e-4,
            // The square of Gauss's constant, 0.01720209895.
            Self::SolarSystem => 2.959_122_082_855_911e-4,
            _ => 1.0,
        }
    }

    /// The time that shows what the model is known for, where it has one: a period, or a piece of its history.
    pub fn natural_time(&self, g: f64) -> Option<f64> {
        use std::f64::consts::TAU;

        let time = match self {
            Self::Kepler { a, ratio, .. } => TAU * (a * a * a / (g * (1.0 + ratio))).sqrt(),
            // At t = 15.83 two bodies come so close (4e-4) that no fixed step follows them.
            Self::Burrau => 10.0,
            // Simó's value, as in the tables of Šuvakov & Dmitrašinović (2013).
            Self::FigureEight => 6.325_913_982_926_212 / g.sqrt(),
            Self::Lagrange => TAU / (3.0 * g).sqrt(),
            // As in the figures of Hairer, Lubich & Wanner (2006).
            Self::OuterPlanets => 200_000.0,
            // 250 Julian years, in which Pluto goes around once.
            Self::SolarSystem => 250.0 * 365.25,
            _ => return None,
        };
        (time.is_finite() && time > 0.0).then_some(time)
    }

    /// The units of length and time of a model that has particular ones.
    pub fn units(&self) -> Option<[&'static str; 2]> {
        match self {
            Self::OuterPlanets | Self::SolarSystem => Some(["au", "days"]),
            Self::Line => Some(["m", "s"]),
            _ => None,
        }
    }

    /// Units and origin of a model whose numbers need them.
    pub fn note(&self) -> Option<&'static str> {
        match self {
            Self::Burrau => Some(
                "at t = 15.83 two bodies come within 4e-4, which no fixed step follows; trisolar cluster --model burrau integrates the \
                 whole history",
            ),
            Self::OuterPlanets => Some(
                "lengths in au, times in days from 1994-09-05, masses in solar masses (Hairer, Lubich & Wanner 2006)",
            ),
            Self::SolarSystem => Some(
                "lengths in au, times in days from 2000-01-01 12:00 TT (J2000.0), masses in solar masses, ecliptic of J2000; approximate \
                 elements of Standish & Williams, masses of DE405",
            ),
            _ => None,
        }
    }

    /// The names of the bodies, where they have any.
    pub fn names(&self) -> Option<Vec<String>> {
        let names = |all: &[&str]| Some(all.iter().map(|name| (*name).to_owned()).collect());
        match self {
            Self::OuterPlanets => {
                names(&["Sun", "Jupiter", "Saturn", "Uranus", "Neptune", "Pluto"])
            }
            Self::SolarSystem => {
                let planets = PLANETS.iter().map(|planet| planet.name);
                names(&std::iter::once("Sun").chain(planets).collect::<Vec<_>>())
            }
            _ => None,
        }
    }

    /// A time step that follows the model's orbits.
    pub fn natural_dt(&self, g: f64) -> f64 {
        let period = || self.natural_time(g).unwrap_or(1.0);
        match self {
            Self::Line => 0.01,
            Self::OuterPlanets => 10.0,
            // Six hours: Mercury is late by 2e-4 degrees a year.
            Self::SolarSystem => 0.25,
            // Whole numbers of steps in a period.
            Self::Kepler { .. } => period() / 4000.0,
            Self::FigureEight | Self::Lagrange => period() / 5000.0,
            Self::Burrau => 1e-5,
            _ => 0.001,
        }
    }

    /// The dimensions the model is made for.
    pub fn natural_dimensions(&self) -> u8 {
        match self {
            Self::Line => 2,
            _ => 3,
        }
    }

    /// The error in the parameters, if there is one.
    fn problem(&self, dimensions: u8) -> Option<String> {
        let positive = |name: &str, x: f64| {
            (!(x > 0.0 && x.is_finite())).then(|| format!("{name} must be above 0, got {x}"))
        };
        let from_zero = |name: &str, x: f64| {
            (!(x >= 0.0 && x.is_finite())).then(|| format!("{name} must be 0 or more, got {x}"))
        };
        match *self {
            Self::Cube {
                half_width,
                speed,
                mass: [low, high],
                ..
            } => positive("half width", half_width)
                .or_else(|| from_zero("speed", speed))
                .or_else(|| from_zero("least mass", low))
                .or_else(|| from_zero("greatest mass", high))
                .or_else(|| {
                    (low > high).then(|| {
                        format!("the least mass, {low}, is above the greatest mass, {high}")
                    })
                }),
            Self::Sphere { radius } => positive("radius", radius),
            Self::King { .. } if dimensions == 2 => {
                Some("the model has three dimensions, got --dimensions 2".into())
            }
            Self::King { w0 } => (!(KING_W0[0]..=KING_W0[1]).contains(&w0)).then(|| {
                let [least, most] = KING_W0;
                format!("w0 must be from {least} to {most}, got {w0}")
            }),
            Self::Kepler { a, e, ratio } => positive("the semi-major axis", a)
                .or_else(|| from_zero("mass ratio", ratio))
                .or_else(|| {
                    (!(0.0..1.0).contains(&e))
                        .then(|| format!("eccentricity must be from 0 to below 1, got {e}"))
                }),
            _ => None,
        }
    }

    /// The bodies of the start; `n` is needed by models without a fixed number.
    ///
    /// # Errors
    /// [`ModelError`] for a number or parameter that is not allowed.
    pub fn build(
        &self,
        n: Option<usize>,
        seed: u64,
        g: f64,
        dimensions: u8,
    ) -> Result<Bodies, ModelError> {
        if let Some(reason) = self.problem(dimensions) {
            return Err(ModelError::Parameter {
                model: self.name().into(),
                reason,
            });
        }
        let n = match (self.fixed_count(), n) {
            (Some(has), Some(given)) if has != given => {
                return Err(ModelError::Count { given, has });
            }
            (Some(has), _) => has,
            (None, n) => n.unwrap_or(1024),
        };
        if !(1..=MAX_BODIES).contains(&n) {
            return Err(ModelError::Bodies { given: n });
        }
        if n == 1 && matches!(self, Self::King { .. }) {
            return Err(ModelError::Parameter {
                model: self.name().into(),
                reason: "a single body has no equilibrium; --n must be 2 or more".into(),
            });
        }
        Ok(self.bodies(n, seed, g, dimensions == 2))
    }

    /// The bodies. `n` is not used by models of a fixed number, `planar` puts the random ones into the plane z = 0.
    fn bodies(&self, n: usize, seed: u64, g: f64, planar: bool) -> Bodies {
        match *self {
            Self::Cube {
                half_width,
                speed,
                mass,
                whole_masses,
            } => cube(n, seed, half_width, speed, mass, whole_masses, planar),
            Self::Plummer => plummer(n, seed, g, planar),
            Self::King { w0 } => king(n, w0, seed, g, MAX_VIRIALISED_BODIES),
            Self::Sphere { radius } => sphere(n, seed, radius, planar),
            Self::Kepler { a, e, ratio } => kepler(a, e, ratio, g),
            Self::Burrau => Bodies {
                mass: vec![3.0, 4.0, 5.0],
                position: [[1.0, 3.0, 0.0], [-2.0, -1.0, 0.0], [1.0, -1.0, 0.0]]
                    .map(DVec3::from)
                    .into(),
                velocity: vec![DVec3::ZERO; 3],
            },
            Self::FigureEight => figure_eight(g),
            Self::Lagrange => lagrange(g),
            Self::Line => line(n),
            Self::OuterPlanets => outer_planets(),
            Self::SolarSystem => solar_system(g),
        }
    }
}

impl Bodies {
    /// The bodies, each moved by random numbers: every coordinate by up to `share` of the root mean square distance of the bodies from their
    /// mean position. `planar` ones stay in the plane z = 0.
    #[must_use]
    pub fn perturbed(mut self, share: f64, seed: u64, planar: bool) -> Self {
        let count = self.len().max(1) as f64;
        let mean = self.position.iter().sum::<DVec3>() / count;
        let square = |x: &DVec3| (*x - mean).length_squared();
        let most = share * (self.position.iter().map(square).sum::<f64>() / count).sqrt();
        // Other numbers than those of a random model.
        let mut random = Uniform::new(!seed);
        for x in &mut self.position {
            let mut by = DVec3::from([(); 3].map(|()| random.within(-most, most)));
            if planar {
                by.z = 0.0;
            }
            *x += by;
        }
        self
    }
}

fn cube(
    n: usize,
    seed: u64,
    half_width: f64,
    speed: f64,
    mass: [f64; 2],
    whole: bool,
    planar: bool,
) -> Bodies {
    let mut random = Uniform::new(seed);
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let mut vector = |half: f64| {
            let mut v = DVec3::from([(); 3].map(|()| random.within(-half, half)));
            if planar {
                v.z = 0.0;
            }
            v
        };
        let (x, v) = (vector(half_width), vector(speed));
        let m = random.within(mass[0], mass[1]);
        bodies.push(if whole { m } else { m / n as f64 }, x, v);
    }
    bodies
}

fn sphere(n: usize, seed: u64, radius: f64, planar: bool) -> Bodies {
    let mut random = Uniform::new(seed);
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let u = random.unit();
        let r = radius * if planar { u.sqrt() } else { libm::cbrt(u) };
        bodies.push(1.0 / n as f64, random.direction(r, planar), DVec3::ZERO);
    }
    bodies
}

fn plummer(n: usize, seed: u64, g: f64, planar: bool) -> Bodies {
    // Plummer's scale length in Hénon units.
    const SCALE: f64 = 3.0 * std::f64::consts::PI / 16.0;
    // Share of the mass that is drawn. The outermost bodies are left out, because they would determine the size of pictures.
    const DRAWN_MASS_SHARE: f64 = 0.999;
    let mut random = Uniform::new(seed);
    let mut bodies = Bodies::default();
    for _ in 0..n {
        let inside = loop {
            let u = random.unit() * DRAWN_MASS_SHARE;
            if u > 0.0 {
                break u;
            }
        };
        let r = 1.0 / (libm::pow(inside, -2.0 / 3.0) - 1.0).sqrt();
        // Speed over escape speed: density q² (1 - q²)^(7/2), by rejection.
        let q = loop {
            let (q, y) = (random.unit(), 0.1 * random.unit());
            if y < q * q * libm::pow(1.0 - q * q, 3.5) {
                break q;
            }
        };
        let speed = q * std::f64::consts::SQRT_2 / libm::pow(1.0 + r * r, 0.25);
        let x = random.direction(r * SCALE, planar);
        let v = random.direction(speed * (g / SCALE).max(0.0).sqrt(), planar);
        bodies.push(1.0 / n as f64, x, v);
    }
    bodies.centre();
    if (2..=MAX_VIRIALISED_BODIES).contains(&n) && g > 0.0 && !planar {
        virialise(&mut bodies, g);
    }
    bodies
}

/// Scales lengths and speeds so that the potential energy is -G/2 and the kinetic G/4.
fn virialise(bodies: &mut Bodies, g: f64) {
    let d = Diagnostics::of(bodies, g, 0.0);
    let lengths = d.potential / (-0.5 * g);
    let speeds = (0.25 * g / d.kinetic).sqrt();
    if lengths > 0.0 && lengths.is_finite() && speeds.is_finite() {
        bodies.scale(lengths, speeds);
    }
}

fn kepler(a: f64, e: f64, ratio: f64, g: f64) -> Bodies {
    let total = 1.0 + ratio;
    let r = a * (1.0 + e);
    // Vis viva at the apocentre.
    let v = (g * total * (2.0 / r - 1.0 / a)).max(0.0).sqrt();
    let (first, second) = (ratio / total, 1.0 / total);
    Bodies {
        mass: vec![1.0, ratio],
        position: [-first * r, second * r]
            .map(|x| DVec3::new(x, 0.0, 0.0))
            .into(),
        velocity: [-first * v, second * v]
            .map(|v| DVec3::new(0.0, v, 0.0))
            .into(),
    }
}

fn figure_eight(g: f64) -> Bodies {
    const R: DVec2 = DVec2::new(0.970_004_356_697_333_4, -0.243_087_531_535_848_87);
    const V: DVec2 = DVec2::new(-0.932_407_371_441_052_3, -0.864_731_460_921_005_96);
    // V is the velocity of the body at the origin; the others have minus half of it.
    let v = V * g.max(0.0).sqrt();
    Bodies {
        mass: vec![1.0; 3],
        position: [R, -R, DVec2::ZERO].map(|x| x.extend(0.0)).into(),
        velocity: [-0.5 * v, -0.5 * v, v].map(|v| v.extend(0.0)).into(),
    }
}

fn lagrange(g: f64) -> Bodies {
    // Side 1: the corners are 1/√3 from the centre and circle with ω² = 3 G m.
    let radius = 1.0 / 3.0_f64.sqrt();
    let speed = radius * (3.0 * g.max(0.0)).sqrt();
    let (s, c) = (0.5 * 3.0_f64.sqrt(), 0.5);
    let corners = [[1.0, 0.0], [-c, s], [-c, -s]].map(DVec2::from);
    Bodies {
        mass: vec![1.0; 3],
        position: corners.map(|x| (radius * x).extend(0.0)).into(),
        velocity: corners
            .map(|x| DVec3::new(-speed * x.y, speed * x.x, 0.0))
            .into(),
    }
}

fn line(n: usize) -> Bodies {
    let mut bodies = Bodies::default();
    for i in 0..n {
        let vy = if i % 2 == 0 { 3.0e4 } else { -3.0e4 };
        bodies.push(5.0e24, [1.0e5 * i as f64, 0.0, 0.0], [0.0, vy, 0.0]);
    }
    bodies
}

fn outer_planets() -> Bodies {
    let mut bodies = Bodies::default();
    let mut add = |m, x, v| bodies.push(m, x, v);
    add(1.000_005_976_82, [0.0; 3], [0.0; 3]);
    add(
        0.000_954_786_104_043,
        [-3.502_365_3, -3.816_984_7, -1.550_796_3],
        [0.005_654_29, -0.004_124_90, -0.001_905_89],
    );
    add(
        0.000_285_583_733_151,
        [9.075_531_4, -3.045_835_3, -1.648_370_8],
        [0.001_683_18, 0.004_835_25, 0.001_924_62],
    );
    add(
        0.000_043_727_316_454_6,
        [8.310_142_0, -16.290_108_6, -7.252_127_8],
        [0.003_541_78, 0.001_371_02, 0.000_550_29],
    );
    add(
        0.000_051_775_913_844_9,
        [11.470_766_6, -25.729_482_9, -10.816_945_6],
        [0.002_889_30, 0.001_145_27, 0.000_396_77],
    );
    add(
        1.0 / 1.3e8,
        [-15.538_735_7, -25.222_559_4, -3.190_238_2],
        [0.002_767_25, -0.001_707_02, -0.001_365_04],
    );
    bodies
}

/// A planet's orbit about the sun: its approximate elements at J2000.0, in the ecliptic of that time.
struct Planet {
    name: &'static str,
    /// Mass of the sun over the mass of the planet with its moons.
    inverse_mass: f64,
    /// Half the major axis (au).
    a: f64,
    /// Eccentricity.
    e: f64,
    /// Inclination, mean longitude, longitude of the perihelion and longitude of the ascending node (degrees).
    angles: [f64; 4],
}

/// Elements: Standish & Williams (2013), Table 1, for 1800 to 2050. Masses: Standish (1998), DE405. `Earth` is the barycentre of the earth
/// and the moon.
#[rustfmt::skip]
const PLANETS: [Planet; 9] = [
    planet("Mercury", 6_023_600.0, 0.387_099_27, 0.205_635_93, [7.004_979_02, 252.250_323_50, 77.457_796_28, 48.330_765_93]),
    planet("Venus", 408_523.71, 0.723_335_66, 0.006_776_72, [3.394_676_05, 181.979_099_50, 131.602_467_18, 76.679_842_55]),
    planet("Earth", 328_900.561_4, 1.000_002_61, 0.016_711_23, [-0.000_015_31, 100.464_571_66, 102.937_681_93, 0.0]),
    planet("Mars", 3_098_708.0, 1.523_710_34, 0.093_394_10, [1.849_691_42, -4.553_432_05, -23.943_629_59, 49.559_538_91]),
    planet("Jupiter", 1_047.348_6, 5.202_887_00, 0.048_386_24, [1.304_396_95, 34.396_440_51, 14.728_479_83, 100.473_909_09]),
    planet("Saturn", 3_497.898, 9.536_675_94, 0.053_861_79, [2.485_991_87, 49.954_244_23, 92.598_878_31, 113.662_424_48]),
    planet("Uranus", 22_902.98, 19.189_164_64, 0.047_257_44, [0.772_637_83, 313.238_104_51, 170.954_276_30, 74.016_925_03]),
    planet("Neptune", 19_412.24, 30.069_922_76, 0.008_590_48, [1.770_043_47, -55.120_029_69, 44.964_762_27, 131.784_225_74]),
    planet("Pluto", 135_200_000.0, 39.482_116_75, 0.248_827_30, [17.140_012_06, 238.929_038_33, 224.068_916_29, 110.303_936_84]),
];

const fn planet(name: &'static str, inverse_mass: f64, a: f64, e: f64, angles: [f64; 4]) -> Planet {
    Planet {
        name,
        inverse_mass,
        a,
        e,
        angles,
    }
}

impl Planet {
    /// Position and velocity relative to the sun.
    fn state(&self, g: f64) -> [DVec3; 2] {
        let [inclination, longitude, perihelion, node] = self.angles.map(f64::to_radians);
        let mean = longitude - perihelion;
        // Kepler's equation by Newton's method, which converges from here for the eccentricities of the table.
        let mut anomaly = mean;
        for _ in 0..20 {
            let (s, c) = (libm::sin(anomaly), libm::cos(anomaly));
            anomaly -= (anomaly - self.e * s - mean) / (1.0 - self.e * c);
        }
        let (s, c) = (libm::sin(anomaly), libm::cos(anomaly));
        let minor = self.a * (1.0 - self.e * self.e).sqrt();
        let gm = g * (1.0 + 1.0 / self.inverse_mass);
        let rate = (gm / (self.a * self.a * self.a)).max(0.0).sqrt() / (1.0 - self.e * c);
        let in_plane = [
            DVec2::new(self.a * (c - self.e), minor * s),
            DVec2::new(-self.a * s, minor * c) * rate,
        ];
        let argument = perihelion - node;
        let rotated = |v: DVec3, angle: f64| {
            let (s, c) = (libm::sin(angle), libm::cos(angle));
            DVec3::new(c * v.x - s * v.y, s * v.x + c * v.y, v.z)
        };
        in_plane.map(|v| {
            let v = rotated(v.extend(0.0), argument);
            let (s, c) = (libm::sin(inclination), libm::cos(inclination));
            rotated(DVec3::new(v.x, c * v.y, s * v.y), node)
        })
    }
}

/// The orbital elements of a planet about the sun at J2000.0.
#[derive(Clone, Copy, Debug)]
pub struct PlanetElements {
    /// Its name.
    pub name: &'static str,
    /// Mass (solar masses), half the major axis (au) and eccentricity.
    pub shape: [f64; 3],
    /// Inclination, longitude of the ascending node, argument of the perihelion and mean anomaly (degrees).
    pub angles: [f64; 4],
}

/// The planets of [`Model::SolarSystem`], from the inside out.
pub fn solar_planets() -> impl Iterator<Item = PlanetElements> {
    PLANETS.iter().map(|planet| {
        let [inclination, longitude, perihelion, node] = planet.angles;
        PlanetElements {
            name: planet.name,
            shape: [1.0 / planet.inverse_mass, planet.a, planet.e],
            angles: [inclination, node, perihelion - node, longitude - perihelion],
        }
    })
}

fn solar_system(g: f64) -> Bodies {
    let mut bodies = Bodies::default();
    bodies.push(1.0, DVec3::ZERO, DVec3::ZERO);
    for planet in &PLANETS {
        let [x, v] = planet.state(g);
        bodies.push(1.0 / planet.inverse_mass, x, v);
    }
    bodies.centre();
    bodies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perturbed_bodies_are_near_and_depend_on_the_seed() {
        let bodies = Model::Burrau.build(None, 0, 1.0, 3).expect("bodies");
        // The distances from the mean position (0, 1/3) have the squares 73/9, 52/9 and 25/9.
        let most = 1e-3 * (150.0_f64 / 27.0).sqrt();
        let moved = bodies.clone().perturbed(1e-3, 1, true);
        let other = bodies.clone().perturbed(1e-3, 2, false);
        let by = |of: &Bodies| -> Vec<DVec3> {
            let pairs = of.position.iter().zip(&bodies.position);
            pairs.map(|(x, before)| *x - *before).collect()
        };
        for by in by(&moved) {
            assert!(by.abs().max_element() <= most && by.x != 0.0 && by.z == 0.0);
        }
        let largest = |of: &Bodies| by(of).iter().fold(0.0, |l: f64, x| l.max(x.length()));
        assert!(largest(&moved) > 0.3 * most && largest(&other) <= 1.8 * most);
        assert!(by(&other).iter().all(|by| by.z != 0.0));
        assert_ne!(by(&moved)[0].x, by(&other)[0].x);
        assert_eq!(moved.velocity, bodies.velocity);
        assert_eq!(moved.position, bodies.perturbed(1e-3, 1, true).position);
    }

    #[test]
    fn planets_have_the_energies_and_momenta_of_their_elements() {
        let model = Model::SolarSystem;
        let g = model.natural_g();
        let bodies = model.build(None, 0, g, 3).expect("bodies");
        assert_eq!(model.names().expect("names").len(), bodies.len());
        let sun = (bodies.position[0], bodies.velocity[0]);
        for (planet, i) in PLANETS.iter().zip(1..) {
            let (x, v) = (bodies.position[i] - sun.0, bodies.velocity[i] - sun.1);
            let gm = g * (1.0 + 1.0 / planet.inverse_mass);
            let a = 1.0 / (2.0 / x.length() - v.length_squared() / gm);
            let momentum = x.cross(v);
            let e = (1.0 - momentum.length_squared() / (gm * a)).max(0.0).sqrt();
            let inclination = (momentum.z / momentum.length()).acos().to_degrees();
            assert!((a / planet.a - 1.0).abs() < 1e-12, "{}: {a}", planet.name);
            assert!((e - planet.e).abs() < 1e-10, "{}: {e}", planet.name);
            assert!(
                (inclination - planet.angles[0].abs()).abs() < 1e-5,
                "{}",
                planet.name
            );
        }
        // The earth is near perihelion and at a longitude of 100 degrees at the beginning of January.
        let earth = bodies.position[3] - sun.0;
        assert!((earth.length() - 0.9833).abs() < 1e-4);
        assert!((earth.y.atan2(earth.x).to_degrees() - 100.4).abs() < 0.2);
    }
}
