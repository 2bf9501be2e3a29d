use trisolar_equations::*;

/// A pendulum with friction above three magnets at distance 1 from its point of rest: where does it stop?
#[derive(Clone, Copy, Debug, Default)]
pub struct MagneticPendulum;

/// The places of the magnets.
const MAGNETS: [[f64; 2]; 3] = [
    [1.0, 0.0],
    [-0.5, 0.8660254037844386],
    [-0.5, -0.8660254037844386],
];

impl System for MagneticPendulum {
    const NAME: &str = "magnetic-pendulum";
    const LABEL: &str = "Magnetic pendulum";
    const PARAMETERS: &[Named] = &[("friction", 0.2), ("gravity", 0.5), ("height", 0.2)];
    const STATE: &[Named] = &[("x", 0.5), ("y", 1.0), ("vx", 0.0), ("vy", 0.0)];
    const OUTCOMES: &[&str] = &["magnet 1", "magnet 2", "magnet 3"];
}

impl Flow<4, 3> for MagneticPendulum {
    fn rhs<R: Scalar>(
        &self,
        _t: R,
        [x, y, vx, vy]: [R; 4],
        [friction, gravity, height]: [R; 3],
    ) -> [R; 4] {
        let mut ax = -friction * vx - gravity * x;
        let mut ay = -friction * vy - gravity * y;
        for [x0, y0] in MAGNETS {
            let (dx, dy) = (-x + x0, -y + y0);
            let r2 = dx * dx + dy * dy + height * height;
            let strength = R::of(1.0) / (r2 * r2.sqrt());
            ax = ax + strength * dx;
            ay = ay + strength * dy;
        }
        [vx, vy, ax, ay]
    }

    fn outcomes<R: Scalar>(&self, [x, y, vx, vy]: [R; 4], _: [R; 3], found: &mut Outcomes<R>) {
        for [x0, y0] in MAGNETS {
            let (dx, dy) = (x - x0, y - y0);
            found.when(-(dx * dx + dy * dy + vx * vx + vy * vy) + 0.04);
        }
    }
}

export!(flow MagneticPendulum);
