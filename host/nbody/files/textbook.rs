//! The output format of Pacheco & Malensek (2021): the time, then a line for each body with x, y, vx and vy, then an empty line.

use std::fmt;

use super::super::Bodies;

/// The state at a time, which displays in the format of Pacheco & Malensek (2021).
#[derive(Clone, Copy, Debug)]
pub struct Textbook<'a> {
    /// The time.
    pub time: f64,
    /// The bodies; only the first two components are shown.
    pub bodies: &'a Bodies,
}

impl fmt::Display for Textbook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:.2}", self.time)?;
        for (i, (x, v)) in self
            .bodies
            .position
            .iter()
            .zip(&self.bodies.velocity)
            .enumerate()
        {
            let [a, b, c, d] = [x[0], x[1], v[0], v[1]].map(Scientific);
            writeln!(f, "{i:3} {a:>10}   {b:>10}   {c:>10}   {d:>10}")?;
        }
        writeln!(f)
    }
}

/// A number as C's `%.3e` prints it.
struct Scientific(f64);

impl fmt::Display for Scientific {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_finite() {
            return f.pad(&self.0.to_string().to_lowercase());
        }
        let text = format!("{:.3e}", self.0);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, size) = match exponent.strip_prefix('-') {
            Some(size) => ('-', size),
            None => ('+', exponent),
        };
        f.pad(&format!("{digits}e{sign}{size:0>2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trisolar_bodies::DVec3;

    #[test]
    fn numbers_look_as_in_c() {
        for (x, text) in [
            (22380.0, "2.238e+04"),
            (0.0, "0.000e+00"),
            (-0.0, "-0.000e+00"),
            (-1.23456e-7, "-1.235e-07"),
            (5.0e123, "5.000e+123"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(Scientific(x).to_string(), text);
        }
    }

    #[test]
    fn a_state_looks_as_in_the_textbook() {
        let bodies = Bodies {
            mass: vec![5e24; 2],
            position: vec![DVec3::ZERO, 1e5 * DVec3::X],
            velocity: vec![3e4 * DVec3::Y, DVec3::new(0.0, -3e4, 0.0)],
        };
        let expected = "0.00\n  0  0.000e+00    0.000e+00    0.000e+00    3.000e+04\n  1  1.000e+05    0.000e+00    0.000e+00   -3.000e+04\n\n";
        assert_eq!(
            Textbook {
                time: 0.0,
                bodies: &bodies
            }
            .to_string(),
            expected
        );
    }
}
