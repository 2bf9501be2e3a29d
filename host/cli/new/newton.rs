use trisolar_equations::*;

/// Newton's method for the equation z³ = 1: which root does it find?
#[derive(Clone, Copy, Debug, Default)]
pub struct Newton;

impl System for Newton {
    const NAME: &str = "newton";
    const LABEL: &str = "Newton's method for z³ = 1";
    const PARAMETERS: &[Named] = &[];
    const STATE: &[Named] = &[("x", 1.0), ("y", 1.0)];
    const OUTCOMES: &[&str] = &["1", "-1/2 + 0.866 i", "-1/2 - 0.866 i"];
    const END: f64 = 200.0;
}

impl IteratedMap<2, 0> for Newton {
    fn next<R: Scalar>(&self, [x, y]: [R; 2], _: [R; 0]) -> [R; 2] {
        // z² and 1/z².
        let (a, b) = (x * x - y * y, x * y * 2.0);
        let size = a * a + b * b;
        [(x * 2.0 + a / size) / 3.0, (y * 2.0 - b / size) / 3.0]
    }

    fn outcomes<R: Scalar>(&self, [x, y]: [R; 2], _: [R; 0], found: &mut Outcomes<R>) {
        for [a, b] in [
            [1.0, 0.0],
            [-0.5, 0.8660254037844386],
            [-0.5, -0.8660254037844386],
        ] {
            let (dx, dy) = (x - a, y - b);
            found.when(-(dx * dx) - dy * dy + 1e-6);
        }
    }
}

export!(map Newton);
