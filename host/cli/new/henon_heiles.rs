use trisolar_equations::*;

/// The motion of a star in a galaxy, of Henon and Heiles (1964).
#[derive(Clone, Copy, Debug, Default)]
pub struct HenonHeiles;

impl System for HenonHeiles {
    const NAME: &str = "henon-heiles";
    const LABEL: &str = "Henon and Heiles 1964";
    const PARAMETERS: &[Named] = &[("energy", 1.0 / 8.0)];
    // px follows from the energy, unless it is given.
    const STATE: &[Named] = &[("x", 0.0), ("y", -0.25), ("px", f64::NAN), ("py", 0.0)];
    const END: f64 = 500.0;
    const STEP: f64 = 0.1;
}

impl Hamiltonian<2, 1> for HenonHeiles {
    fn velocities<R: Scalar>(&self, momenta: [R; 2], _: [R; 1]) -> [R; 2] {
        momenta
    }

    fn forces<R: Scalar>(&self, [x, y]: [R; 2], _: [R; 1]) -> [R; 2] {
        [-x - x * y * 2.0, -y - x * x + y * y]
    }

    fn begin<R: Scalar>(
        &self,
        [x, y]: [R; 2],
        [px, py]: [R; 2],
        [energy]: [R; 1],
    ) -> ([R; 2], [R; 2]) {
        let potential = (x * x + y * y) * 0.5 + x * x * y - y * y * y / 3.0;
        let square = (energy - potential) * 2.0 - py * py;
        ([x, y], [px.or(square.sqrt()), py])
    }
}

export!(hamiltonian HenonHeiles);
