//! Bodies as plain arrays. Models and files create them, engines return them, and outputs write them.

use glam::DVec3;

/// Largest number of bodies. Indices of bodies and memory planes then fit into 32 bits on a GPU.
pub const MAX_BODIES: usize = 1 << 26;

/// Masses, positions and velocities of n bodies, in any consistent units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// n masses (mass); a body of mass 0 is attracted but does not attract.
    pub mass: Vec<f64>,
    /// n positions (length); the third coordinate is 0 in two dimensions.
    pub position: Vec<DVec3>,
    /// n velocities (length / time).
    pub velocity: Vec<DVec3>,
}

/// The median of at least one value, the upper one of an even number of them.
pub fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

impl Bodies {
    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// Adds a body.
    pub fn push(&mut self, mass: f64, position: impl Into<DVec3>, velocity: impl Into<DVec3>) {
        self.mass.push(mass);
        self.position.push(position.into());
        self.velocity.push(velocity.into());
    }

    /// Numbers of the bodies with a coordinate or velocity that is not finite, ascending.
    pub fn not_finite(&self) -> Vec<usize> {
        (0..self.len())
            .filter(|i| !(self.position[*i].is_finite() && self.velocity[*i].is_finite()))
            .collect()
    }

    /// The largest magnitude of a coordinate, or 1 if all are 0.
    pub fn farthest(&self) -> f64 {
        let far = numbers(&self.position)
            .iter()
            .fold(0.0_f64, |far, x| far.max(x.abs()));
        if far > 0.0 { far } else { 1.0 }
    }

    /// The middle of the bodies, of which there is at least one; a few that are far away do not move it.
    pub fn middle(&self) -> DVec3 {
        DVec3::from([0, 1, 2].map(|k| median(self.position.iter().map(|x| x[k]).collect())))
    }

    /// Multiplies positions and velocities.
    pub fn scale(&mut self, lengths: f64, speeds: f64) {
        self.position.iter_mut().for_each(|x| *x *= lengths);
        self.velocity.iter_mut().for_each(|v| *v *= speeds);
    }

    /// Moves the frame so that the centre of mass rests at the origin. Nothing happens without mass.
    pub fn centre(&mut self) {
        let total: f64 = self.mass.iter().sum();
        if total <= 0.0 {
            return;
        }
        for of in [&mut self.position, &mut self.velocity] {
            for d in 0..3 {
                let mean = self
                    .mass
                    .iter()
                    .zip(&*of)
                    .map(|(m, v)| m * v[d])
                    .sum::<f64>()
                    / total;
                of.iter_mut().for_each(|v| v[d] -= mean);
            }
        }
    }
}

impl<X: Into<DVec3>, V: Into<DVec3>> FromIterator<(f64, X, V)> for Bodies {
    /// The bodies of masses, positions and velocities.
    fn from_iter<I: IntoIterator<Item = (f64, X, V)>>(all: I) -> Self {
        let mut bodies = Self::default();
        for (mass, position, velocity) in all {
            bodies.push(mass, position, velocity);
        }
        bodies
    }
}

/// The components of vectors, one vector after the other, as arrays in files have them.
pub fn numbers(vectors: &[DVec3]) -> &[f64] {
    bytemuck::cast_slice(vectors)
}

/// The opposite of [`numbers`]; components that do not make a whole vector are left out.
pub fn vectors(numbers: &[f64]) -> Vec<DVec3> {
    let (vectors, _) = numbers.as_chunks::<3>();
    vectors.iter().copied().map(DVec3::from).collect()
}
