//! Lagrange radii: the radii about a centre that hold fractions of the mass.

use glam::DVec3;

use super::Bodies;

/// Bodies in ascending order of their distance from a centre.
pub(super) struct Shells(Vec<(f64, f64)>);

impl Shells {
    /// The shells of these bodies. `distance` may be any function that grows with the distance, such as its square.
    pub fn new(bodies: &Bodies, distance: impl Fn(DVec3) -> f64) -> Self {
        let distances = bodies.position.iter().map(|x| distance(*x));
        let mut shells: Vec<(f64, f64)> = distances.zip(bodies.mass.iter().copied()).collect();
        shells.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(shells)
    }

    /// The mass, summed from the inside to the outside.
    pub fn mass(&self) -> f64 {
        self.0.iter().map(|(_, mass)| mass).sum()
    }

    /// The distance of the outermost body; `None` if there are no bodies.
    pub fn outermost(&self) -> Option<f64> {
        self.0.last().map(|(distance, _)| *distance)
    }

    /// For each of the ascending fractions the distance of the innermost body within which, itself included, there is that fraction of
    /// the `total` mass; `None` if there is no such body.
    pub fn holding<const N: usize>(&self, fractions: [f64; N], total: f64) -> [Option<f64>; N] {
        let (mut within, mut shells) = (0.0, self.0.iter());
        let mut reached = None;
        fractions.map(|fraction| {
            while !(within >= fraction * total && within > 0.0) {
                let (distance, mass) = shells.next()?;
                within += mass;
                reached = Some(*distance);
            }
            reached
        })
    }
}
