//! Values of parameters from the text of an option: numbers, lists of them, names. Texts that cannot be read
//! are refused here; whether a value is allowed is checked later, together with the others. Every error says what is allowed.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use glam::DVec3;

use crate::{Center, OneOrThree, OneOrTwo, decimal};

/// A value that has a text form of its own, such as a name.
///
/// # Errors
/// The errors of the type's `FromStr`.
pub fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// The whole number that a float equals, such as 1e6; `None` if it is not whole.
pub fn whole_number(x: f64) -> Option<u64> {
    // Beyond 2^53 a float cannot represent every whole number.
    (x.fract() == 0.0 && (0.0..9e15).contains(&x)).then_some(x as u64)
}

/// A whole number in digits, or with an exponent, such as 1e6 or 2.5e3.
fn digits_or_exponent<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let number = text.contains(['e', 'E']).then(|| text.parse().ok())??;
        whole_number(number)?.to_string().parse().ok()
    })
}

/// A whole number in a range, also written as 1e6.
///
/// # Errors
/// The range.
pub fn whole<T: TryFrom<u64>>(text: &str, range: RangeInclusive<u64>) -> Result<T, String> {
    let number = digits_or_exponent(text).filter(|n| range.contains(n));
    let number = number.and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| whole_in_words(&range))
}

/// A whole number, also written as 1e6, whose range is checked later, with the other values.
///
/// # Errors
/// The range, if the text is not a whole number.
pub fn unchecked<T: FromStr>(text: &str, range: RangeInclusive<u64>) -> Result<T, String> {
    digits_or_exponent(text).ok_or_else(|| whole_in_words(&range))
}

fn whole_in_words(range: &RangeInclusive<u64>) -> String {
    let (least, most) = (range.start(), range.end());
    // Beyond 32 bits, a power of two is easier to recognise in this form than by its digits.
    let power = match most.is_power_of_two() && *most > u64::from(u32::MAX) {
        true => format!(" (2^{})", most.ilog2()),
        false => String::new(),
    };
    format!("must be a whole number from {least} to {most}{power}")
}

/// A number.
///
/// # Errors
/// What is no number.
pub fn number(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{} is not a number", quoted(text)))
}

/// A finite number, or a fraction such as `8/3`.
///
/// # Errors
/// What is neither.
pub fn fraction(text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let value = match text.split_once('/') {
        None => number(text),
        Some((above, below)) => number(above)
            .zip(number(below))
            .map(|(above, below)| above / below),
    };
    let finite = value.filter(|x| x.is_finite());
    finite.ok_or_else(|| format!("{} is not a finite number", quoted(text)))
}

/// `A,B`.
///
/// # Errors
/// A description of the allowed values.
pub fn pair(text: &str) -> Result<[f64; 2], String> {
    numbers(text, "two numbers separated by a comma, such as -1.5,2")
}

/// `A,B` with up to 32 digits each.
///
/// # Errors
/// A description of the allowed values.
pub fn center(text: &str) -> Result<Center, String> {
    pair(text)?;
    let coordinates = text.split(',').map(|x| decimal::parse(x.trim()));
    let coordinates: Option<Vec<[f64; 2]>> = coordinates.collect();
    match coordinates.as_deref() {
        Some([x, y]) => Ok(Center::of([*x, *y])),
        _ => Err("both must be finite numbers".into()),
    }
}

/// `A,B,C`.
///
/// # Errors
/// A description of the allowed values.
pub fn triple(text: &str) -> Result<[f64; 3], String> {
    numbers(text, "three numbers separated by commas, such as 10,20,30")
}

/// `A` or `A,B`.
///
/// # Errors
/// A description of the allowed values.
pub fn one_or_two(text: &str) -> Result<OneOrTwo<f64>, String> {
    if text.contains(',') {
        let what = "one number, or two separated by a comma";
        Ok(OneOrTwo::Two(numbers(text, what)?))
    } else {
        Ok(OneOrTwo::One(number(text)?))
    }
}

/// `D` or `DX,DY,DZ`.
///
/// # Errors
/// A description of the allowed values.
pub fn one_or_three(text: &str) -> Result<OneOrThree, String> {
    if text.contains(',') {
        let what = "one number, or three separated by commas";
        Ok(OneOrThree::Three(DVec3::from(numbers(text, what)?)))
    } else {
        Ok(OneOrThree::One(number(text)?))
    }
}

/// `X,Y,Z:X,Y,Z:X,Y,Z`, a vector for each body.
///
/// # Errors
/// A description of the allowed values.
pub fn three_vectors(text: &str) -> Result<[DVec3; 3], String> {
    let what = "three vectors separated by colons, such as 0,0,-11:0,0,0:10,10,12";
    // Semicolons are accepted as well, for users who quote the value.
    let parts: Vec<&str> = text.split([':', ';']).collect();
    let parts: [&str; 3] = parts
        .try_into()
        .map_err(|p: Vec<_>| format!("must be {what}; got {}", count(p.len(), "vector")))?;
    let mut vectors = [DVec3::ZERO; 3];
    for (vector, part) in vectors.iter_mut().zip(parts) {
        *vector = DVec3::from(numbers(part, what)?);
    }
    Ok(vectors)
}

/// `W` or `WxH`.
///
/// # Errors
/// A description of the allowed values.
pub fn size(text: &str) -> Result<OneOrTwo<u64>, String> {
    let fail = |()| {
        "must be W or WxH, whole numbers of pixels such as 300 or 640x480, at most 4294967296 (2^32) pixels \
         together"
            .to_owned()
    };
    let side = |text: &str| digits_or_exponent(text).ok_or(()).map_err(fail);
    match text.split_once(['x', 'X']) {
        None => Ok(OneOrTwo::One(side(text)?)),
        Some((w, h)) => Ok(OneOrTwo::Two([side(w)?, side(h)?])),
    }
}

fn numbers<const N: usize>(text: &str, what: &str) -> Result<[f64; N], String> {
    let numbers = text
        .split(',')
        .map(number)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| format!("must be {what}; {e}"))?;
    let given = numbers.len();
    let got = |_| {
        format!(
            "must be {what}; got {} in {}",
            count(given, "number"),
            quoted(text)
        )
    };
    numbers.try_into().map_err(got)
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_a_range_and_large_powers_of_two_are_named() {
        assert_eq!(whole::<u8>("3", 2..=3), Ok(3));
        let refused = "must be a whole number from 2 to 3";
        for bad in ["1", "4", "-2", "2.0", ""] {
            assert_eq!(whole::<u8>(bad, 2..=3), Err(refused.into()), "{bad}");
        }
        for (text, number) in [("1e6", 1_000_000), ("2.5E3", 2500), (" 7 ", 7)] {
            assert_eq!(whole::<u64>(text, 1..=1 << 53), Ok(number), "{text}");
            assert_eq!(unchecked::<u64>(text, 1..=9), Ok(number), "{text}");
        }
        for bad in ["1e-3", "1.5e0", "e", "1e", "-1e3", "1e30", "inf"] {
            assert!(whole::<u64>(bad, 1..=1 << 53).is_err(), "{bad}");
        }
        assert!(whole::<u8>("1e3", 0..=1000).is_err());
        assert_eq!(size("1e3"), Ok(OneOrTwo::One(1000)));
        let refused = whole::<u64>("0", 1..=1 << 53).unwrap_err();
        assert_eq!(
            refused,
            "must be a whole number from 1 to 9007199254740992 (2^53)"
        );
    }

    #[test]
    fn fractions_are_finite_numbers() {
        assert_eq!(fraction("8/3"), Ok(8.0 / 3.0));
        assert_eq!(fraction(" -1e3 "), Ok(-1e3));
        for bad in ["1/0", "0/0", "inf", "nan", "", "1/", "1/2/3", "x"] {
            let said = fraction(bad).unwrap_err();
            assert_eq!(said, format!("'{bad}' is not a finite number"));
        }
    }

    #[test]
    fn lists_are_refused_with_what_was_found() {
        assert_eq!(pair("1, 2.5"), Ok([1.0, 2.5]));
        let said = pair("1,2,3").unwrap_err();
        assert!(said.ends_with("got 3 numbers in '1,2,3'"), "{said}");
        let said = three_vectors("1,2,3").unwrap_err();
        assert!(said.ends_with("got 1 vector"), "{said}");
        assert_eq!(size("640x480"), Ok(OneOrTwo::Two([640, 480])));
        assert!(size("640x").is_err() && size("a").is_err());
    }
}
