//! Values of options from text: numbers, lists of them, names. Texts that cannot be read are refused here;
//! whether a value is allowed is checked later, together with the others.

use glam::DVec3;
use trisolar::divergence::{
    Backend, Driver, GpuChoice, Integrator, MapBackend, OneOrThree, OneOrTwo, Plane, Precision,
    Quantity, Start,
};

/// `W` or `WxH`.
pub(crate) fn size(text: &str) -> Result<OneOrTwo<u64>, String> {
    let fail = |_| {
        "must be W or WxH, whole numbers of pixels such as 300 or 640x480, at most 4294967296 (2^32) pixels \
         together"
            .to_owned()
    };
    match text.split_once(['x', 'X']) {
        None => Ok(OneOrTwo::One(text.trim().parse().map_err(fail)?)),
        Some((w, h)) => Ok(OneOrTwo::Two([
            w.trim().parse().map_err(fail)?,
            h.trim().parse().map_err(fail)?,
        ])),
    }
}

/// A number.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{} is not a number", quoted(text)))
}

/// `A,B`.
pub(crate) fn pair(text: &str) -> Result<[f64; 2], String> {
    numbers(text, "two numbers separated by a comma, such as -1.5,2")
}

/// `A,B,C`.
pub(crate) fn triple(text: &str) -> Result<[f64; 3], String> {
    numbers(text, "three numbers separated by commas, such as 10,20,30")
}

/// `A` or `A,B`.
pub(crate) fn one_or_two(text: &str) -> Result<OneOrTwo<f64>, String> {
    if text.contains(',') {
        let what = "one number, or two separated by a comma";
        Ok(OneOrTwo::Two(numbers(text, what)?))
    } else {
        Ok(OneOrTwo::One(number(text)?))
    }
}

/// `D` or `DX,DY,DZ`.
pub(crate) fn one_or_three(text: &str) -> Result<OneOrThree, String> {
    if text.contains(',') {
        let what = "one number, or three separated by commas";
        Ok(OneOrThree::Three(DVec3::from(numbers(text, what)?)))
    } else {
        Ok(OneOrThree::One(number(text)?))
    }
}

/// `X,Y,Z:X,Y,Z:X,Y,Z`, a vector for each body.
pub(crate) fn three_vectors(text: &str) -> Result<[DVec3; 3], String> {
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

/// `xy`, `xz` or `yz`.
pub(crate) fn plane(text: &str) -> Result<Plane, String> {
    match text {
        "xy" => Ok(Plane::Xy),
        "xz" => Ok(Plane::Xz),
        "yz" => Ok(Plane::Yz),
        _ => Err("must be xy, xz or yz".into()),
    }
}

/// A precision mode by name, `fixed` with its bits.
pub(crate) fn precision(text: &str) -> Result<Precision, String> {
    text.parse()
}

/// A quantity by name.
pub(crate) fn quantity(text: &str) -> Result<Quantity, String> {
    text.parse()
}

/// An integrator by name.
pub(crate) fn integrator(text: &str) -> Result<Integrator, String> {
    text.parse()
}

/// A start of multistep integrators by name.
pub(crate) fn start(text: &str) -> Result<Start, String> {
    text.parse()
}

/// `auto`, `cpu` or `gpu`.
pub(crate) fn backend(text: &str) -> Result<Backend, String> {
    text.parse()
}

/// `auto`, `cpu`, `gpu` or `gpu+cpu`.
pub(crate) fn map_backend(text: &str) -> Result<MapBackend, String> {
    text.parse()
}

/// `all`, or numbers of GPUs separated by commas.
pub(crate) fn gpus(text: &str) -> Result<GpuChoice, String> {
    text.parse()
}

/// `threads` or `single`.
pub(crate) fn driver(text: &str) -> Result<Driver, String> {
    text.parse()
}

/// The number of pixels that are averaged to one.
pub(crate) fn shrink(text: &str) -> Result<usize, String> {
    trisolar::output::shrink(text)
}

/// A number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    trisolar::divergence::threads(text)
}

/// A number of GPUs.
pub(crate) fn gpu_count(text: &str) -> Result<u32, String> {
    trisolar::divergence::gpu_count(text)
}

/// A number of steps.
pub(crate) fn steps(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "must be a whole number from 1 to 4294967294".into())
}

/// A body's number.
pub(crate) fn body(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "must be 1, 2 or 3".into())
}

/// The order of a Hermite scheme.
pub(crate) fn order(text: &str) -> Result<trisolar::hermite::Order, String> {
    text.parse::<u32>()
        .ok()
        .and_then(|n| trisolar::hermite::Order::try_from(n).ok())
        .ok_or_else(|| "must be 4, 6 or 8".into())
}

/// Particles of a cluster.
pub(crate) fn particles(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 2..=16_777_216) => Ok(n),
        _ => Err("must be a whole number from 2 to 16777216".into()),
    }
}
