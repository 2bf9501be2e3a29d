//! Systems in progress on a CPU, one in each lane: a lane takes the next system when its own has ended.

use super::{Follow, Notes, Plan, Record, System};
use crate::PerLane;
use crate::number::{Bits, Mask, per_lane};

/// A system with the notes on it, or one in each lane.
#[derive(Clone, Copy, Debug)]
pub struct Followed<R, const N: usize> {
    /// The system.
    pub system: System<R, N>,
    notes: Notes<R>,
}

per_lane!(Followed<R; N> { system, notes });

impl<const N: usize> Followed<f64, N> {
    /// The system at its start.
    #[inline(always)]
    pub fn begin<F: Follow>(plan: &Plan, item: u64) -> Self {
        let system = plan.begin::<F, N>(item);
        let notes = match F::OBSERVES {
            true => Notes::begin(&system, plan.count as usize, &plan.observation),
            false => Notes::default(),
        };
        Self { system, notes }
    }

    /// Its result.
    #[inline(always)]
    pub fn record<F: Follow>(&self, plan: &Plan) -> Record {
        let record = self.system.record::<F>(plan.count as usize, &plan.physics);
        match F::OBSERVES {
            true => (self.notes).completed(record, &self.system, &plan.observation),
            false => record,
        }
    }
}

impl<R: Bits<Alone = f64>, const N: usize> Followed<R, N> {
    /// Takes a step.
    #[inline(always)]
    pub fn step<F: Follow>(&mut self, plan: &Plan) {
        let count = plan.count as usize;
        self.system.step::<F>(count, &plan.physics);
        if F::OBSERVES {
            (self.notes).note(&mut self.system, count, &plan.observation);
        }
    }
}

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
    let Some(first) = systems.next() else {
        return;
    };
    let begun = Followed::<f64, N>::begin::<F>(plan, first);
    let mut all = Followed::<R, N>::spread(&begun);
    let mut items = [None; MAX_LANES];
    items[0] = Some(first);
    let (mut busy, mut more) = (1, true);
    let mut lane = 1;
    while lane < R::LANES && more {
        match systems.next() {
            Some(item) => {
                all.set_lane(lane, &Followed::spread(&Followed::begin::<F>(plan, item)));
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
            all.step::<F>(plan);
            if all.system.goes_on().all() {
                continue;
            }
            let mut lane = 0;
            while lane < R::LANES {
                if !all.system.goes_on().lane(lane) {
                    if let Some(item) = items[lane] {
                        systems.ended(item, &all.lane(lane).record::<F>(plan));
                        busy -= 1;
                        items[lane] = if more { systems.next() } else { None };
                        more = items[lane].is_some();
                        busy += u32::from(more);
                    }
                    // A lane without a system repeats one, whose result nobody takes.
                    let next = items[lane].map_or(begun, |item| Followed::begin::<F>(plan, item));
                    all.set_lane(lane, &Followed::spread(&next));
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
    use crate::planets::physics::Body;
    use crate::planets::start::Limits;
    use crate::planets::system;
    use crate::planets::{
        Adaptive, General, MAX_PLANETS, Observation, Outcome, Physics, System, WithTangent,
    };

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
                near: 0.0,
                megno: f64::INFINITY,
            },
            physics: Physics::default(),
            observation: Observation::default(),
            star: fixed(star),
            planets: [[Law::default(); 7]; MAX_PLANETS],
            forms: [0; MAX_PLANETS],
            heliocentric: 0,
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

    /// Follows a system to its end.
    fn follow<const N: usize>(system: &mut System<f64, N>, plan: &Plan) {
        let (count, physics) = (plan.count as usize, &plan.physics);
        while system.goes_on() {
            if physics.integrator != Physics::WISDOM_HOLMAN {
                system.step::<Adaptive<WithTangent>>(count, physics);
            } else if physics.is_general() {
                system.step::<General<WithTangent>>(count, physics);
            } else {
                system.step::<WithTangent>(count, physics);
            }
        }
    }

    fn end<const N: usize>(plan: &Plan) -> (System<f64, N>, Record) {
        let mut system = plan.begin::<Adaptive<WithTangent>, N>(0);
        follow(&mut system, plan);
        let (count, physics) = (plan.count as usize, &plan.physics);
        let record = match physics.integrator {
            Physics::WISDOM_HOLMAN => system.record::<WithTangent>(count, physics),
            _ => system.record::<Adaptive<WithTangent>>(count, physics),
        };
        (system, record)
    }

    fn check(plan: &Plan, places: &[[f64; 2]], indicators: [f64; 3], tolerance: f64) {
        let (system, record) = end::<MAX_PLANETS>(plan);
        assert_eq!(record.outcome, Outcome::STABLE.0);
        for (state, [x, y]) in system.states.iter().zip(places) {
            let off = state.x
                - Vec3 {
                    x: *x,
                    y: *y,
                    z: state.x.z,
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
    fn drift_kick_drift_has_the_values_of_quadruple_precision() {
        let mut a1 = plan(1.0, &[JUPITER, saturn(7.0, 0.1)], 5.0, 12_566.0);
        a1.physics.drift_first = 1;
        check(
            &a1,
            &[
                [1.419_843_925_602_079_94, -5.267_712_806_295_705_07],
                [4.099_525_117_786_651_22, 5.023_263_092_961_353_35],
            ],
            [
                0.885_986_578_169_931_9,
                2.065_851_807_351_322_9,
                1.686_003_961_521_932e-4,
            ],
            1.2e-9,
        );
    }

    /// The directions of the angular momentum and of the pericentre.
    fn plane_and_pericentre(mass: f64, s: &Phase<f64>) -> [Vec3<f64>; 2] {
        let cross = |a: Vec3<f64>, b: Vec3<f64>| Vec3 {
            x: a.y * b.z - a.z * b.y,
            y: a.z * b.x - a.x * b.z,
            z: a.x * b.y - a.y * b.x,
        };
        let momentum = cross(s.x, s.v);
        let r = s.x.dot(s.x).sqrt();
        let pericentre = cross(s.v, momentum).scaled(1.0 / mass) - s.x.scaled(1.0 / r);
        [momentum, pericentre]
    }

    #[test]
    fn mercury_precesses_by_43_arc_seconds_in_a_century() {
        // 6 G M / c² of the sun, with the nominal GM of the IAU and the exact speed of light, in astronomical units.
        let relativity = 6.0 * 1.327_124_4e20 / 149_597_870_700.0 / 299_792_458.0_f64.powi(2);
        let (a, e) = (0.387_098_31, 0.205_631_75);
        let period = core::f64::consts::TAU * f64::powf(a, 1.5);
        let century = 36_525.0 / 365.256_898 * core::f64::consts::TAU;
        let mercury = [1e-12, a, e, 0.0, 0.0, 0.0, 0.0];
        let angle = |physics: Physics| {
            let mut plan = plan(1.0, &[mercury], period / 200.0, 400.0 * 200.0);
            plan.physics = physics;
            let (system, record) = end::<MAX_PLANETS>(&plan);
            assert!(record.energy_error.abs() < 1e-9, "{record:?}");
            let [_, p] = plane_and_pericentre(1.0, &system.states[0]);
            p.y.atan2(p.x).to_degrees() * 3600.0
        };
        let before = angle(Physics::default());
        let adaptive = Physics {
            integrator: Physics::ADAPTIVE,
            ..Physics::default()
        };
        for physics in [
            Physics {
                relativity,
                ..Physics::default()
            },
            Physics {
                relativity,
                ..adaptive
            },
            Physics {
                post_newtonian: relativity / 6.0,
                has_drags: 1,
                ..adaptive
            },
        ] {
            // From pericentre to pericentre, because the precession depends on the place in the orbit.
            let found = (angle(physics) - before) * century / (400.0 * period);
            assert!((found - 42.98).abs() < 0.01, "{found}");
        }
    }

    #[test]
    fn nodes_of_an_oblate_star_recede() {
        // dΩ/dt = -3/2 n J₂ (R/p)² cos i.
        // So small that osculating elements are mean elements.
        let (moment, inc, turns) = (1e-6, 0.5_f64, 100.0);
        let node = |e: f64, j2: f64, j4: f64| {
            let planet = [0.0, 1.0, e, inc, 0.3, 0.2, 0.0];
            let h = core::f64::consts::TAU / 200.0;
            let mut plan = plan(1.0, &[planet], h, 200.0 * turns);
            plan.physics.j2 = 1.5 * j2;
            plan.physics.j4 = 0.625 * j4;
            let (system, _) = end::<MAX_PLANETS>(&plan);
            let [momentum, _] = plane_and_pericentre(1.0, &system.states[0]);
            momentum.x.atan2(-momentum.y)
        };
        let rate =
            |e, j2, j4| (node(e, j2, j4) - node(e, 0.0, 0.0)) / (core::f64::consts::TAU * turns);
        let e = 0.3_f64;
        let p2 = (1.0 - e * e).powi(2);
        let expected = -1.5 * moment / p2 * inc.cos();
        let found = rate(e, moment, 0.0);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
        // 15/16 n J₄ (R/a)⁴ cos i (4 - 7 sin² i) without eccentricity (Kozai 1959).
        let expected = 0.9375 * moment * inc.cos() * (4.0 - 7.0 * inc.sin().powi(2));
        let found = rate(1e-3, 0.0, moment);
        assert!((found / expected - 1.0).abs() < 1e-3, "{found} {expected}");
    }

    #[test]
    fn tangents_grow_with_all_forces_as_neighbours_do() {
        let planets = [
            [1e-3, 1.0, 0.1, 0.1, 0.0, 0.0, 0.0],
            [2e-3, 1.8, 0.05, 0.2, 1.0, 0.0, 2.0],
        ];
        let conservative = Physics {
            relativity: 0.01,
            j2: 0.01,
            j4: -0.003,
            ..Physics::default()
        };
        let mut bodies = [Body::default(); MAX_PLANETS];
        bodies[1] = Body {
            beta: 0.01,
            shrinks: 1e-3,
            circularises: 2e-3,
            tide: 1e-7,
            lag: 0.1,
        };
        for physics in [
            conservative,
            Physics {
                drift_first: 1,
                ..conservative
            },
            Physics {
                integrator: Physics::ADAPTIVE,
                has_drags: 1,
                post_newtonian: 1e-3,
                slowness: 1e-2,
                tide: 1e-4,
                lag: 0.1,
                spin: 0.3,
                bodies,
                ..conservative
            },
        ] {
            let mut plan = plan(1.0, &planets, 0.2, 200.0);
            plan.physics = physics;
            let (end, record) = end::<MAX_PLANETS>(&plan);
            assert_eq!(record.outcome, Outcome::STABLE.0);
            let moved = |k: f64| {
                let mut system = plan.begin::<Adaptive<WithTangent>, MAX_PLANETS>(0);
                for (state, tangent) in system.states.iter_mut().zip(system.tangents).take(2) {
                    state.x = state.x.add_scaled(k, tangent.x);
                    state.v = state.v.add_scaled(k, tangent.v);
                }
                system.kicks_anew(2, &plan.physics);
                follow(&mut system, &plan);
                system.states
            };
            let k = 1e-6;
            // The tangent vector has been shortened.
            let grown = (record.lyapunov * record.time).exp() * f64::sqrt(12.0);
            let length = |of: &[Phase<f64>]| {
                let squares = of.iter().map(|p| p.x.dot(p.x) + p.v.dot(p.v));
                squares.sum::<f64>().sqrt()
            };
            let tangents = &end.tangents[..2];
            let scale = grown / length(tangents);
            let (up, down) = (moved(k), moved(-k));
            for i in 0..2 {
                let t = tangents[i];
                for (t, up, down) in [(t.x, up[i].x, down[i].x), (t.v, up[i].v, down[i].v)] {
                    let off = t.scaled(scale) - (up - down).scaled(0.5 / k);
                    assert!(off.dot(off).sqrt() < 1e-5 * grown, "{off:?} {grown}");
                }
            }
        }
    }

    /// A plan with steps of each system's own length.
    fn adaptive(planets: &[[f64; 7]], h: f64, steps: f64) -> Plan {
        let mut plan = plan(1.0, planets, h, steps);
        plan.physics.integrator = Physics::ADAPTIVE;
        plan
    }

    #[test]
    fn steps_of_their_own_length_follow_the_exact_flow() {
        // Taylor series with 113 bits: places about the centre of mass, and the growth of the tangent vector that begins as a shift of Saturn.
        for (saturn, jupiter_at, saturn_at, grown, megno) in [
            (
                saturn(7.0, 0.1),
                [-5.409_632_752_581_324_4, 0.012_347_410_800_955_386],
                [3.015_071_234_925_082_6, 5.953_886_970_502_655_7],
                4.369_368_532_718_743,
                1.529_815_777_430_121,
            ),
            (
                saturn(8.0, 0.3),
                [-4.433_168_658_972_662_6, -2.911_357_195_948_733_9],
                [-2.817_260_985_360_834_7, 5.022_027_196_990_525],
                6.517_236_066_662_222,
                4.839_775_702_083_183,
            ),
        ] {
            let plan = adaptive(&[JUPITER, saturn], 0.25, 4000.0);
            let mut system = plan.begin::<Adaptive<WithTangent>, MAX_PLANETS>(0);
            let (m1, m2) = (system.planets[0].mass, system.planets[1].mass);
            let share = m1 / (1.0 + m1);
            let total = 1.0 + m1 + m2;
            let shift = Vec3 {
                x: 1.0,
                y: 0.0,
                z: 0.0,
            };
            system.tangents = Default::default();
            system.tangents[1].x = shift;
            system.kicks_anew(2, &plan.physics);
            // The star, Jupiter and Saturn about the centre of mass, which has moved with the tangent vector.
            let bodies = |a: Vec3<f64>, b: Vec3<f64>, centre: Vec3<f64>| {
                let b = b.add_scaled(share, a);
                let star = centre - (a.scaled(m1) + b.scaled(m2)).scaled(1.0 / total);
                [star, star + a, star + b]
            };
            let length = |system: &System<f64, MAX_PLANETS>| {
                let [a, b] = [0, 1].map(|k| system.tangents[k]);
                let x = bodies(a.x, b.x, shift.scaled(m2 / total));
                let v = bodies(a.v, b.v, Vec3::zero());
                let squares = x.iter().chain(&v).map(|d| d.dot(*d));
                0.5 * squares.sum::<f64>().ln() + system.shortened()
            };
            assert!(length(&system).abs() < 1e-15);
            let (mut before, mut sum, mut time) = (0.0, 0.0, 0.0);
            while system.goes_on() {
                system.step::<Adaptive<WithTangent>>(2, &plan.physics);
                let now = length(&system);
                let end = system.record::<Adaptive<WithTangent>>(2, &plan.physics);
                sum += 0.5 * (end.time - time) * (before + now);
                (before, time) = (now, end.time);
            }
            assert_eq!(time, 1000.0);
            let [a, b] = [0, 1].map(|k| system.states[k].x);
            let [_, a, b] = bodies(a, b, Vec3::zero());
            for (found, [x, y]) in [(a, jupiter_at), (b, saturn_at)] {
                let off = (found.x - x).hypot(found.y - y);
                assert!(off < 1e-9, "{off:e}");
            }
            assert!((before - grown).abs() < 1e-8, "{before} {grown}");
            let found = 2.0 * (before - sum / 1000.0);
            assert!((found - megno).abs() < 2e-3, "{found} {megno}");
            let record = system.record::<Adaptive<WithTangent>>(2, &plan.physics);
            assert!(record.energy_error.abs() < 1e-11, "{record:?}");
        }
    }

    #[test]
    fn indicators_do_not_depend_on_the_length_of_steps() {
        let planets = [JUPITER, saturn(8.0, 0.1)];
        let (_, long) = end::<MAX_PLANETS>(&adaptive(&planets, 8.0, 500.0));
        let (_, short) = end::<MAX_PLANETS>(&adaptive(&planets, 0.031_25, 128_000.0));
        assert!(long.steps * 3 < short.steps, "{long:?} {short:?}");
        for (a, b) in [
            (long.megno, short.megno),
            (long.mean_megno, short.mean_megno),
            (long.lyapunov * 1e3, short.lyapunov * 1e3),
        ] {
            assert!((a - b).abs() < 1e-4, "{long:?} {short:?}");
        }
        assert_eq!(long.time, short.time);
    }

    #[test]
    fn comets_and_encounters_keep_their_energy_with_steps_of_their_own_length() {
        let comet = [1e-3, 1.0, 0.99, 0.3, 0.0, 0.0, 3.0];
        let (_, record) = end::<MAX_PLANETS>(&adaptive(&[comet], 0.3, 2000.0));
        assert_eq!(record.outcome, Outcome::STABLE.0);
        assert!(record.energy_error.abs() < 1e-9, "{record:?}");
        // The step is given up where a planet falls into the star.
        let falling = [1e-3, 1.0, 0.999_999_999_999, 0.0, 0.0, 0.0, 3.0];
        let (_, record) = end::<MAX_PLANETS>(&adaptive(&[falling], 0.3, 2000.0));
        assert_eq!(record.outcome, Outcome::UNSOLVED.0);
        let meeting = [JUPITER, saturn(7.3, 0.45)];
        let error = |integrator: u64| {
            let mut plan = plan(1.0, &meeting, 2.0, 2000.0);
            plan.physics.integrator = integrator;
            let (_, record) = end::<MAX_PLANETS>(&plan);
            assert_eq!(record.outcome, Outcome::STABLE.0);
            record.energy_error.abs()
        };
        let fixed = error(Physics::WISDOM_HOLMAN);
        assert!(error(Physics::ADAPTIVE) < 1e-9);
        let hybrid = error(Physics::HYBRID);
        assert!(
            hybrid < 1e-4 && hybrid < 1e-3 * fixed,
            "{hybrid:e} {fixed:e}"
        );
    }

    #[test]
    fn a_hybrid_of_distant_planets_takes_the_steps_of_wisdom_and_holman() {
        let planets = [JUPITER, saturn(9.6, 0.05)];
        let mut plan = plan(1.0, &planets, 5.0, 1000.0);
        let (alone, one) = end::<MAX_PLANETS>(&plan);
        plan.physics.integrator = Physics::HYBRID;
        let (hybrid, other) = end::<MAX_PLANETS>(&plan);
        for k in 0..2 {
            assert_eq!(alone.states[k], hybrid.states[k]);
        }
        assert_eq!(
            (one.steps, one.energy_error),
            (other.steps, other.energy_error)
        );
        assert!((one.lyapunov / other.lyapunov - 1.0).abs() < 1e-12);
        // The rule of Hermite for the integral differs from the trapezoidal one.
        let off = one.mean_megno - other.mean_megno;
        assert!(off.abs() < 0.05, "{off}");
    }

    #[test]
    fn drags_shrink_and_circularise_orbits_at_their_rates() {
        // Semi-major axis and eccentricity of a planet after 20 revolutions.
        let after = |e: f64, mass: f64, change: &dyn Fn(&mut Physics)| {
            let h = core::f64::consts::TAU / 20.0;
            let mut plan = adaptive(&[[mass, 1.0, e, 0.0, 0.0, 0.0, 0.0]], h, 400.0);
            plan.physics.has_drags = 1;
            change(&mut plan.physics);
            let (system, record) = end::<MAX_PLANETS>(&plan);
            assert_eq!(record.outcome, Outcome::STABLE.0);
            let s = &system.states[0];
            let m = 1.0 + mass;
            let a = 1.0 / (2.0 / s.x.dot(s.x).sqrt() - s.v.dot(s.v) / m);
            let [_, p] = plane_and_pericentre(m, s);
            (a, p.dot(p).sqrt(), record.time)
        };
        let near = |found: f64, expected: f64, share: f64| {
            assert!((found / expected - 1.0).abs() < share, "{found} {expected}");
        };
        let (beta, slowness) = (1e-3, 0.05);
        let (a, _, time) = after(0.0, 0.0, &|p| {
            p.bodies[0].beta = beta;
            p.slowness = slowness;
        });
        // Burns, Lamy & Soter 1979: da/dt = -2 β M/(c a). The radiation also changes the osculating orbit at once.
        let (still, _, _) = after(0.0, 0.0, &|p| p.bodies[0].beta = beta);
        near(a - still, -2.0 * beta * slowness * time, 0.05);
        let tau = 1e5;
        let (a, _, time) = after(0.0, 0.0, &|p| p.bodies[0].shrinks = 0.5 / tau);
        near(a.ln(), -time / tau, 1e-3);
        let (_, e, time) = after(0.02, 0.0, &|p| p.bodies[0].circularises = 2.0 / tau);
        near((e / 0.02).ln(), -time / tau, 1e-2);
        // Hut 1981, with a star that does not turn: d ln a/dt = -6 k₂ τ n² (m/M) (1 + m/M) (R/a)⁵.
        let (mass, k2r5, lag) = (1e-2, 1e-3, 1e-2);
        let of_star = |p: &mut Physics| {
            p.tide = 3.0 * k2r5;
            p.lag = lag;
        };
        let (a, _, time) = after(0.0, mass, &of_star);
        let (still, _, _) = after(0.0, mass, &|p| p.tide = 3.0 * k2r5);
        let n2 = 1.0 + mass;
        near(
            (a / still).ln(),
            -6.0 * k2r5 * lag * n2 * mass * n2 * time,
            0.02,
        );
        // d ln e/dt = -21/2 k₂ τ n² (M/m) (R/a)⁵ of a planet that turns with its mean motion.
        let (e0, k2r5) = (0.02, 1e-8);
        let (_, e, time) = after(e0, 1e-3, &|p| {
            p.bodies[0].tide = 3.0 * k2r5;
            p.bodies[0].lag = lag;
        });
        near((e / e0).ln(), -10.5 * k2r5 * lag * 1e3 * time, 0.05);
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
            assert_eq!(alone.states[k], beside.states[k]);
        }
        assert_eq!(one.energy_error, two.energy_error);
    }

    #[test]
    fn systems_with_room_for_seven_or_eight_planets_have_the_bits_of_others() {
        for count in [5, 6, 7, 8] {
            let planet = |i: usize| {
                let i = i as f64;
                [1e-4, 1.3_f64.powf(i), 0.05, 0.02 * i, i, 2.0 * i, 3.0 * i]
            };
            let planets: Vec<_> = (0..count).map(planet).collect();
            let plan = plan(1.0, &planets, 0.3, 300.0);
            let few = match count {
                system::MANY => end::<{ system::MANY }>(&plan).1,
                _ => end::<{ system::SOME }>(&plan).1,
            };
            let (_, any) = end::<MAX_PLANETS>(&plan);
            assert_eq!(few, any);
        }
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
        let mut system = chaotic.begin::<WithTangent, 2>(0);
        let length2 = |system: &System<f64, 2>| {
            let of = |Phase { x, v }: &Phase<f64>| x.dot(*x) + v.dot(*v);
            system.tangents.iter().map(of).sum::<f64>()
        };
        let (mut before, mut shortened, mut grown) = (length2(&system), 0, 0.0);
        while system.goes_on() {
            system.step::<WithTangent>(2, &chaotic.physics);
            let now = length2(&system);
            let is_short = now < 1e-60 * before;
            let factor = if is_short { 2.0_f64.powi(600) } else { 1.0 };
            shortened += u32::from(is_short);
            grown += 0.5 * (now * factor / before).ln();
            before = now;
        }
        let record = system.record::<WithTangent>(2, &chaotic.physics);
        assert!(shortened > 0, "{record:?}");
        let found = record.lyapunov * record.time;
        assert!((found / grown - 1.0).abs() < 1e-10, "{found} {grown}");
    }
}
