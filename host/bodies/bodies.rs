//! Bodies as plain arrays. Models and files create them, engines return them, and outputs write them.

/// Largest number of bodies. Indices of bodies and memory planes then fit into 32 bits on a GPU.
pub const MAX_BODIES: usize = 1 << 26;

/// Masses, positions and velocities of n bodies, in any consistent units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bodies {
    /// n masses (mass); a body of mass 0 is attracted but does not attract.
    pub mass: Vec<f64>,
    /// n positions (length); the third coordinate is 0 in two dimensions.
    pub position: Vec<[f64; 3]>,
    /// n velocities (length / time).
    pub velocity: Vec<[f64; 3]>,
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
    pub fn push(&mut self, mass: f64, position: [f64; 3], velocity: [f64; 3]) {
        self.mass.push(mass);
        self.position.push(position);
        self.velocity.push(velocity);
    }

    /// Numbers of the bodies with a coordinate or velocity that is not finite, ascending.
    pub fn not_finite(&self) -> Vec<usize> {
        let finite = |v: &[f64; 3]| v.iter().all(|x| x.is_finite());
        (0..self.len())
            .filter(|i| !(finite(&self.position[*i]) && finite(&self.velocity[*i])))
            .collect()
    }

    /// The largest magnitude of a coordinate, or 1 if all are 0.
    pub fn farthest(&self) -> f64 {
        let far = self
            .position
            .iter()
            .flatten()
            .fold(0.0_f64, |far, x| far.max(x.abs()));
        if far > 0.0 { far } else { 1.0 }
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
