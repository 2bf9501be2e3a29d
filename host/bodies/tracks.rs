//! The paths of bodies through recorded states.

use glam::DVec3;

use super::io::IoError;
use super::io::npz::{NpzReader, NpzWriter};

/// Positions, velocities and accelerations of some bodies at several times. Accelerations that are not known are not numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracks {
    times: Vec<f64>,
    bodies: usize,
    /// `times.len()` rows of `bodies` states.
    states: Vec<[DVec3; 3]>,
}

/// How many times as long as the straight line the way of a body between two states may be, by its speed at both. A longer one belongs to
/// a body whose motion has changed faster than it was recorded: on a circle, by 150 degrees.
const MAX_DETOUR: f64 = 1.4;
/// The share of such ways above which a path cannot be drawn.
const MAX_UNKNOWN: f64 = 0.02;
/// Largest number of times of up to 100 bodies, beyond which every second one is forgotten.
const MAX_TIMES: usize = 1 << 17;

/// The largest number of times of so many bodies: paths of more than 100 bodies take no more memory than those of 100.
pub const fn most_times(bodies: usize) -> usize {
    match bodies {
        0..=100 => MAX_TIMES,
        _ => MAX_TIMES * 100 / bodies,
    }
}

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

    /// Whether the motion of a body was recorded often enough for its path to be drawn.
    pub fn is_drawable(&self, body: usize) -> bool {
        let ways = self.ways(body);
        let unknown = ways.filter(|(from, to, span)| !is_known(from, to, *span));
        unknown.count() as f64 <= MAX_UNKNOWN * self.times.len() as f64
    }

    /// The states of a body before and after each span of time.
    fn ways(&self, body: usize) -> impl Iterator<Item = ([DVec3; 3], [DVec3; 3], f64)> {
        let state = move |row: usize| self.states[row * self.bodies + body];
        let spans = self.times.windows(2).enumerate();
        spans.map(move |(row, pair)| (state(row), state(row + 1), pair[1] - pair[0]))
    }

    /// The path of a body: through the recorded positions with the recorded velocities and accelerations, on polynomials of fifth degree,
    /// or of third degree where accelerations are not known. It is a straight line where the motion changed faster than it was recorded.
    pub fn points(&self, body: usize, parts: usize) -> Vec<[f64; 3]> {
        let mut points = Vec::new();
        for (from, to, span) in self.ways(body) {
            let known = is_known(&from, &to, span);
            points.extend((0..parts).map(|k| match k as f64 / parts as f64 {
                s if known => between(from, to, span, s).to_array(),
                s => (from[0] + (to[0] - from[0]) * s).to_array(),
            }));
        }
        if let Some(last) = self.times.len().checked_sub(1) {
            points.push(self.states[last * self.bodies + body][0].to_array());
        }
        points
    }

    /// Forgets every second time if there are too many, and says whether it did.
    pub fn thin(&mut self) -> bool {
        if self.times.len() <= most_times(self.bodies) {
            return false;
        }
        let (times, bodies) = (std::mem::take(&mut self.times), self.bodies);
        self.times = times.into_iter().step_by(2).collect();
        for row in 1..self.times.len() {
            let from = 2 * row * bodies;
            self.states.copy_within(from..from + bodies, row * bodies);
        }
        self.states.truncate(self.times.len() * bodies);
        true
    }

    /// Writes the states into an npz file.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn write(&self, file: &mut NpzWriter) -> Result<(), IoError> {
        let rows = self.times.len();
        let states: Vec<f64> = (self.states.iter().flatten())
            .flat_map(|v| v.to_array())
            .collect();
        file.array("track_times", &[rows], &self.times)?;
        file.array("tracks", &[rows, self.bodies, 9], &states)
    }

    /// The states that [`write`](Self::write) wrote, if the file has any, or what is wrong with them.
    ///
    /// # Errors
    /// [`IoError`].
    pub fn read(file: &mut NpzReader) -> Result<Option<Result<Self, String>>, IoError> {
        if !file.has("tracks.npy") {
            return Ok(None);
        }
        let times = file.array::<f64>("track_times")?.values;
        let states = file.array::<f64>("tracks")?;
        let [rows, bodies, 9] = states.shape[..] else {
            let reason = format!("tracks must be times x n x 9, it is {:?}", states.shape);
            return Ok(Some(Err(reason)));
        };
        let states = states.values.chunks_exact(9);
        let states = states.map(|n| [0, 3, 6].map(|k| DVec3::new(n[k], n[k + 1], n[k + 2])));
        let tracks = Self::with(times, bodies, states.collect());
        let reason = || format!("tracks has {rows} rows, and track_times not as many");
        Ok(Some(tracks.ok_or_else(reason)))
    }
}

/// Whether the way between two states is not much longer than the straight line.
fn is_known(from: &[DVec3; 3], to: &[DVec3; 3], span: f64) -> bool {
    let way = (from[1].length() + to[1].length()) / 2.0 * span.abs();
    way <= MAX_DETOUR * from[0].distance(to[0])
}

/// The position after the fraction `s` of a span between two states: Hermite's interpolation of fifth degree.
fn between(from: [DVec3; 3], to: [DVec3; 3], span: f64, s: f64) -> DVec3 {
    let [x0, x1] = [from[0], to[0]];
    let [v0, v1] = [from[1], to[1]].map(|v| v * span);
    let [mut a0, mut a1] = [from[2], to[2]].map(|a| a * span * span);
    if a0.is_nan() || a1.is_nan() {
        // Those of the polynomial of third degree.
        let way = 6.0 * (x1 - x0);
        (a0, a1) = (way - 4.0 * v0 - 2.0 * v1, 2.0 * v0 + 4.0 * v1 - way);
    }
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

    #[test]
    fn positions_and_velocities_alone_make_a_circle_as_well() {
        let mut tracks = Tracks::new(1);
        for k in 0..=12 {
            let time = std::f64::consts::TAU / 12.0 * f64::from(k);
            let [x, v, _] = circle(time);
            tracks.push(time, std::iter::once([x, v, DVec3::NAN]));
        }
        let (times, points) = (tracks.finer_times(8), tracks.points(0, 8));
        for (time, point) in times.iter().zip(&points) {
            let off = DVec3::from(*point).distance(circle(*time)[0]);
            assert!(off < 3e-4, "{time}: {off}");
        }
        assert!(tracks.is_drawable(0));
    }

    #[test]
    fn a_body_that_turns_between_its_records_cannot_be_drawn() {
        let mut tracks = Tracks::new(2);
        for k in 0..50 {
            // The second body goes around once from one record to the next, and a little farther.
            let (slow, fast) = (0.1 * f64::from(k), 6.4 * f64::from(k));
            let [x, v, a] = circle(fast);
            tracks.push(slow, [circle(slow), [x, 64.0 * v, 4096.0 * a]].into_iter());
        }
        assert_eq!([0, 1].map(|body| tracks.is_drawable(body)), [true, false]);
    }

    #[test]
    fn too_many_times_are_thinned() {
        let mut tracks = Tracks::new(2);
        for k in 0..=MAX_TIMES {
            let time = k as f64;
            assert!(!tracks.thin());
            let state = |x: f64| [DVec3::splat(x), DVec3::ZERO, DVec3::ZERO];
            tracks.push(time, [state(time), state(-time)].into_iter());
        }
        assert!(tracks.thin());
        assert_eq!(tracks.times().len(), MAX_TIMES / 2 + 1);
        for (row, time) in tracks.times().iter().enumerate() {
            assert_eq!(*time, 2.0 * row as f64);
            assert_eq!(tracks.states()[2 * row + 1][0].x, -*time);
        }
    }
}
