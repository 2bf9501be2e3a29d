use trisolar_equations::*;

/// The kicked rotor of Chirikov (1979).
#[derive(Clone, Copy, Debug, Default)]
pub struct StandardMap;

const TURN: f64 = core::f64::consts::TAU;

impl System for StandardMap {
    const NAME: &str = "standard-map";
    const LABEL: &str = "Standard map";
    const PARAMETERS: &[Named] = &[("k", 0.971635)];
    const STATE: &[Named] = &[("x", 0.5), ("p", 0.5)];
    const END: f64 = 1000.0;
}

impl IteratedMap<2, 1> for StandardMap {
    fn next<R: Scalar>(&self, [x, p]: [R; 2], [k]: [R; 1]) -> [R; 2] {
        let p = p + k * x.sin();
        let x = x + p;
        [x - (x / TURN).floor() * TURN, p]
    }
}

export!(map StandardMap);
