//! The angular momentum deficit: by how much the angular momentum is less than that of circular orbits in one plane with the same semi-major
//! axes. It hardly changes while planets stay apart, and decides whether they can meet (Laskar & Petit 2017).

use super::orbit::{Orbit, circular};
use super::{Observation, Observe, WORDS, greater, lesser};
use crate::Vec3;
use crate::number::{Bits, divide, root};
use crate::planets::system::{FEW, MANY, SOME, each_planet};
use crate::planets::{MAX_PLANETS, System};

/// Halvings of the interval in which the critical eccentricity lies.
const HALVINGS: u32 = 60;

/// A bound orbit has 1 / its semi-major axis above this.
const BOUND: f64 = 1e-18;

/// The angular momentum of circular orbits, that of the system, and the least 1 / semi-major axis.
#[inline(always)]
fn momenta<R: Bits<Alone = f64>, const N: usize>(
    system: &System<R, N>,
    count: usize,
) -> (R, Vec3<R>, R) {
    let (mut circles, mut all) = (R::zero(), Vec3::zero());
    let mut least = R::from_f64(f64::INFINITY);
    each_planet!(count, 0, |i| {
        let orbit = Orbit::of(system.planets[i].inner, &system.states[i]);
        let mass = system.planets[i].reduced();
        circles = mass.mul_add(circular(&orbit), circles);
        all = all.add_scaled(mass, orbit.momentum);
        least = lesser(least, orbit.inverse_a);
    });
    (circles, all, least)
}

/// Its extremes, divided by the angular momentum of circular orbits (Chambers 2001). It is unknown while an orbit is not bound.
pub(super) struct Deficit;

impl Observe for Deficit {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        of: &Observation,
    ) -> [f64; WORDS] {
        let mut words = [0.0; WORDS];
        (words[0], words[1]) = (f64::INFINITY, f64::NEG_INFINITY);
        Self::note(&mut words, system, count, of);
        words
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        words: &mut [R; WORDS],
        system: &System<R, N>,
        count: usize,
        _: &Observation,
    ) {
        let (circles, all, least) = momenta(system, count);
        // Masses may be so small that products of momenta are no ordinary numbers.
        let deficit = (circles - all.dot(all).square_root()).quotient(circles);
        let bound = R::from_f64(BOUND).at_most(least);
        let [low, high] = [lesser(words[0], deficit), greater(words[1], deficit)];
        words[0] = R::select(bound, low, words[0]);
        words[1] = R::select(bound, high, words[1]);
    }

    fn end<const N: usize>(words: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        [words[0], words[1]]
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(words: &[R; WORDS], _: &System<R, N>) -> R {
        words[1]
    }
}

/// The deficit at the start, divided by the least one with which two neighbours can meet: the system is AMD-stable below 1.
pub(super) struct Stability;

impl Observe for Stability {
    fn begin<const N: usize>(
        system: &System<f64, N>,
        count: usize,
        _: &Observation,
    ) -> [f64; WORDS] {
        let (circles, all, _) = momenta(system, count);
        let deficit = circles - root(all.dot(all));
        let (mut most, mut has_massless) = (0.0, false);
        let (mut before, mut i) = ([0.0; 2], 0);
        while i < count && i < N {
            let orbit = Orbit::of(system.planets[i].inner, &system.states[i]);
            let own = [
                divide(1.0, orbit.inverse_a),
                system.planets[i].reduced() * circular(&orbit),
            ];
            if i > 0 {
                let ratio = divide(deficit, critical(before, own));
                most = if ratio <= most { most } else { ratio };
            }
            has_massless |= own[1] <= 0.0;
            before = own;
            i += 1;
        }
        let mut words = [0.0; WORDS];
        // A planet without mass meets others at no cost.
        words[0] = if has_massless { f64::NAN } else { most };
        words
    }

    #[inline(always)]
    fn note<R: Bits<Alone = f64>, const N: usize>(
        _: &mut [R; WORDS],
        _: &System<R, N>,
        _: usize,
        _: &Observation,
    ) {
    }

    fn end<const N: usize>(words: &[f64; WORDS], _: &System<f64, N>) -> [f64; 2] {
        [words[0], f64::NAN]
    }

    #[inline(always)]
    fn level<R: Bits<Alone = f64>, const N: usize>(words: &[R; WORDS], _: &System<R, N>) -> R {
        words[0]
    }
}

/// The least deficit with which two planets can meet, which are given by semi-major axes and angular momenta of their circular orbits, the inner
/// one first: the minimum on the curve a (1 + e) = a' (1 - e') (Laskar & Petit 2017).
fn critical([inner, own]: [f64; 2], [outer, others]: [f64; 2]) -> f64 {
    let alpha = divide(inner, outer);
    let gamma = divide(divide(own, others), root(alpha));
    let widest = divide(1.0, alpha) - 1.0;
    let (mut low, mut high) = (0.0, if widest < 1.0 { widest } else { 1.0 });
    let mut halvings = 0;
    while halvings < HALVINGS {
        halvings += 1;
        let e = 0.5 * (low + high);
        let other = divide(
            gamma * e,
            root(alpha * (1.0 - e * e) + (gamma * gamma) * (e * e)),
        );
        if alpha * e + other - 1.0 + alpha <= 0.0 {
            low = e;
        } else {
            high = e;
        }
    }
    // 1 - √(1 - e²).
    let share = |e: f64| divide(e * e, 1.0 + root(1.0 - e * e));
    own * share(low) + others * share(1.0 - alpha - alpha * low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planets::start::state;
    use crate::planets::system::Conditions;
    use crate::planets::{Alone, Physics};

    /// The ratio for planets in one plane, by masses, semi-major axes and eccentricities.
    fn ratio(planets: &[[f64; 3]]) -> f64 {
        let conditions = Conditions {
            h: 0.1,
            steps: 1,
            far: 1e6,
            megno: f64::INFINITY,
            hill: 0.0,
            near: 0.0,
        };
        let planet = |i: usize| {
            let [mass, a, e] = planets[i];
            let inner = planets[..=i]
                .iter()
                .fold(1.0, |sum, planet| sum + planet[0]);
            (mass, state(inner, &[mass, a, e, 0.0, 0.0, 1.0, 2.0]), a)
        };
        let system = System::<f64, MAX_PLANETS>::begin::<Alone>(
            1.0,
            planets.len(),
            planet,
            &conditions,
            &Physics::default(),
        );
        Stability::begin(&system, planets.len(), &Observation::default())[0]
    }

    #[test]
    fn a_system_is_stable_up_to_the_eccentricities_at_which_orbits_touch() {
        // Equal masses: both orbits are the more eccentric, the closer they are. With one of them circular, it takes e' = 1 - α of the outer one at
        // least; that costs more than the least deficit.
        let (m, a) = (1e-6, 1.2);
        let touching = ratio(&[[m, 1.0, 0.0], [m, a, 1.0 - 1.0 / a]]);
        assert!(touching > 1.0 && touching < 3.0, "{touching}");
        assert!(ratio(&[[m, 1.0, 0.01], [m, a, 0.01]]) < 0.1);
        // The pair that can meet most easily decides.
        let pair = ratio(&[[m, 1.0, 0.05], [m, a, 0.05], [m, 20.0, 0.0]]);
        assert!((pair / ratio(&[[m, 1.0, 0.05], [m, a, 0.05]]) - 1.0).abs() < 1e-3);
        for massless in 0..3 {
            let mut planets = [[m, 1.0, 0.0], [m, a, 0.1], [m, 2.0, 0.0]];
            planets[massless][0] = 0.0;
            assert!(ratio(&planets).is_nan(), "{massless}");
        }
    }

    #[test]
    fn the_critical_deficit_is_the_least_on_the_curve_of_collisions() {
        for (alpha, gamma) in [
            (0.3, 1.0),
            (0.8, 0.05),
            (0.8, 30.0),
            (0.97, 1.0),
            (0.1, 3.0),
        ] {
            let own = gamma * f64::sqrt(alpha);
            let found = critical([alpha, own], [1.0, 1.0]);
            let cost = |e: f64| 1.0 - (1.0 - e * e).sqrt();
            let on_curve = (0..=100_000).map(|i| {
                let e = f64::min(1.0, 1.0 / alpha - 1.0) * f64::from(i) / 100_000.0;
                own * cost(e) + cost(1.0 - alpha - alpha * e)
            });
            let least = on_curve.fold(f64::INFINITY, f64::min);
            assert!(
                (found / least - 1.0).abs() < 1e-8,
                "{alpha} {gamma}: {found} {least}"
            );
        }
    }
}
