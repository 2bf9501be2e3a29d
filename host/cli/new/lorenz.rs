use trisolar_equations::*;

/// The convection model of Lorenz (1963).
#[derive(Clone, Copy, Debug, Default)]
pub struct Lorenz;

impl System for Lorenz {
    const NAME: &str = "lorenz";
    const LABEL: &str = "Lorenz 1963";
    const PARAMETERS: &[Named] = &[("sigma", 10.0), ("rho", 28.0), ("beta", 8.0 / 3.0)];
    const STATE: &[Named] = &[("x", 1.0), ("y", 1.0), ("z", 1.0)];
}

impl Flow<3, 3> for Lorenz {
    fn rhs<R: Scalar>(&self, _t: R, [x, y, z]: [R; 3], [sigma, rho, beta]: [R; 3]) -> [R; 3] {
        [sigma * (y - x), x * (rho - z) - y, x * y - beta * z]
    }
}

export!(flow Lorenz);
