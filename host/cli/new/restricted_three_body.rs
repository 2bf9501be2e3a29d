use trisolar_equations::*;

/// The circular restricted three-body problem in the rotating frame; the start is on an orbit of Arenstorf (1963).
#[derive(Clone, Copy, Debug, Default)]
pub struct RestrictedThreeBody;

impl System for RestrictedThreeBody {
    const NAME: &str = "restricted-three-body";
    const LABEL: &str = "Restricted three-body problem";
    const PARAMETERS: &[Named] = &[("mu", 0.012277471)];
    const STATE: &[Named] = &[
        ("x", 0.994),
        ("y", 0.0),
        ("vx", 0.0),
        ("vy", -2.00158510637908252),
    ];
    const OUTCOMES: &[&str] = &["hits the first body", "hits the second body", "escapes"];
    const END: f64 = 17.0652165601579626;
    const STEP: f64 = 1e-4;
}

impl Flow<4, 1> for RestrictedThreeBody {
    fn rhs<R: Scalar>(&self, _t: R, [x, y, vx, vy]: [R; 4], [mu]: [R; 1]) -> [R; 4] {
        let (x1, x2, other) = (x + mu, x + mu - 1.0, -mu + 1.0);
        let (r1, r2) = (x1 * x1 + y * y, x2 * x2 + y * y);
        let (f1, f2) = (other / (r1 * r1.sqrt()), mu / (r2 * r2.sqrt()));
        let ax = x + vy * 2.0 - f1 * x1 - f2 * x2;
        let ay = y - vx * 2.0 - (f1 + f2) * y;
        [vx, vy, ax, ay]
    }

    fn outcomes<R: Scalar>(&self, [x, y, ..]: [R; 4], [mu]: [R; 1], found: &mut Outcomes<R>) {
        let (x1, x2) = (x + mu, x + mu - 1.0);
        found.when(-(x1 * x1) - y * y + 1e-4);
        found.when(-(x2 * x2) - y * y + 1e-5);
        found.when(x * x + y * y - 100.0);
    }
}

export!(flow RestrictedThreeBody);
