use trisolar_equations::*;

/// Two pendulums, the second of which hangs from the first. Angles are from the vertical, in radians.
#[derive(Clone, Copy, Debug, Default)]
pub struct DoublePendulum;

impl System for DoublePendulum {
    const NAME: &str = "double-pendulum";
    const LABEL: &str = "Double pendulum";
    const PARAMETERS: &[Named] = &[
        ("m1", 1.0),
        ("m2", 1.0),
        ("l1", 1.0),
        ("l2", 1.0),
        ("g", 9.81),
    ];
    const STATE: &[Named] = &[("a1", 2.0), ("a2", 2.0), ("w1", 0.0), ("w2", 0.0)];
    const END: f64 = 10.0;
}

impl Flow<4, 5> for DoublePendulum {
    fn rhs<R: Scalar>(
        &self,
        _t: R,
        [a1, a2, w1, w2]: [R; 4],
        [m1, m2, l1, l2, g]: [R; 5],
    ) -> [R; 4] {
        let (sine, cosine) = ((a1 - a2).sin(), (a1 - a2).cos());
        let mass = m1 + m2;
        // m1 + m2 sin² of the angle between them, which is never 0.
        let share = m1 + m2 * sine * sine;
        let pull1 = g * (m2 * a2.sin() * cosine - mass * a1.sin());
        let pull2 = g * mass * (a1.sin() * cosine - a2.sin());
        let turn1 = m2 * sine * (l1 * w1 * w1 * cosine + l2 * w2 * w2);
        let turn2 = sine * (mass * l1 * w1 * w1 + m2 * l2 * w2 * w2 * cosine);
        [
            w1,
            w2,
            (pull1 - turn1) / (l1 * share),
            (pull2 + turn2) / (l2 * share),
        ]
    }
}

export!(flow DoublePendulum);
