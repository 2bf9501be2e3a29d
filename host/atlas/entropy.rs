//! Basin entropy and boundary basin entropy (Daza et al. 2016).

use std::f64::consts::LN_2;

use serde::Serialize;

use super::OutcomeMap;
use super::tiles::{self, AREAS};

/// Standard errors that the boundary basin entropy must be above ln 2.
const STANDARD_ERRORS: f64 = 1.96;

/// The entropies of a map for boxes of one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BasinEntropy {
    /// The side of the boxes in pixels.
    #[serde(rename = "box")]
    pub side: usize,
    /// Number of boxes.
    pub boxes: u64,
    /// Number of boxes with more than one class.
    pub boundary_boxes: u64,
    /// S_b, the mean of -Σ p ln p over all boxes, where p are the shares of the classes in a box.
    pub entropy: f64,
    /// Its standard error by the jackknife.
    pub error: Option<f64>,
    /// S_bb, the mean over the boxes with more than one class; `None` if there are none.
    pub boundary_entropy: Option<f64>,
    /// Its standard error by the jackknife.
    pub boundary_error: Option<f64>,
    /// Whether S_bb is above ln 2 by more than 1.96 standard errors. The boundary is then fractal; otherwise it may or may not be.
    pub above_ln_2: bool,
    /// S of each box, row by row.
    #[serde(skip)]
    pub of_boxes: Vec<f64>,
}

/// The entropies of a map for boxes of this side.
pub(crate) fn of(map: &OutcomeMap, side: usize) -> BasinEntropy {
    let of_boxes = tiles::each(map, side, |tile| tile.entropy());
    let size = tiles::number(map, side);
    // The sum of the entropies, the number of boxes and that of boxes with more than one class in each area.
    let mut areas = [[0.0; 3]; AREAS * AREAS];
    for (i, entropy) in of_boxes.iter().enumerate() {
        let [sum, all, mixed] = &mut areas[tiles::area(i, size)];
        *sum += entropy;
        *all += 1.0;
        *mixed += f64::from(u8::from(*entropy > 0.0));
    }
    let total = areas
        .iter()
        .fold([0.0; 3], |total, area| add(total, *area, 1.0));
    let error = |statistic: &dyn Fn([f64; 3]) -> Option<f64>| {
        let used = areas.iter().filter(|area| area[1] > 0.0);
        let without = used.map(|area| statistic(add(total, *area, -1.0)));
        without
            .collect::<Option<Vec<f64>>>()
            .and_then(|values| tiles::jackknife(&values))
    };
    let mean = |[sum, all, _]: [f64; 3]| (all > 0.0).then(|| sum / all);
    let on_boundary = |[sum, _, mixed]: [f64; 3]| (mixed > 0.0).then(|| sum / mixed);
    let (boundary_entropy, boundary_error) = (on_boundary(total), error(&on_boundary));
    let above = |(entropy, error): (f64, f64)| entropy - STANDARD_ERRORS * error > LN_2;
    BasinEntropy {
        side,
        boxes: total[1] as u64,
        boundary_boxes: total[2] as u64,
        entropy: mean(total).unwrap_or_default(),
        error: error(&mean),
        boundary_entropy,
        boundary_error,
        above_ln_2: boundary_entropy.zip(boundary_error).is_some_and(above),
        of_boxes,
    }
}

fn add(a: [f64; 3], b: [f64; 3], factor: f64) -> [f64; 3] {
    std::array::from_fn(|k| a[k] + factor * b[k])
}
