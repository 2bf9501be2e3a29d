use trisolar_equations::*;

/// Three bodies in a plane that attract one another (G = 1), with a force of your own. They begin at rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreeBodies;

impl System for ThreeBodies {
    const NAME: &str = "three-bodies";
    const LABEL: &str = "Three bodies with another force";
    const PARAMETERS: &[Named] = &[
        ("m1", 1.0),
        ("m2", 1.0),
        ("m3", 1.0),
        ("friction", 0.0),
        ("halo", 0.0),
    ];
    const STATE: &[Named] = &[
        ("x1", -0.5),
        ("y1", 0.0),
        ("x2", 0.5),
        ("y2", 0.0),
        ("x3", 0.1),
        ("y3", 0.6),
        ("vx1", 0.0),
        ("vy1", 0.0),
        ("vx2", 0.0),
        ("vy2", 0.0),
        ("vx3", 0.0),
        ("vy3", 0.0),
    ];
    const OUTCOMES: &[&str] = &["body 1 leaves", "body 2 leaves", "body 3 leaves"];
    const END: f64 = 50.0;
    const STEP: f64 = 1e-4;
}

/// The acceleration by the other force: friction, and a homogeneous halo around the origin.
fn other<R: Scalar>([x, v]: [R; 2], friction: R, halo: R) -> R {
    -friction * v - halo * x
}

impl Flow<12, 5> for ThreeBodies {
    fn rhs<R: Scalar>(&self, _t: R, s: [R; 12], [m1, m2, m3, friction, halo]: [R; 5]) -> [R; 12] {
        let masses = [m1, m2, m3];
        let mut slope = [R::of(0.0); 12];
        for k in 0..6 {
            slope[k] = s[6 + k];
            slope[6 + k] = other([s[k], s[6 + k]], friction, halo);
        }
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let (dx, dy) = (s[2 * j] - s[2 * i], s[2 * j + 1] - s[2 * i + 1]);
            let r2 = dx * dx + dy * dy;
            let w = R::of(1.0) / (r2 * r2.sqrt());
            slope[6 + 2 * i] = slope[6 + 2 * i] + masses[j] * w * dx;
            slope[7 + 2 * i] = slope[7 + 2 * i] + masses[j] * w * dy;
            slope[6 + 2 * j] = slope[6 + 2 * j] - masses[i] * w * dx;
            slope[7 + 2 * j] = slope[7 + 2 * j] - masses[i] * w * dy;
        }
        slope
    }

    fn outcomes<R: Scalar>(&self, s: [R; 12], _: [R; 5], found: &mut Outcomes<R>) {
        for i in [0, 2, 4] {
            found.when(s[i] * s[i] + s[i + 1] * s[i + 1] - 400.0);
        }
    }
}

export!(flow ThreeBodies);
