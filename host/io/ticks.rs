//! Round numbers along an axis, and their labels, with a common offset for zooms and a common power of ten for small and large
//! numbers.

/// Ticks of an axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ticks {
    /// Places as fractions of the axis (0 at its start, 1 at its end), with labels.
    pub marks: Vec<(f64, String)>,
    /// Places of shorter ticks without labels.
    pub minor: Vec<f64>,
    /// The offset that is subtracted from every label, as text; empty for none.
    pub offset: String,
    /// The labels are in units of ten to this power.
    pub exponent: i32,
}

impl Ticks {
    /// One tick with this label, in the middle.
    pub fn single(label: &str) -> Self {
        Self {
            marks: vec![(0.5, label.to_owned())],
            ..Self::default()
        }
    }

    /// Ticks of the axis from `centre - span/2` to `centre + span/2`, about `wanted` of them (at least two where the
    /// numbers allow it). `span` is above zero; with other input there are no ticks.
    pub fn linear(centre: f64, span: f64, wanted: usize) -> Self {
        let none = Self::default();
        let usable = centre.is_finite() && span.is_finite() && span > 1e-290 && span < 1e290;
        if !usable || centre.abs() > 1e290 {
            return none;
        }
        let step = round_step(span / wanted.max(2) as f64);
        let largest = centre.abs() + span / 2.0;
        // With more than five digits before the first that changes, labels would be all the same digits.
        let (offset, offset_text) = if largest / span > 1e4 {
            let decimals = -(step.log10().floor() as i32) - 2;
            let text = fixed(centre, decimals);
            (text.parse().unwrap_or(centre), trimmed(text))
        } else {
            (0.0, String::new())
        };
        // Both ends relative to the offset, where differences are still exact.
        let (start, end) = (centre - offset - span / 2.0, centre - offset + span / 2.0);
        let reach = start.abs().max(end.abs());
        let magnitude = reach.log10().floor() as i32;
        let exponent = if (-3..6).contains(&magnitude) && offset_text.is_empty() {
            0
        } else {
            magnitude
        };
        let slack = step * 1e-6;
        let first = ((start - slack) / step).ceil() as i64;
        let last = ((end + slack) / step).floor() as i64;
        let decimals = exponent - (step.log10() + 1e-9).floor() as i32;
        let marks = (first..=last)
            .map(|k| {
                let value = k as f64 * step;
                let at = ((value - start) / span).clamp(0.0, 1.0);
                (at, label(value, exponent, decimals))
            })
            .collect();
        Self {
            marks,
            minor: Vec::new(),
            offset: offset_text,
            exponent,
        }
    }

    /// Ticks of a logarithmic axis from `low` to `high`, both above zero: powers of ten (every second, third … where there are many)
    /// with the multiples between them as minor ticks; up to a decade, labels at multiples of powers of ten or at round numbers.
    pub fn logarithmic(low: f64, high: f64, wanted: usize) -> Self {
        let (a, b) = (low.log10(), high.log10());
        let (first, last) = ((a - 1e-9).ceil() as i32, (b + 1e-9).floor() as i32);
        let at = |log: f64| ((log - a) / (b - a)).clamp(0.0, 1.0);
        let every = ((last - first) / wanted.max(1) as i32 + 1).max(1);
        let multiples = |allowed: &[u8]| -> Vec<(f64, String)> {
            let all = (first - 1..=last).flat_map(|p| (1..=9_u8).map(move |m| (m, p)));
            all.filter(|(m, _)| allowed.contains(m))
                .map(|(m, p)| (f64::from(m) * 10_f64.powi(p), m, p))
                .filter(|&(v, ..)| v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9))
                .map(|(v, m, p)| (at(v.log10()), multiple_of_power(m, p)))
                .collect()
        };
        let mut marks = Vec::new();
        // A little more than a decade still has too few powers.
        if b - a > 1.05 {
            for power in (first..=last).filter(|p| p.rem_euclid(every) == 0) {
                marks.push((at(power.into()), power_of_ten(power)));
            }
        }
        if marks.len() < 2 {
            let sets: [&[u8]; 4] = [
                &[1, 2, 3, 4, 5, 6, 7, 8, 9],
                &[1, 2, 3, 5, 7],
                &[1, 2, 5],
                &[1, 3],
            ];
            let mut found = sets.map(multiples).into_iter().filter(|m| m.len() >= 2);
            // They are sorted by their number.
            let fewest = found.clone().next_back();
            match found.find(|m| m.len() <= wanted).or(fewest) {
                Some(found) => marks = found,
                None => return Self::in_their_places(low, high, wanted),
            }
        }
        // Where powers are left out, multiples would be too dense.
        let minor = if every == 1 {
            let all = multiples(&[1, 2, 3, 4, 5, 6, 7, 8, 9]).into_iter();
            all.map(|(at, _)| at)
                .filter(|at| marks.iter().all(|mark| mark.0 != *at))
                .collect()
        } else {
            Vec::new()
        };
        Self {
            marks,
            minor,
            ..Self::default()
        }
    }

    /// Ticks of a logarithmic axis from `low` to `high`, both above zero: powers of ten from two decades on, below that the round
    /// numbers of a linear axis in their places, for powers would be too few.
    pub fn of_ratios(low: f64, high: f64, wanted: usize) -> Self {
        if high / low >= 100.0 {
            Self::logarithmic(low, high, wanted)
        } else {
            Self::in_their_places(low, high, wanted)
        }
    }

    /// The numbers of a linear axis in their places on a logarithmic one.
    fn in_their_places(low: f64, high: f64, wanted: usize) -> Self {
        let span = high - low;
        let mut ticks = Self::linear(low / 2.0 + high / 2.0, span, wanted);
        for (at, _) in &mut ticks.marks {
            let value = low + *at * span;
            *at = ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
        }
        ticks
    }

    /// The name of the axis with offset and power of ten: "x − 5.30031 (10⁻¹⁰ length)".
    pub fn axis_label(&self, name: &str, unit: &str) -> String {
        let shifted = match self.offset.strip_prefix('−') {
            Some(positive) => format!("{name} + {positive}"),
            None if self.offset.is_empty() => name.to_owned(),
            None => format!("{name} − {}", self.offset),
        };
        let scale = if self.exponent == 0 {
            String::new()
        } else {
            power_of_ten(self.exponent)
        };
        match (scale.is_empty(), unit.is_empty()) {
            (true, true) => shifted,
            (true, false) => format!("{shifted} ({unit})"),
            (false, true) => format!("{shifted} ({scale})"),
            (false, false) => format!("{shifted} ({scale} {unit})"),
        }
    }
}

/// The smallest of 1, 2, 5 × 10^k that is not below `raw`.
fn round_step(raw: f64) -> f64 {
    let power = raw.log10().floor() as i32;
    for factor in [1.0, 2.0, 5.0] {
        let step = scaled(factor, power);
        if step >= raw * (1.0 - 1e-9) {
            return step;
        }
    }
    scaled(1.0, power + 1)
}

/// `factor` × 10^`power`, rounded once: 5 × 10^-10 is the f64 nearest to it.
fn scaled(factor: f64, power: i32) -> f64 {
    if power < 0 {
        factor / 10_f64.powi(-power)
    } else {
        factor * 10_f64.powi(power)
    }
}

fn label(value: f64, exponent: i32, decimals: i32) -> String {
    let value = scaled(value, -exponent);
    let text = format!("{value:.*}", decimals.max(0) as usize);
    let zero = text.trim_matches(['-', '0', '.']).is_empty();
    let text = if zero {
        text.trim_start_matches('-')
    } else {
        &text
    };
    text.replace('-', "−")
}

/// `value` rounded to so many decimals; negative: to tens, hundreds …
fn fixed(value: f64, decimals: i32) -> String {
    if decimals >= 0 {
        format!("{value:.*}", decimals.min(300) as usize)
    } else {
        let unit = 10_f64.powi(-decimals);
        format!("{:.0}", (value / unit).round() * unit)
    }
}

fn trimmed(text: String) -> String {
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    text.replace('-', "−")
}

/// `m` × 10^`p`: as a plain number where that is short.
fn multiple_of_power(m: u8, p: i32) -> String {
    match (m, p) {
        (_, 0..=3) => format!("{m}{}", "0".repeat(p as usize)),
        (_, -3..=-1) => format!("0.{}{m}", "0".repeat(-p as usize - 1)),
        (1, _) => power_of_ten(p),
        _ => format!("{m}×{}", power_of_ten(p)),
    }
}

/// 10 to a power, with raised digits.
pub(super) fn power_of_ten(power: i32) -> String {
    let power = power.to_string();
    let raised = power.chars().map(|c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit as u32 - '0' as u32).unwrap_or(digit),
    });
    format!("10{}", raised.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(t: &Ticks) -> Vec<&str> {
        t.marks.iter().map(|(_, l)| l.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_where_they_say() {
        let t = Ticks::linear(0.0, 40.0, 8);
        assert_eq!(
            labels(&t),
            ["−20", "−15", "−10", "−5", "0", "5", "10", "15", "20"]
        );
        assert_eq!((t.marks[0].0, t.marks[4].0, t.marks[8].0), (0.0, 0.5, 1.0));
        assert_eq!(t.axis_label("x", "length"), "x (length)");
        let t = Ticks::linear(0.55, 0.7, 5);
        assert_eq!(labels(&t), ["0.2", "0.4", "0.6", "0.8"]);
        assert!((t.marks[1].0 - (0.4 - 0.2) / 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_zoom_writes_the_offset_once() {
        let t = Ticks::linear(5.30031, 1e-9, 5);
        assert_eq!(t.offset, "5.30031");
        assert_eq!(labels(&t), ["−4", "−2", "0", "2", "4"]);
        assert_eq!(t.axis_label("x", "length"), "x − 5.30031 (10⁻¹⁰ length)");
        assert!((t.marks[2].0 - 0.5).abs() < 1e-6);
        let t = Ticks::linear(-0.45, 1e-12, 4);
        assert_eq!(t.axis_label("y", ""), "y + 0.45 (10⁻¹³)");
        let t = Ticks::linear(1.5e9, 10.0, 5);
        assert_eq!(t.offset, "1500000000");
        assert_eq!(labels(&t), ["−4", "−2", "0", "2", "4"]);
    }

    #[test]
    fn small_and_large_numbers_share_a_power_of_ten() {
        let t = Ticks::linear(0.0, 4e-9, 4);
        assert_eq!(labels(&t), ["−2", "−1", "0", "1", "2"]);
        assert_eq!(t.axis_label("x", "m"), "x (10⁻⁹ m)");
        let t = Ticks::linear(2e11, 4e11, 4);
        assert_eq!(labels(&t), ["0", "1", "2", "3", "4"]);
        assert_eq!(t.axis_label("x", "m"), "x (10¹¹ m)");
    }

    /// Any axis a user can ask for has few, ordered ticks inside of it, with labels that differ.
    #[test]
    fn ticks_stay_sane_for_all_magnitudes() {
        for e in -280..=280 {
            for centre in [0.0, 1.0, -0.3, 5.30031, 1e8, -7.7e-5] {
                for wanted in [2, 5, 9] {
                    let span = 3.7 * 10_f64.powi(e);
                    let t = Ticks::linear(centre, span, wanted);
                    assert!(t.marks.len() <= wanted + 1, "{centre} {span}");
                    assert!(t.marks.is_sorted_by(|a, b| a.0 < b.0), "{centre} {span}");
                    assert!(
                        t.marks.is_sorted_by(|a, b| a.1 != b.1),
                        "{centre} {span} {t:?}"
                    );
                    assert!(t.marks.iter().all(|(_, l)| l.len() < 12), "{t:?}");
                }
            }
        }
        for (c, s) in [
            (f64::NAN, 1.0),
            (0.0, 0.0),
            (0.0, f64::INFINITY),
            (f64::MAX, 1.0),
        ] {
            assert_eq!(Ticks::linear(c, s, 5).marks, []);
        }
    }

    #[test]
    fn a_short_logarithmic_axis_has_round_numbers() {
        let t = Ticks::of_ratios(5.0, 20.0, 4);
        assert_eq!(labels(&t), ["5", "10", "15", "20"]);
        assert!((t.marks[1].0 - 0.5).abs() < 1e-12, "{t:?}");
        assert_eq!(
            Ticks::of_ratios(1e-3, 1e3, 10),
            Ticks::logarithmic(1e-3, 1e3, 10)
        );
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten_or_round() {
        let t = Ticks::logarithmic(1e-3, 1e3, 10);
        assert_eq!(
            labels(&t),
            ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹", "10²", "10³"]
        );
        assert!((t.marks[3].0 - 0.5).abs() < 1e-12);
        assert!(Ticks::logarithmic(1e-16, 1.0, 5).marks.len() <= 6);
        // A decade or less has labels between the powers, as many as there is room for, and ticks at the others.
        let t = Ticks::logarithmic(15.0, 70.0, 6);
        assert_eq!(labels(&t), ["20", "30", "40", "50", "60", "70"]);
        let t = Ticks::logarithmic(15.0, 70.0, 5);
        assert_eq!(labels(&t), ["20", "30", "50", "70"]);
        assert_eq!(t.minor.len(), 2);
        assert_eq!(labels(&Ticks::logarithmic(15.0, 70.0, 2)), ["20", "50"]);
        assert_eq!(labels(&Ticks::logarithmic(1.0, 10.0, 3)), ["1", "3", "10"]);
        assert_eq!(
            labels(&Ticks::logarithmic(2e-3, 9e-3, 2)),
            ["0.002", "0.005"]
        );
        assert_eq!(
            labels(&Ticks::logarithmic(2e-9, 9e-9, 2)),
            ["2×10⁻⁹", "5×10⁻⁹"]
        );
        assert_eq!(
            labels(&Ticks::logarithmic(2.1, 2.9, 4)),
            ["2.2", "2.4", "2.6", "2.8"]
        );
        // The multiples between two powers; none where powers are left out.
        assert_eq!(Ticks::logarithmic(1.0, 100.0, 5).minor.len(), 16);
        assert!(Ticks::logarithmic(1e-16, 1.0, 5).minor.is_empty());
    }
}
