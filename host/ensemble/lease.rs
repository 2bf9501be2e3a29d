//! A pool of devices, and leases of them to computations.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trisolar_run::EngineError;

/// A pool of idle devices, with the number of devices opened so far.
pub(crate) struct DevicePool<K, D>(Arc<DevicePoolState<K, D>>);

/// The state of a [`DevicePool`].
struct DevicePoolState<K, D> {
    idle: Mutex<Vec<(K, D)>>,
    opened: AtomicU64,
}

impl<K, D> DevicePoolState<K, D> {
    fn idle(&self) -> MutexGuard<'_, Vec<(K, D)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, D> Clone for DevicePool<K, D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, D> Default for DevicePool<K, D> {
    fn default() -> Self {
        Self(Arc::new(DevicePoolState {
            idle: Mutex::new(Vec::new()),
            opened: AtomicU64::new(0),
        }))
    }
}

impl<K, D> fmt::Debug for DevicePool<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} opened)", self.opened())
    }
}

impl<K, D> DevicePool<K, D> {
    pub(crate) fn opened(&self) -> u64 {
        self.0.opened.load(Ordering::Relaxed)
    }
}

impl<K: Copy + PartialEq, D> DevicePool<K, D> {
    pub(crate) fn take(
        &self,
        key: K,
        open: impl FnOnce() -> Result<D, EngineError>,
    ) -> Result<Lease<K, D>, EngineError> {
        let mut idle = self.0.idle();
        let there = idle.iter().position(|(of, _)| *of == key);
        let there = there.map(|place| idle.swap_remove(place).1);
        drop(idle);
        let device = match there {
            Some(device) => device,
            None => {
                self.0.opened.fetch_add(1, Ordering::Relaxed);
                open()?
            }
        };
        Ok(Lease {
            key,
            device: Some(device),
            failed: AtomicBool::new(false),
            pool: self.0.clone(),
        })
    }
}

/// A device in use. When the lease is dropped, the device returns to the pool, unless it has failed: its state is then not known.
pub struct Lease<K: Copy, D> {
    key: K,
    device: Option<D>,
    failed: AtomicBool,
    pool: Arc<DevicePoolState<K, D>>,
}

impl<K: Copy, D> Lease<K, D> {
    /// Records a failure of the device.
    pub(crate) fn noting(&self, result: Result<(), EngineError>) -> Result<(), EngineError> {
        if let Err(error) = &result
            && !matches!(error, EngineError::Cancelled | EngineError::Sink(_))
        {
            self.failed.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl<K: Copy, D> Deref for Lease<K, D> {
    type Target = D;

    fn deref(&self) -> &D {
        self.device.as_ref().expect("it is there until the drop")
    }
}

impl<K: Copy, D> Drop for Lease<K, D> {
    fn drop(&mut self) {
        if let Some(device) = self.device.take()
            && !self.failed.load(Ordering::Relaxed)
        {
            self.pool.idle().push((self.key, device));
        }
    }
}

impl<K: Copy + fmt::Debug, D> fmt::Debug for Lease<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lease({:?})", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_failed_is_closed_and_opened_anew_and_others_are_used_again() {
        let pool = DevicePool::default();
        let mut number = 0;
        let mut take = |key: u32| {
            let lease = pool.take(key, || {
                number += 1;
                Ok(number)
            });
            lease.unwrap()
        };
        // Each lease ends with its line.
        for (key, device) in [(0, 1), (1, 2), (0, 1)] {
            assert_eq!(*take(key), device);
        }
        let failed = EngineError::NoGpu("it was pulled out".into());
        for (result, then) in [
            (Ok(()), 1),
            (Err(EngineError::Cancelled), 1),
            (Err(EngineError::Sink("full".into())), 1),
            (Err(failed), 3),
        ] {
            let lease = take(0);
            let ended = result.is_ok();
            assert_eq!(lease.noting(result).is_ok(), ended);
            // Two computations at the same time have a device each.
            drop(lease);
            assert_eq!(*take(0), then);
        }
        let one = take(1);
        assert_eq!((*one, *take(1)), (2, 4));
        assert_eq!(pool.opened(), 4);
    }
}
