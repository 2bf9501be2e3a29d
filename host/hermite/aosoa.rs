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
///
/// The particles p, p + G, p + 2G, … that belong to the same partial sum are in consecutive packets, so that a force reads memory in
/// ascending order. The packets of 8 consecutive partial sums are a column.
#[derive(Clone, Debug, Default)]
pub(super) struct AosoaBuffer<T = f64> {
    components: usize,
    /// Number of columns, a power of two.
    columns: usize,
    /// Number of packets of a column: the terms of a partial sum.
    terms: usize,
    data: Vec<T>,
}

impl<T: Copy + Default> AosoaBuffer<T> {
    /// All 0, for this many particles and partial sums ([`partial_sums`](kernels_gpu::physics::summation::partial_sums::partial_sums), a
    /// multiple of [`PACKET_PARTICLES`]).
    pub(super) fn zeroed(components: usize, particles: usize, partial_sums: usize) -> Self {
        let mut buffer = Self::default();
        buffer.reset(components, particles, partial_sums);
        buffer
    }

    /// Makes it as [`zeroed`](Self::zeroed) does.
    pub(super) fn reset(&mut self, components: usize, particles: usize, partial_sums: usize) {
        assert!(partial_sums.is_power_of_two() && partial_sums >= PACKET_PARTICLES);
        self.components = components;
        self.columns = partial_sums / PACKET_PARTICLES;
        self.terms = particles.div_ceil(partial_sums);
        self.data.clear();
        let packets = self.columns * self.terms;
        self.data.resize(packets * self.stride(), T::default());
    }

    /// Number of partial sums.
    #[inline(always)]
    pub(super) fn partial_sums(&self) -> usize {
        self.columns * PACKET_PARTICLES
    }

    /// Number of particles of each partial sum.
    #[inline(always)]
    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    /// The packets of a column.
    #[inline(always)]
    pub(super) fn column(&self, column: usize) -> &[T] {
        let length = self.terms * self.stride();
        &self.data[column * length..(column + 1) * length]
    }

    /// The index of a component of a particle.
    #[inline(always)]
    fn index(&self, place: usize, component: usize) -> usize {
        let packet = place / PACKET_PARTICLES;
        let column = packet & (self.columns - 1);
        let term = packet >> self.columns.trailing_zeros();
        ((column * self.terms + term) * self.components + component) * PACKET_PARTICLES
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

/// Writes what [`load_vector`] reads.
///
/// # Safety
/// As [`load_vector`]; the numbers must be writable.
#[inline(always)]
pub(super) unsafe fn store_vector<R: LaneMemory>(v: Vec3<R>, to: *mut R::Element) {
    // SAFETY: the caller guarantees this.
    unsafe {
        v.x.store(to);
        v.y.store(to.add(PACKET_PARTICLES));
        v.z.store(to.add(2 * PACKET_PARTICLES));
    }
}

/// Three consecutive rows, in the lanes that begin at `lane`.
#[inline(always)]
pub(super) fn load_rows<R: LaneMemory<Element = f64>, const N: usize>(
    rows: &[[f64; PACKET_PARTICLES]; N],
    first: usize,
    lane: usize,
) -> Vec3<R> {
    let rows = &rows[first..first + 3];
    assert!(lane + R::LANES <= PACKET_PARTICLES);
    // SAFETY: the lanes are in the rows, and `rows` are three; values of type `R` exist only where the machine has the instruction set.
    unsafe { load_vector(rows.as_ptr().cast::<f64>().add(lane)) }
}

/// Writes what [`load_rows`] reads.
#[inline(always)]
pub(super) fn store_rows<R: LaneMemory<Element = f64>, const N: usize>(
    v: Vec3<R>,
    rows: &mut [[f64; PACKET_PARTICLES]; N],
    first: usize,
    lane: usize,
) {
    let rows = &mut rows[first..first + 3];
    assert!(lane + R::LANES <= PACKET_PARTICLES);
    // SAFETY: as above.
    unsafe { store_vector(v, rows.as_mut_ptr().cast::<f64>().add(lane)) };
}
