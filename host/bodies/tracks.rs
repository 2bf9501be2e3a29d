//! The paths of bodies through recorded states.

use glam::DVec3;

/// Positions, velocities and accelerations of some bodies at several times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracks {
    times: Vec<f64>,
    bodies: usize,
    /// `times.len()` rows of `bodies` states.
    states: Vec<[DVec3; 3]>,
}

/// How many times as long as the straight line a curve between two states may be. A longer one belongs to a body whose motion has
/// changed faster than it was recorded.
const MAX_DETOUR: f64 = 3.0;

impl Tracks {
    /// No states of this number of bodies.
    pub fn new(bodies: usize) -> Self {
        Self {
            bodies,
            ..Self::default()
        }
    }

    /// The given states, in rows that belong to the times; `None` if there are more or fewer.
    pub fn with(times: Vec<f64>, bodies: usize, states: Vec<[DVec3; 3]>) -> Option<Self> {
        let fits = times.len().checked_mul(bodies) == Some(states.len());
        fits.then_some(Self {
            times,
            bodies,
            states,
        })
    }

    /// The times, ascending.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The number of bodies.
    pub fn bodies(&self) -> usize {
        self.bodies
    }

    /// The states, row by row.
    pub fn states(&self) -> &[[DVec3; 3]] {
        &self.states
    }

    /// Adds the states of the first bodies at a later time; an earlier one is not recorded again.
    pub fn push(&mut self, time: f64, states: impl Iterator<Item = [DVec3; 3]>) {
        if self.times.last().is_none_or(|last| *last < time) {
            self.times.push(time);
            self.states.extend(states.take(self.bodies));
        }
    }

    /// Removes the states at a time, if it is the last one.
    pub fn forget(&mut self, time: f64) {
        if self.times.last() == Some(&time) {
            self.times.pop();
            self.states.truncate(self.times.len() * self.bodies);
        }
    }

    /// The times of the [`points`](Self::points): the recorded ones, and `parts` - 1 between each and the next.
    pub fn finer_times(&self, parts: usize) -> Vec<f64> {
        let between = self.times.windows(2).flat_map(|pair| {
            (0..parts).map(|k| pair[0] + (pair[1] - pair[0]) * k as f64 / parts as f64)
        });
        between.chain(self.times.last().copied()).collect()
    }

    /// The path of a body: through the recorded positions with the recorded velocities and accelerations, on polynomials of fifth
    /// degree. Where such a curve makes a detour, it is a straight line.
    pub fn points(&self, body: usize, parts: usize) -> Vec<[f64; 3]> {
        let state = |row: usize| self.states[row * self.bodies + body];
        let mut points = Vec::new();
        for (row, pair) in self.times.windows(2).enumerate() {
            let (from, to, span) = (state(row), state(row + 1), pair[1] - pair[0]);
            let straight = to[0] - from[0];
            let curve: Vec<DVec3> = (0..=parts)
                .map(|k| between(from, to, span, k as f64 / parts as f64))
                .collect();
            let long: f64 = curve.windows(2).map(|p| p[0].distance(p[1])).sum();
            let direct = long > MAX_DETOUR * straight.length();
            points.extend((0..parts).map(|k| match direct {
                true => (from[0] + straight * (k as f64 / parts as f64)).to_array(),
                false => curve[k].to_array(),
            }));
        }
        if let Some(last) = self.times.len().checked_sub(1) {
            points.push(state(last)[0].to_array());
        }
        points
    }
}

/// The position after the fraction `s` of a span between two states: Hermite's interpolation of fifth degree.
fn between(from: [DVec3; 3], to: [DVec3; 3], span: f64, s: f64) -> DVec3 {
    let [x0, x1] = [from[0], to[0]];
    let [v0, v1] = [from[1], to[1]].map(|v| v * span);
    let [a0, a1] = [from[2], to[2]].map(|a| a * span * span);
    let (s2, s3) = (s * s, s * s * s);
    let (s4, s5) = (s2 * s2, s2 * s3);
    let (b3, b4, b5) = (
        10.0 * s3 - 15.0 * s4 + 6.0 * s5,
        -4.0 * s3 + 7.0 * s4 - 3.0 * s5,
        0.5 * s3 - s4 + 0.5 * s5,
    );
    let (c1, c2) = (
        s - 6.0 * s3 + 8.0 * s4 - 3.0 * s5,
        0.5 * s2 - 1.5 * s3 + 1.5 * s4 - 0.5 * s5,
    );
    x0 + (x1 - x0) * b3 + v0 * c1 + v1 * b4 + a0 * c2 + a1 * b5
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body on a circle of radius 1 with the angular velocity 1.
    fn circle(time: f64) -> [DVec3; 3] {
        let (sin, cos) = time.sin_cos();
        [
            DVec3::new(cos, sin, 0.0),
            DVec3::new(-sin, cos, 0.0),
            DVec3::new(-cos, -sin, 0.0),
        ]
    }

    #[test]
    fn few_states_make_a_circle() {
        let mut tracks = Tracks::new(2);
        for k in 0..4 {
            let time = 2.0 * f64::from(k);
            tracks.push(time, [circle(time), circle(-time), circle(7.0)].into_iter());
            // The states of a time that is recorded already are left out.
            tracks.push(time, std::iter::empty());
        }
        let (times, points) = (tracks.finer_times(10), tracks.points(0, 10));
        assert_eq!(
            (times.len(), points.len(), tracks.states().len()),
            (31, 31, 8)
        );
        for (time, point) in times.iter().zip(&points) {
            let off = DVec3::from(*point).distance(circle(*time)[0]);
            assert!(off < 3e-3, "{time}: {off}");
        }
        assert_eq!(points[10], circle(2.0)[0].to_array());
        let same = Tracks::with(tracks.times().to_vec(), 2, tracks.states().to_vec());
        assert_eq!(same.as_ref(), Some(&tracks));
        assert_eq!(Tracks::with(vec![0.0], 2, Vec::new()), None);
    }

    #[test]
    fn a_motion_that_was_recorded_too_seldom_is_drawn_straight() {
        let mut tracks = Tracks::new(1);
        for k in 0..2 {
            let place = DVec3::new(f64::from(k), 0.0, 0.0);
            let state = [place, DVec3::new(0.0, 100.0, 0.0), DVec3::ZERO];
            tracks.push(f64::from(k), std::iter::once(state));
        }
        assert_eq!(
            tracks.points(0, 2),
            [[0.0; 3], [0.5, 0.0, 0.0], [1.0, 0.0, 0.0]]
        );
    }
}
