//! Particles as arrays of structures of arrays, for SIMD lanes: packets of 8 particles with all first components, then all second
//! ones, and so on.

use kernels_gpu::{Real, Vec3};

/// Particles of a packet, a multiple of every number of lanes.
pub(super) const PACKET_PARTICLES: usize = 8;

/// Lanes in memory.
pub(super) trait LaneMemory: Real {
    /// One lane.
    type Element: Copy + Default;
    /// Reads the lanes from consecutive places.
    ///
    /// # Safety
    /// As many numbers as there are lanes must be readable at `from`, and the machine must have the instruction set.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes the lanes to consecutive places.
    ///
    /// # Safety
    /// As many numbers as there are lanes must be writable at `to`, and the machine must have the instruction set.
    unsafe fn store(self, to: *mut Self::Element);
}

macro_rules! memory {
    ($($lanes:ty, $element:ty;)*) => {$(
        impl LaneMemory for $lanes {
            type Element = $element;
            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                const { assert!(size_of::<$lanes>() == size_of::<$element>() * <$lanes as Real>::LANES) };
                // SAFETY: the lanes are that many numbers and nothing else; the caller vouches for the memory.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: as above.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
        }
    )*};
}

memory!(f64, f64; f32, f32;);
#[cfg(target_arch = "x86_64")]
memory!(trisolar_simd::F64x4, f64; trisolar_simd::F64x8, f64; trisolar_simd::F32x8, f32;);
#[cfg(target_arch = "aarch64")]
memory!(trisolar_simd::F64x2, f64; trisolar_simd::F32x4, f32;);

/// Numbers of particles, `components` each.
#[derive(Clone, Debug, Default)]
pub(super) struct AosoaBuffer<T = f64> {
    components: usize,
    data: Vec<T>,
}

impl<T: Copy + Default> AosoaBuffer<T> {
    /// All 0, for this many particles (a multiple of [`PACKET_PARTICLES`]).
    pub(super) fn zeroed(components: usize, places: usize) -> Self {
        assert!(places.is_multiple_of(PACKET_PARTICLES));
        Self {
            components,
            data: vec![T::default(); components * places],
        }
    }

    /// Makes it as [`zeroed`](Self::zeroed) does.
    pub(super) fn reset(&mut self, components: usize, places: usize) {
        assert!(places.is_multiple_of(PACKET_PARTICLES));
        self.components = components;
        self.data.clear();
        self.data.resize(components * places, T::default());
    }

    /// The index of a component of a particle.
    #[inline(always)]
    fn index(&self, place: usize, component: usize) -> usize {
        (place / PACKET_PARTICLES * self.components + component) * PACKET_PARTICLES
            + place % PACKET_PARTICLES
    }

    /// One number.
    #[inline(always)]
    pub(super) fn get(&self, place: usize, component: usize) -> T {
        self.data[self.index(place, component)]
    }

    /// Sets one number.
    #[inline(always)]
    pub(super) fn set(&mut self, place: usize, component: usize, value: T) {
        let index = self.index(place, component);
        self.data[index] = value;
    }

    /// Three numbers.
    #[inline(always)]
    pub(super) fn vector(&self, place: usize, component: usize) -> Vec3<T> {
        let get = |k| self.get(place, component + k);
        Vec3 {
            x: get(0),
            y: get(1),
            z: get(2),
        }
    }

    /// Sets three numbers.
    #[inline(always)]
    pub(super) fn set_vector(&mut self, place: usize, component: usize, v: Vec3<T>) {
        self.set(place, component, v.x);
        self.set(place, component + 1, v.y);
        self.set(place, component + 2, v.z);
    }

    /// The packets themselves, each `components` · [`PACKET_PARTICLES`] numbers.
    #[inline(always)]
    pub(super) fn data(&self) -> &[T] {
        &self.data
    }

    /// As [`data`](Self::data).
    #[inline(always)]
    pub(super) fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Numbers of a packet.
    #[inline(always)]
    pub(super) fn stride(&self) -> usize {
        self.components * PACKET_PARTICLES
    }
}

/// Three consecutive components of the lanes that begin at `from`.
///
/// # Safety
/// `from` must point into a packet, with three components from there on and as many places as there are lanes.
#[inline(always)]
pub(super) unsafe fn load_vector<R: LaneMemory>(from: *const R::Element) -> Vec3<R> {
    // SAFETY: the caller guarantees this.
    unsafe {
        Vec3 {
            x: R::load(from),
            y: R::load(from.add(PACKET_PARTICLES)),
            z: R::load(from.add(2 * PACKET_PARTICLES)),
        }
    }
}
