//! Numbers in names and titles.

/// A number with six significant digits.
pub fn short(x: f64) -> String {
    let plain = format!("{x}");
    if plain.len() <= 8 {
        return plain;
    }
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    let plain = format!("{rounded}");
    if plain.len() <= 10 {
        plain
    } else {
        format!("{rounded:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_titles_are_short() {
        for (x, text) in [
            (0.5, "0.5"),
            (1.0 / 3.0, "0.333333"),
            (5.186e-7, "5.186e-7"),
            (486_625.0, "486625"),
            (1.2345678e-9, "1.23457e-9"),
        ] {
            assert_eq!(short(x), text);
        }
    }
}
