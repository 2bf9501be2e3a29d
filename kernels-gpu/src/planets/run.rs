//! Systems in progress on a CPU, one in each lane: a lane takes the next system when its own has ended.

use super::{Follow, Plan, Record, System};
use crate::number::{Bits, Mask};

/// The largest number of lanes.
const MAX_LANES: usize = 8;
/// Steps between two calls of [`Systems::stopped`].
const STEPS_PER_LOOK: u32 = 64;

/// The source of systems and the destination of their records.
pub trait Systems {
    /// Returns the number of the next system, if there is one.
    fn next(&mut self) -> Option<u64>;
    /// Receives the record of a system.
    fn ended(&mut self, item: u64, record: &Record);
    /// Whether to stop; called from time to time, with the number of steps taken since the last call.
    fn stopped(&mut self, steps: u64) -> bool;
}

/// Follows all systems of the source.
#[inline(always)]
pub fn run<R: Bits<Alone = f64>, F: Follow, const N: usize>(
    plan: &Plan,
    systems: &mut impl Systems,
) {
    const { assert!(R::LANES <= MAX_LANES) };
    let count = plan.count as usize;
    let Some(first) = systems.next() else {
        return;
    };
    let begun = plan.begin::<N>(first);
    let mut all = System::<R, N>::spread(&begun);
    let mut items = [None; MAX_LANES];
    items[0] = Some(first);
    let (mut busy, mut more) = (1, true);
    let mut lane = 1;
    while lane < R::LANES && more {
        match systems.next() {
            Some(item) => {
                all.put(lane, &plan.begin::<N>(item));
                items[lane] = Some(item);
                busy += 1;
            }
            None => more = false,
        }
        lane += 1;
    }
    loop {
        let mut steps = 0;
        while steps < STEPS_PER_LOOK {
            steps += 1;
            all.step::<F>(count);
            if all.goes_on().all() {
                continue;
            }
            let mut lane = 0;
            while lane < R::LANES {
                if !all.goes_on().lane(lane) {
                    if let Some(item) = items[lane] {
                        systems.ended(item, &all.take(lane).record::<F>(count));
                        busy -= 1;
                        items[lane] = if more { systems.next() } else { None };
                        more = items[lane].is_some();
                        busy += u32::from(more);
                    }
                    // A lane without a system repeats one, whose result nobody takes.
                    let next = items[lane].map_or(begun, |item| plan.begin::<N>(item));
                    all.put(lane, &next);
                }
                lane += 1;
            }
            if busy == 0 {
                return;
            }
        }
        if systems.stopped(u64::from(steps) * u64::from(busy)) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vec3;
    use crate::encounters::Law;
    use crate::planets::kepler::Phase;
    use crate::planets::start::Limits;
    use crate::planets::system::Planet;
    use crate::planets::{MAX_PLANETS, Outcome, WithTangent};

    /// Fixed elements.
    fn plan(star: f64, planets: &[[f64; 7]], h: f64, steps: f64) -> Plan {
        let fixed = |low: f64| Law {
            low,
            high: low,
            ..Law::default()
        };
        let mut plan = Plan {
            count: planets.len() as u64,
            seed: 1,
            size: [1, 1],
            limits: Limits {
                step: h,
                step_in_periods: 0,
                end: h * steps,
                far: 1e6,
                hill: 0.0,
                megno: f64::INFINITY,
            },
            star: fixed(star),
            planets: [[Law::default(); 7]; MAX_PLANETS],
        };
        for (laws, elements) in plan.planets.iter_mut().zip(planets) {
            *laws = elements.map(fixed);
        }
        plan
    }

    const JUPITER: [f64; 7] = [0.000_954, 5.204, 0.048, 0.0, 0.0, 0.257, 0.6];

    fn saturn(a: f64, e: f64) -> [f64; 7] {
        [0.000_285, a, e, 0.0, 0.0, 1.616, 0.871]
    }

    fn end<const N: usize>(plan: &Plan) -> (System<f64, N>, Record) {
        let mut system = plan.begin::<N>(0);
        while system.goes_on() {
            system.step::<WithTangent>(plan.count as usize);
        }
        let record = system.record::<WithTangent>(plan.count as usize);
        (system, record)
    }

    fn check(plan: &Plan, places: &[[f64; 2]], indicators: [f64; 3], tolerance: f64) {
        let (system, record) = end::<MAX_PLANETS>(plan);
        assert_eq!(record.outcome, Outcome::STABLE.0);
        for (planet, [x, y]) in system.planets.iter().zip(places) {
            let off = planet.state.x
                - Vec3 {
                    x: *x,
                    y: *y,
                    z: planet.state.x.z,
                };
            assert!(off.dot(off).sqrt() < tolerance, "{off:?}");
        }
        let [megno, mean, lyapunov] = indicators;
        assert!(
            (record.megno - megno).abs() < 10.0 * tolerance,
            "{record:?}"
        );
        assert!(
            (record.mean_megno - mean).abs() < 10.0 * tolerance,
            "{record:?}"
        );
        assert!(
            (record.lyapunov / lyapunov - 1.0).abs() < 10.0 * tolerance,
            "{record:?}"
        );
    }

    #[test]
    fn the_map_has_the_values_of_quadruple_precision() {
        // The maps of kicks and drifts themselves, computed with 113 bits.
        let a1 = [JUPITER, saturn(7.0, 0.1)];
        check(
            &plan(1.0, &a1, 5.0, 2000.0),
            &[
                [-3.501_764_034_442_398_23, -4.232_005_349_818_369_5],
                [2.547_214_697_289_847_95, 6.517_476_416_593_795_97],
            ],
            [
                3.096_205_867_595_019,
                2.102_769_344_990_545,
                9.777_735_575_983_827e-4,
            ],
            2e-10,
        );
        check(
            &plan(1.0, &a1, 5.0, 12_566.0),
            &[
                [1.462_657_648_489_316_49, -5.256_649_684_611_013_6],
                [4.138_952_428_321_517_92, 4.984_703_214_176_162_71],
            ],
            [
                0.983_604_237_896_126_6,
                1.999_671_610_965_327_5,
                1.678_395_317_283_865_3e-4,
            ],
            1.2e-9,
        );
        check(
            &plan(1.0, &[JUPITER, saturn(8.0, 0.3)], 5.0, 200.0),
            &[
                [-4.438_199_550_615_366_31, -2.912_716_440_514_507_99],
                [-2.819_226_855_756_154_21, 5.022_903_777_693_280_74],
            ],
            [
                4.852_042_173_869_641,
                2.031_754_565_001_512_8,
                8.573_783_063_702_523e-3,
            ],
            1e-8,
        );
        let light = |a: f64, inc: f64, node: f64, argument: f64, mean: f64| {
            [1e-5, a, 0.01, inc, node, argument, mean]
        };
        let a4 = [
            light(1.0, 0.01, 0.1, 0.0, 0.0),
            light(1.1, 0.02, 0.2, 1.0, 2.0),
            light(1.21, 0.03, 0.3, 2.0, 4.0),
        ];
        check(
            &plan(1.0, &a4, 0.3, 1000.0),
            &[
                [0.181_205_524_195_057_55, -0.975_590_057_889_088_4],
                [0.915_633_968_854_711_4, -0.621_504_679_499_819_07],
            ],
            [
                2.305_787_378_635_509_8,
                1.939_611_219_634_815,
                0.023_175_189_535_664_91,
            ],
            1e-10,
        );
    }

    #[test]
    fn test_particles_pull_nothing() {
        let with = [
            JUPITER,
            saturn(8.0, 0.3),
            [0.0, 15.0, 0.1, 0.0, 0.0, 0.0, 0.0],
        ];
        let (alone, one) = end::<MAX_PLANETS>(&plan(1.0, &with[..2], 5.0, 1000.0));
        let (beside, two) = end::<MAX_PLANETS>(&plan(1.0, &with, 5.0, 1000.0));
        for k in 0..2 {
            assert_eq!(alone.planets[k].state, beside.planets[k].state);
        }
        assert_eq!(one.energy_error, two.energy_error);
    }

    #[test]
    fn half_the_step_has_a_quarter_of_the_energy_error() {
        let errors = [2.0, 1.0, 0.5].map(|h| {
            let (_, record) =
                end::<MAX_PLANETS>(&plan(1.0, &[JUPITER, saturn(8.0, 0.1)], h, 200.0 / h));
            record.energy_error
        });
        for pair in errors.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((ratio - 4.0).abs() < 0.2, "{errors:?}");
        }
    }

    #[test]
    fn systems_end_where_their_limits_say() {
        let mut escaping = plan(1.0, &[JUPITER, saturn(7.3, 0.45)], 5.0, 12_566.0);
        escaping.limits.far = 20.0;
        let (_, record) = end::<MAX_PLANETS>(&escaping);
        assert_eq!(record.outcome, Outcome::ESCAPE.0);
        assert!(record.steps < 12_566 && record.time == 5.0 * f64::from(record.steps));
        let mut meeting = escaping;
        meeting.limits.hill = 1.0;
        let (_, record) = end::<MAX_PLANETS>(&meeting);
        assert_eq!(record.outcome, Outcome::ENCOUNTER.0);
        let mut chaotic = escaping;
        chaotic.limits.megno = 4.0;
        let (_, record) = end::<MAX_PLANETS>(&chaotic);
        assert_eq!(record.outcome, Outcome::CHAOTIC.0);
        assert!(record.megno > 4.0);
        let (_, record) = end::<MAX_PLANETS>(&plan(
            1.0,
            &[[0.0, 1e-9, 0.99, 0.0, 0.0, 0.0, 0.0]],
            5.0,
            10.0,
        ));
        assert_eq!(record.outcome, Outcome::UNSOLVED.0);
        assert!(record.megno.is_nan() && record.energy_error.is_nan());
    }

    #[test]
    fn the_growth_of_long_tangent_vectors_goes_on_after_they_are_shortened() {
        let planets = [JUPITER, saturn(7.818, 0.2273)];
        let chaotic = plan(1.0, &planets, 5.0, 60_000.0);
        let mut system = chaotic.begin::<2>(0);
        let length2 = |system: &System<f64, 2>| {
            let of = |p: &Planet<f64>| {
                let Phase { x, v } = p.tangent;
                x.dot(x) + v.dot(v)
            };
            system.planets.iter().map(of).sum::<f64>()
        };
        let (mut before, mut shortened, mut grown) = (length2(&system), 0, 0.0);
        while system.goes_on() {
            system.step::<WithTangent>(2);
            let now = length2(&system);
            let is_short = now < 1e-60 * before;
            let factor = if is_short { 2.0_f64.powi(600) } else { 1.0 };
            shortened += u32::from(is_short);
            grown += 0.5 * (now * factor / before).ln();
            before = now;
        }
        let record = system.record::<WithTangent>(2);
        assert!(shortened > 0, "{record:?}");
        let found = record.lyapunov * record.time;
        assert!((found / grown - 1.0).abs() < 1e-10, "{found} {grown}");
    }
}
