//! Decimal texts of values with more digits than an `f64` has, as the unevaluated sum of two: the nearest `f64`, and the `f64` nearest to
//! what that lacks. Both conversions are exact. A text of up to 17 significant digits means the nearest `f64` itself, which these digits
//! identify.

/// A decimal number without a sign: its digits before and after the point.
struct Digits {
    whole: Vec<u8>,
    fraction: Vec<u8>,
}

/// The significant digits that identify an `f64`.
const DIGITS_OF_F64: usize = 17;
/// The most digits of a text, zeros before and after the point included.
const MOST_DIGITS: usize = 400;

impl Digits {
    /// Of a text without a sign. `None` if it is not a decimal number, or has too many digits.
    fn of(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
        let before = usize::try_from((-point).max(0)).ok()?;
        let after = usize::try_from((point - digits.len() as i64).max(0)).ok()?;
        if before + digits.len() + after > MOST_DIGITS {
            return None;
        }
        let values = digits.bytes().map(|b| b - b'0');
        let all: Vec<u8> = std::iter::repeat_n(0, before)
            .chain(values)
            .chain(std::iter::repeat_n(0, after))
            .collect();
        let (whole, fraction) = all.split_at(usize::try_from(point.max(0)).ok()?);
        Some(Self {
            whole: whole.to_vec(),
            fraction: fraction.to_vec(),
        })
    }

    /// Of the exact value of |x|.
    fn of_number(x: f64) -> Self {
        // No f64 has more digits after the point.
        let text = format!("{:.1074}", x.abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let values = |text: &str| text.bytes().map(|b| b - b'0').collect();
        Self {
            whole: values(whole),
            fraction: values(fraction),
        }
    }

    /// All digits, with as many before and after the point.
    fn aligned(&self, before: usize, after: usize) -> Vec<i16> {
        let mut all = vec![0; before - self.whole.len()];
        all.extend(
            self.whole
                .iter()
                .chain(&self.fraction)
                .map(|d| i16::from(*d)),
        );
        all.resize(before + after, 0);
        all
    }
}

/// The number of digits of a text from the first that is not 0 on, without those of the exponent.
fn significant(text: &str) -> usize {
    let number = text.split(['e', 'E']).next().unwrap_or(text);
    let digits = number.bytes().filter(u8::is_ascii_digit);
    digits.skip_while(|digit| *digit == b'0').count()
}

/// a ± b with signs, as text: `sign` is that of b relative to a.
fn combined(a: &Digits, sign: i16, b: &Digits) -> String {
    let before = a.whole.len().max(b.whole.len()) + 1;
    let after = a.fraction.len().max(b.fraction.len());
    let (a, b) = (a.aligned(before, after), b.aligned(before, after));
    let negative = sign < 0 && a < b;
    let (a, b) = if negative { (b, a) } else { (a, b) };
    let mut digits: Vec<i16> = a.iter().zip(&b).map(|(a, b)| a + sign * b).collect();
    for k in (1..digits.len()).rev() {
        let carried = digits[k].div_euclid(10);
        digits[k] -= 10 * carried;
        digits[k - 1] += carried;
    }
    let text = |digits: &[i16]| -> String { digits.iter().map(i16::to_string).collect() };
    let (whole, fraction) = digits.split_at(before);
    let minus = if negative { "-" } else { "" };
    format!("{minus}{}.{}", text(whole), text(fraction))
}

/// The value of a decimal text. `None` if it is not a finite number.
pub fn parse(text: &str) -> Option<[f64; 2]> {
    let nearest: f64 = text.parse().ok().filter(|x: &f64| x.is_finite())?;
    let digits = text.trim_start_matches(['+', '-']);
    let given = Digits::of(digits).filter(|_| significant(digits) > DIGITS_OF_F64);
    let rest = given.map_or(0.0, |given| {
        let difference = combined(&given, -1, &Digits::of_number(nearest));
        difference.parse().unwrap_or(0.0)
    });
    let sign = if nearest.is_sign_negative() {
        -1.0
    } else {
        1.0
    };
    Some([nearest, if rest == 0.0 { 0.0 } else { sign * rest }])
}

/// A value as a decimal text, which [`parse`] reads back exactly: that of the `f64` if there is no rest.
pub fn text([nearest, rest]: [f64; 2]) -> String {
    if rest == 0.0 {
        return nearest.to_string();
    }
    let sign = if (nearest < 0.0) == (rest < 0.0) {
        1
    } else {
        -1
    };
    let exact = combined(&Digits::of_number(nearest), sign, &Digits::of_number(rest));
    let minus = if nearest < 0.0 { "-" } else { "" };
    let all = exact.trim_start_matches('0');
    let all = if all.starts_with('.') {
        format!("0{all}")
    } else {
        all.to_owned()
    };
    let point = all.find('.').unwrap_or(all.len());
    let shortened =
        (DIGITS_OF_F64..64).map(|digits| format!("{minus}{}", rounded(&all, point, digits)));
    let found = shortened
        .into_iter()
        .find(|text| parse(text) == Some([nearest, rest]));
    found.unwrap_or_else(|| format!("{minus}{}", all.trim_end_matches('0')))
}

/// A text with this many digits after the point, the last one rounded to the nearest.
fn rounded(text: &str, point: usize, digits: usize) -> String {
    let end = (point + 1 + digits).min(text.len());
    let up = text.as_bytes().get(end).is_some_and(|b| *b >= b'5');
    let kept = &text[..end];
    if !up {
        return kept.to_owned();
    }
    let unit = Digits {
        whole: vec![0],
        fraction: (1..=digits).map(|k| u8::from(k == digits)).collect(),
    };
    let sum = Digits::of(kept).map(|kept| combined(&kept, 1, &unit));
    let sum = sum.unwrap_or_else(|| kept.to_owned());
    let sum = sum.trim_start_matches('0');
    if sum.starts_with('.') {
        format!("0{sum}")
    } else {
        sum.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_f64_have_no_rest() {
        for text in [
            "0",
            "-0.45",
            "5.30031",
            "1e300",
            "3e-5",
            "0.1e1",
            "+2",
            "12.",
            "0.00012345678901234567",
        ] {
            assert_eq!(
                parse(text),
                Some([text.parse().expect(text), 0.0]),
                "{text}"
            );
        }
        for text in ["", "x", "1,2", "inf", "NaN", "1e999", "--1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_rest_is_what_the_nearest_f64_lacks() {
        // 0.1 = 0.1000000000000000055511151231257827021181583404541015625 - 5.55e-18
        for (text, x, rest) in [
            ("0.1", 0.1, -5.551_115_123_125_783e-18),
            ("0.6", 0.6, 2.220_446_049_250_313_2e-17),
        ] {
            let text = format!("{text}00000000000000000");
            assert_eq!(parse(&text), Some([x, rest]));
            assert_eq!(parse(&format!("-{text}")), Some([-x, -rest]));
        }
        assert_eq!(parse("10.0000000000000000000000001"), Some([10.0, 1e-25]));
        assert_eq!(parse("1e1"), Some([10.0, 0.0]));
    }

    #[test]
    fn every_value_is_read_back_from_its_text() {
        let mut x = 0.37_f64;
        for k in 0..300 {
            x = (x * 3.9) * (1.0 - x);
            let nearest = (x - 0.5) * f64::powi(10.0, k % 7 - 3);
            let rest = (x - 0.3) * (nearest.abs().next_up() - nearest.abs());
            let rest = rest * f64::powi(10.0, -(k % 5));
            // As the parts of a sum: the first one is the nearest.
            let value = [nearest, rest];
            if nearest + rest != nearest {
                continue;
            }
            let text = text(value);
            assert_eq!(parse(&text), Some(value), "{text}");
            assert!(text.len() < 60, "{text}");
        }
        assert_eq!(text([0.5, 0.0]), "0.5");
        assert_eq!(text([10.0, 1e-25]), "10.0000000000000000000000001");
        assert_eq!(text([10.0, -1e-25]), "9.9999999999999999999999999");
    }
}
