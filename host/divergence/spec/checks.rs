//! The checks of a specification: every value, their combinations, and what the engines derive from them.

use glam::DVec3;
use kernels_gpu::Real as _;
use kernels_gpu::number::{DoubleDouble, Long};
use kernels_gpu::physics::three_body::{MassTerms, Relative};

use super::{MAX_PIXELS, MAX_SEED, MAX_STEPS, Specification, Validated};
use crate::method::{Precision, Start};
use trisolar_bodies::start::doubtful_energies;
use trisolar_spec::{Integrator, SpecError};

/// The relative change by rounding up to which there is no warning.
const MOST_ROUNDING: f64 = 0.01;

impl Specification {
    pub(super) fn check_map(&self) -> Result<(), SpecError> {
        let [w, h] = self.size;
        let side = 1..=u64::from(u32::MAX);
        if !side.contains(&w) || !side.contains(&h) || w * h > MAX_PIXELS {
            let allowed = "width and height must be from 1 to 4294967295, and their product at most 4294967296 \
                           (2^32) pixels";
            return Err(SpecError::new("size", format!("{w}x{h}"), allowed));
        }
        if !self.center.nearest().iter().all(|x| x.is_finite()) {
            let allowed = "both must be finite numbers (length)";
            let given = list(&self.center.nearest());
            return Err(SpecError::new("center", given, allowed));
        }
        if !self.span.iter().all(|x| x.is_finite() && *x > 0.0) {
            let allowed = "must be finite and above 0 along both axes (length)";
            return Err(SpecError::new("span", list(&self.span), allowed));
        }
        if self.seed > MAX_SEED {
            let allowed = "must be a whole number from 0 to 9223372036854775807";
            return Err(SpecError::new("seed", self.seed, allowed));
        }
        if !(1..=3).contains(&self.body) {
            return Err(SpecError::new("body", self.body, "must be 1, 2 or 3"));
        }
        Ok(())
    }

    pub(super) fn check_bodies(&self) -> Result<(), SpecError> {
        if !self.masses.iter().all(|m| m.is_finite() && *m >= 0.0) {
            let allowed = "each must be a finite number of at least 0 (0 is a test body, which is attracted without \
                           pulling)";
            return Err(SpecError::new("masses", list(&self.masses), allowed));
        }
        if !self.positions.iter().all(|p| p.is_finite()) {
            let allowed = "each body needs three finite numbers (length)";
            return Err(SpecError::new(
                "positions",
                vectors(&self.positions),
                allowed,
            ));
        }
        if !self.velocities.iter().all(|v| v.is_finite()) {
            let allowed = "each body needs three finite numbers (length / time)";
            return Err(SpecError::new(
                "velocities",
                vectors(&self.velocities),
                allowed,
            ));
        }
        if self.softening != 0.0 && !(self.softening > 0.0 && square_is_normal(self.softening)) {
            let allowed =
                "must be 0 or from 1.5e-154 to 1.3e154, so that its square is a number (length)";
            return Err(SpecError::new("softening", self.softening, allowed));
        }
        Ok(())
    }

    pub(super) fn check_stepping(&self) -> Result<(), SpecError> {
        if !self.g.is_finite() {
            let allowed = "must be a finite number (length^3 / mass / time^2)";
            return Err(SpecError::new("g", self.g, allowed));
        }
        if self.steps == 0 || self.steps > MAX_STEPS {
            return Err(SpecError::new(
                "steps",
                self.steps,
                "must be from 1 to 4294967294",
            ));
        }
        if !(self.dt.is_finite() && self.dt > 0.0) {
            return Err(SpecError::new(
                "dt",
                self.dt,
                "must be a finite number above 0 (time)",
            ));
        }
        if !self.shift.is_finite() || self.shift == DVec3::ZERO {
            let allowed = "must be finite numbers, at least one of them not 0 (length)";
            return Err(SpecError::new(
                "shift",
                list(&self.shift.to_array()),
                allowed,
            ));
        }
        if !(self.critical_distance > 0.0 && square_is_normal(self.critical_distance)) {
            let allowed =
                "must be from 1.5e-154 to 1.3e154, so that its square is a number (length)";
            return Err(SpecError::new(
                "critical-distance",
                self.critical_distance,
                allowed,
            ));
        }
        Ok(())
    }

    pub(super) fn check_method(&self) -> Result<(), SpecError> {
        let quantity = self.quantity;
        let has = |p: Precision, i: Integrator| quantity.has_method(p.kind(), i.name());
        let any = |p: &Precision| Integrator::ALL.iter().any(|i| has(*p, *i));
        if !any(&self.precision) {
            let names = Precision::ALL.into_iter().filter(any).map(Precision::kind);
            let allowed = format!(
                "with --quantity {quantity} it must be {}",
                names.collect::<Vec<_>>().join(" or ")
            );
            return Err(SpecError::new("precision", self.precision, allowed));
        }
        let has = |i: &Integrator| has(self.precision, *i);
        if !has(&self.integrator) {
            let names = Integrator::ALL.iter().filter(|i| has(i)).map(|i| i.name());
            let allowed = format!(
                "with --precision {} it must be {}",
                self.precision,
                names.collect::<Vec<_>>().join(" or ")
            );
            return Err(SpecError::new("integrator", self.integrator, allowed));
        }
        if self.start != Start::Euler && !self.integrator.is_multistep() {
            let allowed = format!(
                "is for adams-bashforth-2 and adams-bashforth-4; --integrator {} needs none",
                self.integrator
            );
            return Err(SpecError::new("start", self.start.name(), allowed));
        }
        self.check_own_steps()
    }

    /// The conditions under which an integrator with steps of its own works.
    fn check_own_steps(&self) -> Result<(), SpecError> {
        let integrator = self.integrator;
        let Some(number) = self.own_steps_per_period() else {
            return match self.steps_per_period {
                None => Ok(()),
                Some(given) => {
                    let allowed = format!(
                        "is for the regularised integrators; --integrator {integrator} takes steps of --dt"
                    );
                    Err(SpecError::new("steps-per-period", given, allowed))
                }
            };
        };
        if !(5.0..=1e6).contains(&number) {
            let allowed = "must be from 5 to 1e6";
            return Err(SpecError::new("steps-per-period", number, allowed));
        }
        if self.softening != 0.0 {
            let allowed = format!("must be 0 with --integrator {integrator}");
            return Err(SpecError::new("softening", self.softening, allowed));
        }
        if self.g <= 0.0 {
            let allowed = format!("must be above 0 with --integrator {integrator}");
            return Err(SpecError::new("g", self.g, allowed));
        }
        self.check_pulling(&self.masses)
    }

    /// Integrators with steps of their own need three bodies that attract each other.
    fn check_pulling(&self, masses: &[f64; 3]) -> Result<(), SpecError> {
        if self.integrator.steps_per_period().is_none() || masses.iter().all(|m| *m > 0.0) {
            return Ok(());
        }
        let allowed = format!("must all be above 0 with --integrator {}", self.integrator);
        Err(SpecError::new("masses", list(masses), allowed))
    }

    /// The numbers that the engines derive from masses must be finite and must not vanish.
    fn check_mass_terms(&self, masses: &[f64; 3]) -> Result<(), SpecError> {
        self.check_pulling(masses)?;
        if !masses.iter().sum::<f64>().is_finite() {
            let allowed = "their sum must be a finite number";
            return Err(SpecError::new("masses", list(masses), allowed));
        }
        for (body, gm) in self.order().into_iter().zip(self.gm_dt2(masses)) {
            let vanishes = gm == 0.0 && self.g != 0.0 && masses[body] != 0.0;
            if !gm.is_finite() || vanishes || gm.is_subnormal() {
                let allowed = format!(
                    "--g times mass times --dt^2 must be from 2.3e-308 to 1.7e308, and is {gm:e} for body {}",
                    body + 1
                );
                return Err(SpecError::new("dt", self.dt, allowed));
            }
        }
        let terms = MassTerms::new(self.strengths(masses), self.softening);
        if !terms.minus_sum.iter().all(|x| x[0].is_finite()) {
            let allowed = "--g times the sum of masses times --dt^2 must be at most 1.7e308";
            return Err(SpecError::new("dt", self.dt, allowed));
        }
        Ok(())
    }
}

impl Validated {
    /// Pixels that together contain the extreme start positions of the map; all pixels if they are points, of those that are made when
    /// they are needed the corners and some thousands, because there may be 2^32.
    fn telling_pixels(&self) -> Box<dyn Iterator<Item = u64>> {
        const MOST: u64 = 5000;
        let (pixels, width) = (self.pixels(), self.specification.size[0]);
        match &self.points {
            Some(points) if points.are_made() => {
                let corners = [0, width - 1, pixels - width, pixels - 1];
                Box::new(
                    (0..pixels)
                        .step_by(pixels.div_ceil(MOST) as usize)
                        .chain(corners),
                )
            }
            Some(_) => Box::new(0..pixels),
            None => Box::new([0, self.pixels() - 1].into_iter()),
        }
    }

    /// The error for positions at a pixel, or everywhere on the map.
    fn misplaced(&self, pixel: u64, allowed: impl Into<String>) -> SpecError {
        match &self.points {
            Some(_) => SpecError::new("points", format!("point {pixel}"), allowed),
            None => SpecError::new("positions", vectors(&self.specification.positions), allowed),
        }
    }

    /// Without softening the bodies besides the grid body must not coincide.
    pub(super) fn check_apart(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        let [_, a, b] = s.order();
        for pixel in self.telling_pixels() {
            let positions = match &self.points {
                Some(points) => s.state_of(points, pixel as usize)[0],
                None => s.positions,
            };
            if s.softening == 0.0 && positions[a] == positions[b] {
                let allowed = format!(
                    "bodies {} and {} coincide; give them different positions or a --softening above 0",
                    a.min(b) + 1,
                    a.max(b) + 1
                );
                return Err(self.misplaced(pixel, allowed));
            }
        }
        Ok(())
    }

    /// Warnings before the map is computed: the map can be computed, but may not be what the user intended.
    pub fn warnings(&self) -> Vec<String> {
        let s = &self.specification;
        let mut found = Vec::new();
        let pixel = [0, 1].map(|k| s.span[k] / s.size[k] as f64);
        if self.points.is_none() && (pixel[0] / pixel[1] - 1.0).abs() > 1e-6 {
            found.push(format!(
                "pixels are not square: their lengths along the two axes have the ratio {:.4}; --span with one \
                 number makes them square",
                pixel[0] / pixel[1]
            ));
        }
        let twins = s.quantity.has_twins();
        if twins && s.shift.length() > s.critical_distance {
            found.push(format!(
                "the twins start {} apart, beyond the critical distance of {}: every pixel has parted before its \
                 first step",
                s.shift.length(),
                s.critical_distance
            ));
        }
        let [shift, velocities] = self.rounding();
        if twins && shift > MOST_ROUNDING {
            found.push(format!(
                "rounding changes the shift by up to {:.0} %, because the shift is close to the resolution of the positions in {}",
                shift * 100.0,
                s.precision
            ));
        }
        if velocities > MOST_ROUNDING {
            found.push(format!(
                "rounding changes the start velocities by up to {:.0} %, because the way of a body in a step is close to the \
                 resolution of the positions in {}; use a larger --dt or more bits",
                velocities * 100.0,
                s.precision
            ));
        }
        for (k, axis) in s.plane.axes().into_iter().enumerate() {
            if self.points.is_none() && s.size[k] > 1 && self.finest_step(k) == 0.0 {
                let name = ["x", "y", "z"][axis];
                found.push(format!(
                    "neighbouring pixels start at the same {name}: the span is at the limit of the numbers of {}",
                    s.precision
                ));
            }
        }
        found.extend(self.doubtful_energies());
        found
    }

    /// Why masses and velocities hardly belong together, if that is so at the corners of the map and in its middle, or at all of its first
    /// points.
    fn doubtful_energies(&self) -> Option<String> {
        let s = &self.specification;
        let (order, grid) = (s.order(), self.job_in_lengths(0, 1).grid);
        let [width, height] = s.size;
        let corner = |x: u64, y: u64| y * width + x;
        let (right, bottom) = (width - 1, height - 1);
        let pixels = match self.points {
            Some(_) => (0..self.pixels().min(1000)).collect(),
            None => vec![
                corner(0, 0),
                corner(right, 0),
                corner(0, bottom),
                corner(right, bottom),
                corner(right / 2, bottom / 2),
            ],
        };
        let mut found = None;
        for pixel in pixels {
            let own = self.points.as_ref();
            let point = own.map(|points| self.point_in_lengths(points, pixel));
            let point = point.unwrap_or_else(|| grid.point(pixel));
            let masses = own.and_then(|points| points.masses(pixel as usize));
            let masses = masses.unwrap_or(s.masses);
            let bodies =
                (0..3).map(|k| (masses[order[k]], point.positions[k], point.velocities[k]));
            found = Some(doubtful_energies(&bodies.collect(), s.g, s.softening)?);
        }
        found
    }

    /// The largest relative change of a component of the shift, and of a start velocity, by rounding in the map's precision.
    fn rounding(&self) -> [f64; 2] {
        let s = &self.specification;
        let unit = self.unit();
        let rounded = |x: f64| s.precision.rounded(x * unit) / unit;
        let absolute = (0..3).map(|axis| {
            let farthest = self.extremes(axis)[1];
            (self.moved(farthest, s.shift[axis]), s.shift[axis])
        });
        let mut shifts: Vec<(f64, f64)> = absolute.collect();
        let mut ways = Vec::new();
        let job = self.job_in_lengths(0, 1);
        for pixel in self.telling_pixels() {
            let [system, twin] = self.twins::<f64>(&job, pixel);
            let of = |r: &Relative<f64>| [r.a, r.b].map(|v| [v.x, v.y, v.z]);
            let [from, to] = [system, twin].map(|start| of(&start.positions));
            // What moves the grid body changes the relative positions of the others by the contrary. In double-double that loses nothing
            // which the position itself does not lose.
            for (from, to) in from.iter().zip(&to).filter(|_| !self.is_wide()) {
                let moved = |k: usize| rounded(from[k]) - rounded(to[k]);
                shifts.extend((0..3).map(|k| (moved(k), s.shift[k])));
            }
            let steps = of(&system.steps).into_iter().flatten();
            ways.extend(steps.map(|way| (rounded(way), way)));
        }
        [shifts, ways].map(|pairs| {
            let losses = pairs
                .iter()
                .map(|(is, given)| (is - given).abs() / given.abs());
            losses.filter(|loss| loss.is_finite()).fold(0.0, f64::max)
        })
    }

    /// Whether numbers have more digits than `f64`.
    fn is_wide(&self) -> bool {
        self.specification.precision == Precision::DoubleDouble
    }

    /// How far a coordinate moves if this is added to it, by the engines' numbers.
    fn moved(&self, coordinate: Long, by: f64) -> f64 {
        if self.is_wide() {
            let from = DoubleDouble::<f64>::from_long(coordinate);
            ((from + DoubleDouble::from_f64(by)) - from).to_f64(0)
        } else {
            (coordinate[0] + by) - coordinate[0]
        }
    }

    /// Whether rounding changes neither the shift nor the distance of neighbouring pixels by more than a hundredth.
    pub(super) fn is_resolved(&self) -> bool {
        let s = &self.specification;
        let even = (0..2).all(|k| {
            let step = s.span[k] / s.size[k] as f64;
            s.size[k] == 1 || (self.finest_step(k) - step).abs() <= MOST_ROUNDING * step
        });
        (even
            || self
                .points
                .as_ref()
                .is_some_and(|points| !points.are_made()))
            && (!s.quantity.has_twins() || self.rounding()[0] <= MOST_ROUNDING)
    }

    /// The numbers that the engines derive from the values must be finite and must not vanish.
    pub(super) fn check_derived(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        let job = self.job_in_lengths(0, 1);
        for k in 0..2 {
            let [low, _] = job.grid.corner[k];
            let ends = [low, low + s.span[k]];
            let shift = s.shift[s.plane.axes()[k]];
            if !ends
                .iter()
                .all(|x| x.is_finite() && (x + shift).is_finite())
            {
                let allowed = "the edges of the map, --center -/+ half of it, must be finite numbers (length)";
                return Err(SpecError::new("span", list(&s.span), allowed));
            }
        }
        let normal = s.plane.normal();
        if !(s.positions[s.order()[0]][normal] + s.shift[normal]).is_finite() {
            let allowed = "added to the grid body's position it must be a finite number (length)";
            return Err(SpecError::new("shift", list(&s.shift.to_array()), allowed));
        }
        for pixel in self.telling_pixels() {
            let [system, twin] = self.twins::<f64>(&job, pixel);
            let finite = |r: Relative<f64>| {
                [r.a, r.b]
                    .iter()
                    .all(|v| [v.x, v.y, v.z].iter().all(|x| x.is_finite()))
            };
            if !finite(system.steps) {
                let allowed = "velocities relative to each other and times --dt must be finite numbers (length)";
                if self.points.is_some() {
                    return Err(self.misplaced(pixel, allowed));
                }
                return Err(SpecError::new(
                    "velocities",
                    vectors(&s.velocities),
                    allowed,
                ));
            }
            if !finite(system.positions) || !finite(twin.positions) {
                let allowed = "all distances must be finite numbers (length)";
                return Err(self.misplaced(pixel, allowed));
            }
        }
        let own = |pixel: u64| self.points.as_ref()?.masses(pixel as usize);
        if own(0).is_none() {
            return s.check_mass_terms(&s.masses);
        }
        for pixel in self.telling_pixels() {
            let checked = s.check_mass_terms(&own(pixel).unwrap_or(s.masses));
            checked.map_err(|e| {
                let given = format!("point {pixel}");
                SpecError::new("points", given, format!("its masses: {}", e.allowed))
            })?;
        }
        Ok(())
    }

    /// The shift must not vanish in rounding at every pixel, because the twins would then be equal.
    pub(super) fn check_shift(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        if !s.quantity.has_twins() {
            return Ok(());
        }
        let moves = |axis: usize, p: Long| self.moved(p, s.shift[axis]) != 0.0;
        let somewhere = (0..3).any(|axis| self.extremes(axis).into_iter().any(|p| moves(axis, p)));
        if somewhere {
            return Ok(());
        }
        let wider = match s.in_double_double() {
            Some(_) => " or --precision double-double",
            None => "",
        };
        let allowed = format!(
            "is lost in rounding: added to the grid body's position it changes nothing, anywhere on the map; give a larger one{wider}"
        );
        Err(SpecError::new("shift", list(&s.shift.to_array()), allowed))
    }

    /// Start positions, velocities and the critical distance must be within the range of the precision, and leave some room
    /// to move.
    pub(super) fn check_range(&self) -> Result<(), SpecError> {
        let s = &self.specification;
        // Numbers may be larger, but r⁻³ must have all of its digits.
        let single = matches!(s.precision, Precision::F32 | Precision::FloatFloat);
        let most = if single { 1e12 } else { 1e100 };
        let [largest, critical] = s.precision.largest().map(|length| length / self.unit());
        let largest = largest.min(most);
        let [_, a, b] = s.order();
        if single && self.points.is_none() && s.softening < 1.0 / largest {
            let apart = s.positions[a].distance(s.positions[b]);
            if apart < 1.0 / largest {
                let allowed = format!(
                    "bodies {} and {} are {apart:e} apart, and --precision {} has no forces below {:e}; choose other units",
                    a.min(b) + 1,
                    a.max(b) + 1,
                    s.precision,
                    1.0 / largest
                );
                return Err(SpecError::new("positions", vectors(&s.positions), allowed));
            }
        }
        if single {
            let masses = self.points.as_ref().and_then(|points| points.masses(0));
            let masses = masses.unwrap_or(s.masses);
            let gm = s
                .gm_dt2(&masses)
                .into_iter()
                .map(f64::abs)
                .fold(0.0, f64::max);
            if gm != 0.0 && !(gm as f32).is_normal() {
                let allowed = format!(
                    "--g times the largest mass times --dt^2 is {gm:e}, and must be from 1.2e-38 to 3.4e38 with --precision {}",
                    s.precision
                );
                return Err(SpecError::new("dt", s.dt, allowed));
            }
        }
        let fail = |option, given: String, what: &str, limit: f64| {
            let allowed = format!(
                "--precision {} can hold {what} up to {limit:e}",
                s.precision
            );
            Err(SpecError::new(option, given, allowed))
        };
        let job = self.job_in_lengths(0, 1);
        for pixel in self.telling_pixels() {
            let [system, twin] = self.twins::<f64>(&job, pixel);
            let beyond = |r: Relative<f64>| {
                [r.a, r.b]
                    .iter()
                    .any(|v| [v.x, v.y, v.z].iter().any(|x| x.abs() > largest))
            };
            let [far, fast] = [
                beyond(system.positions) || beyond(twin.positions),
                beyond(system.steps),
            ];
            if (far || fast) && self.points.is_some() {
                let what = if far {
                    "distances"
                } else {
                    "velocities times --dt"
                };
                return fail("points", format!("point {pixel}"), what, largest);
            }
            if far {
                return fail("positions", vectors(&s.positions), "distances", largest);
            }
            if fast {
                return fail(
                    "velocities",
                    vectors(&s.velocities),
                    "velocities times --dt",
                    largest,
                );
            }
        }
        if s.critical_distance > critical {
            return fail(
                "critical-distance",
                s.critical_distance.to_string(),
                "it",
                critical,
            );
        }
        Ok(())
    }

    /// Start coordinate of column or row (`k` = 0 or 1) `index`.
    fn coordinate(&self, k: usize, index: u64) -> Long {
        let s = &self.specification;
        let pixel = if k == 0 { index } else { index * s.size[0] };
        self.job_in_lengths(0, 1).grid.place(pixel)[s.plane.axes()[k]]
    }

    /// The grid body's start coordinates nearest to 0 and farthest from it along an axis.
    fn extremes(&self, axis: usize) -> [Long; 2] {
        let s = &self.specification;
        let grid_body = s.order()[0];
        if let Some(points) = &self.points {
            let all = self.telling_pixels().map(|i| {
                let position = s.state_of(points, i as usize)[0][grid_body];
                [position[axis], points.rest(i as usize)[axis]]
            });
            return nearest_and_farthest(all);
        }
        let Some(k) = s.plane.axes().into_iter().position(|a| a == axis) else {
            return [[s.positions[grid_body][axis], 0.0]; 2];
        };
        let last = s.size[k] - 1;
        let zero = ((0.5 - s.center[k] / s.span[k]) * s.size[k] as f64)
            .round()
            .clamp(0.0, last as f64) as u64;
        let near = [
            0,
            last,
            zero,
            zero.saturating_sub(1),
            last.min(zero.saturating_add(1)),
        ];
        nearest_and_farthest(near.into_iter().map(|index| self.coordinate(k, index)))
    }

    /// The smaller difference of two neighbours' coordinates at the two ends of axis `k`, in the map's precision (length).
    fn finest_step(&self, k: usize) -> f64 {
        let last = self.specification.size[k] - 1;
        let unit = self.unit();
        let rounded = |x: f64| self.specification.precision.rounded(x * unit) / unit;
        let step = |i: u64| {
            let [from, to] = [self.coordinate(k, i), self.coordinate(k, i + 1)];
            if self.is_wide() {
                let wide = DoubleDouble::<f64>::from_difference(to, from);
                wide.to_f64(0).abs()
            } else {
                (rounded(to[0]) - rounded(from[0])).abs()
            }
        };
        step(0).min(step(last - 1))
    }
}

/// The numbers nearest to 0 and farthest from it.
fn nearest_and_farthest(numbers: impl Iterator<Item = Long>) -> [Long; 2] {
    numbers.fold([[f64::INFINITY, 0.0], [0.0; 2]], |[near, far], x| {
        [
            if x[0].abs() < near[0].abs() { x } else { near },
            if x[0].abs() > far[0].abs() { x } else { far },
        ]
    })
}

fn square_is_normal(x: f64) -> bool {
    (x * x).is_normal()
}

/// Formats numbers as on the command line.
fn list(numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
    words.join(",")
}

/// Formats vectors as on the command line.
fn vectors(vectors: &[DVec3]) -> String {
    let words: Vec<String> = vectors.iter().map(|v| list(&v.to_array())).collect();
    words.join(":")
}
