//! What the integrators of many bodies work on: positions x, velocities v and the accelerations a(x), moved as wholes.

/// Bodies somewhere (in host memory, on a GPU, spread over ranks) that integrators can move.
pub trait System {
    /// Why an operation failed.
    type Error;

    /// a = accelerations at the present positions.
    ///
    /// # Errors
    /// What the engine says.
    fn accelerate(&mut self) -> Result<(), Self::Error>;

    /// v += h · a.
    ///
    /// # Errors
    /// What the engine says.
    fn kick(&mut self, h: f64) -> Result<(), Self::Error>;

    /// x += h · v.
    ///
    /// # Errors
    /// What the engine says.
    fn drift(&mut self, h: f64) -> Result<(), Self::Error>;

    /// v += h · a, then x += h_x · v.
    ///
    /// # Errors
    /// What the engine says.
    fn kick_drift(&mut self, h: f64, h_x: f64) -> Result<(), Self::Error> {
        self.kick(h)?;
        self.drift(h_x)
    }

    /// Begins a Runge–Kutta step: x₀ = x, v₀ = v, Σx = Σv = 0.
    ///
    /// # Errors
    /// What the engine says.
    fn rk_begin(&mut self) -> Result<(), Self::Error>;

    /// Ends a stage: Σx += weight · v, Σv += weight · a, then x = x₀ + h · v and v = v₀ + h · a with the v and a of the
    /// stage.
    ///
    /// # Errors
    /// What the engine says.
    fn rk_stage(&mut self, weight: f64, h: f64) -> Result<(), Self::Error>;

    /// Ends the step: x = x₀ + h · Σx, v = v₀ + h · Σv.
    ///
    /// # Errors
    /// What the engine says.
    fn rk_end(&mut self, h: f64) -> Result<(), Self::Error>;
}
