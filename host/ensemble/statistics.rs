//! Statistics of the values of many items.

/// The 95 % confidence interval of a share, if `count` of `all` items were counted (Wilson 1927).
pub fn wilson(count: f64, all: f64) -> [f64; 2] {
    // The two-sided 5 % quantile of the normal distribution.
    let z = 1.959_963_984_540_054;
    let p = count / all;
    let z2 = z * z / all;
    let middle = p + z2 / 2.0;
    let half = z * (p * (1.0 - p) / all + z2 / (4.0 * all)).sqrt();
    [
        ((middle - half) / (1.0 + z2)).max(0.0),
        ((middle + half) / (1.0 + z2)).min(1.0),
    ]
}

/// The median, which is the upper one of an even number of values, and the largest value; NaN if there are no values, as in an empty part of
/// an ensemble. NaN is larger than any number.
pub fn median_and_largest(values: Vec<f64>) -> [f64; 2] {
    let largest = values.iter().copied().max_by(f64::total_cmp);
    largest.map_or([f64::NAN; 2], |largest| {
        [trisolar_bodies::median(values), largest]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        // 10 of 100: from the formula by hand, 0.0552 to 0.1744.
        let [low, high] = wilson(10.0, 100.0);
        assert!((low - 0.055_229).abs() < 1e-6 && (high - 0.174_366).abs() < 1e-6);
        assert_eq!(wilson(0.0, 10.0)[0], 0.0);
        assert!((wilson(10.0, 10.0)[1] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_median_and_a_largest_value_exist_unless_there_are_no_values() {
        assert_eq!(median_and_largest(vec![3.0, 1.0, 2.0, 0.5]), [2.0, 3.0]);
        assert!(median_and_largest(Vec::new()).iter().all(|x| x.is_nan()));
    }
}
