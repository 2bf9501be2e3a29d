//! What a divergence map is of: plain data, validated once, saved with every result.

use std::fmt;

use glam::DVec3;
use kernels_gpu::divergence::{Grid, Job};
use kernels_gpu::integrator::euler::Constants;
use serde::{Deserialize, Serialize};

/// Everything a divergence map's values depend on. [`Default`] is the headline map.
///
/// Lengths, times and masses are in any consistent units: [`g`](Self::g) ties them together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Specification {
    /// Pixels: width, height.
    pub size: [u64; 2],
    /// Centre of the map along the two spanned axes (length).
    pub center: [f64; 2],
    /// Extent of the map along the two spanned axes (length).
    pub span: [f64; 2],
    /// Which two coordinates of the grid body the map spans.
    pub plane: Plane,
    /// Which body (1, 2, 3) the grid places and whose twin is shifted.
    pub body: u8,
    /// Masses of the bodies; a body of mass 0 feels without pulling.
    pub masses: [f64; 3],
    /// Start positions (length). Of the grid body only the coordinate outside the plane is used.
    pub positions: [DVec3; 3],
    /// Start velocities (length per time).
    pub velocities: [DVec3; 3],
    /// Gravitational constant (length³ / mass / time²).
    pub g: f64,
    /// Softening length: r² + softening² takes the place of r².
    pub softening: f64,
    /// Steps after which a pixel counts as never parted.
    pub steps: u64,
    /// Time step (time).
    pub dt: f64,
    /// What is added to the grid body's start position in the twin system (length).
    pub shift: DVec3,
    /// Distance of the grid body from its twin up to which they count as together (length).
    pub critical_distance: f64,
    /// The arithmetic.
    pub precision: Precision,
}

impl Default for Specification {
    fn default() -> Self {
        Self {
            size: [300, 300],
            center: [0.0, 0.0],
            span: [40.0, 40.0],
            plane: Plane::Xy,
            body: 1,
            masses: [10.0, 20.0, 30.0],
            positions: [
                DVec3::new(0.0, 0.0, -11.0),
                DVec3::ZERO,
                DVec3::new(10.0, 10.0, 12.0),
            ],
            velocities: [DVec3::new(-3.0, 0.0, 0.0), DVec3::ZERO, DVec3::new(3.0, 0.0, 0.0)],
            g: 9.8,
            softening: 0.0,
            steps: 50_000,
            dt: 0.001,
            shift: DVec3::splat(0.001),
            critical_distance: 0.5,
            precision: Precision::Exact,
        }
    }
}

/// Two of the three coordinate axes: the map's columns run along the first, its rows along the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    /// x and y.
    Xy,
    /// x and z.
    Xz,
    /// y and z.
    Yz,
}

impl Plane {
    /// Indices of the two spanned coordinates.
    pub fn axes(self) -> [usize; 2] {
        match self {
            Self::Xy => [0, 1],
            Self::Xz => [0, 2],
            Self::Yz => [1, 2],
        }
    }

    /// Names of the two spanned coordinates.
    pub fn labels(self) -> [&'static str; 2] {
        self.axes().map(|axis| ["x", "y", "z"][axis])
    }
}

/// The arithmetic of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// f64, IEEE operations in a fixed order: the same bits on every engine.
    Exact,
}

/// A value of a specification that cannot be computed with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("--{option} {given}: {allowed}")]
pub struct SpecError {
    /// Name of the option, as on the command line.
    pub option: &'static str,
    /// The value given.
    pub given: String,
    /// What is allowed.
    pub allowed: String,
}

/// A [`Specification`] that has passed [`Specification::validate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Validated(Specification);

/// The most pixels of a map.
pub const MAX_PIXELS: u64 = 1 << 32;
/// The most steps of a pixel: `times` is a u32, and its largest value stays free.
pub const MAX_STEPS: u64 = u32::MAX as u64 - 1;

impl Specification {
    /// Checks every value and their combination.
    ///
    /// # Errors
    /// The first value that is not allowed, with its option's name and what is.
    pub fn validate(self) -> Result<Validated, SpecError> {
        let fail = |option, given: &dyn fmt::Display, allowed: &str| {
            Err(SpecError { option, given: given.to_string(), allowed: allowed.to_owned() })
        };
        let [w, h] = self.size;
        if w == 0 || h == 0 || w.checked_mul(h).is_none_or(|n| n > MAX_PIXELS) {
            return fail(
                "size",
                &format!("{w}x{h}"),
                "width and height must be at least 1 and their product at most 4294967296 (2^32) pixels",
            );
        }
        if w > u64::from(u32::MAX) || h > u64::from(u32::MAX) {
            return fail("size", &format!("{w}x{h}"), "width and height must be below 4294967296");
        }
        let pair = |v: [f64; 2]| format!("{},{}", v[0], v[1]);
        let triple = |v: DVec3| format!("{},{},{}", v.x, v.y, v.z);
        if !self.center.iter().all(|x| x.is_finite()) {
            return fail("center", &pair(self.center), "both must be finite numbers (length)");
        }
        if !self.span.iter().all(|x| x.is_finite() && *x > 0.0) {
            return fail("span", &pair(self.span), "both must be finite numbers above 0 (length)");
        }
        if !(1..=3).contains(&self.body) {
            return fail("body", &self.body, "must be 1, 2 or 3");
        }
        for mass in self.masses {
            if !mass.is_finite() || mass < 0.0 {
                return fail(
                    "masses",
                    &mass,
                    "each must be a finite number of at least 0 (0 is a test body, which feels without pulling)",
                );
            }
        }
        for p in self.positions {
            if !p.is_finite() {
                return fail("positions", &triple(p), "each must be three finite numbers (length)");
            }
        }
        for v in self.velocities {
            if !v.is_finite() {
                return fail(
                    "velocities",
                    &triple(v),
                    "each must be three finite numbers (length per time)",
                );
            }
        }
        if !self.g.is_finite() {
            return fail("g", &self.g, "must be a finite number (length^3 / mass / time^2)");
        }
        if !self.softening.is_finite() || self.softening < 0.0 {
            return fail(
                "softening",
                &self.softening,
                "must be a finite number of at least 0 (length)",
            );
        }
        if self.steps == 0 || self.steps > MAX_STEPS {
            return fail("steps", &self.steps, "must be from 1 to 4294967294");
        }
        if !self.dt.is_finite() || self.dt <= 0.0 {
            return fail("dt", &self.dt, "must be a finite number above 0 (time)");
        }
        if !self.shift.is_finite() || self.shift == DVec3::ZERO {
            return fail(
                "shift",
                &triple(self.shift),
                "must be finite numbers, at least one of them not 0 (length)",
            );
        }
        if !self.critical_distance.is_finite() || self.critical_distance <= 0.0 {
            return fail(
                "critical-distance",
                &self.critical_distance,
                "must be a finite number above 0 (length)",
            );
        }
        let others: Vec<usize> = (0..3).filter(|i| *i != usize::from(self.body) - 1).collect();
        let [a, b] = [others[0], others[1]];
        if self.softening == 0.0 && self.positions[a] == self.positions[b] {
            return fail(
                "positions",
                &triple(self.positions[a]),
                &format!(
                    "bodies {} and {} coincide; give them different positions or a --softening above 0",
                    a + 1,
                    b + 1
                ),
            );
        }
        Ok(Validated(self))
    }
}

impl Validated {
    /// The values.
    pub fn specification(&self) -> &Specification {
        &self.0
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        self.0.size.map(|n| n as u32)
    }

    /// Number of pixels (up to 2³²).
    pub fn pixels(&self) -> u64 {
        self.0.size[0] * self.0.size[1]
    }

    /// The part of the map from pixel `first` (row-major) on, `count` pixels long, as the engines take it.
    pub fn job(&self, first: u64, count: u32) -> Job {
        let s = &self.0;
        // The kernels' body 0 is the grid body; the others follow in their own order.
        let grid_body = usize::from(s.body) - 1;
        let order = match grid_body {
            0 => [0, 1, 2],
            1 => [1, 0, 2],
            _ => [2, 0, 1],
        };
        Job {
            grid: Grid {
                corner: [s.center[0] - s.span[0] / 2.0, s.center[1] - s.span[1] / 2.0],
                span: s.span,
                width: s.size[0] as u32,
                height: s.size[1] as u32,
                axes: s.plane.axes().map(|axis| axis as u32),
                positions: order.map(|body| s.positions[body].to_array()),
                velocities_dt: order.map(|body| (s.velocities[body] * s.dt).to_array()),
                shift: s.shift.to_array(),
            },
            constants: Constants::new(s.g, order.map(|body| s.masses[body]), s.dt, s.softening),
            critical2: s.critical_distance * s.critical_distance,
            first,
            count,
            steps: s.steps as u32,
        }
    }
}
