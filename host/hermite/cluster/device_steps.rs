//! Sequences of block steps that the engine performs by itself.

use std::str::FromStr;

use super::{Cluster, Counters, Split};
use crate::engine::{BlockStepOutcome, BlockStepRequest, Ended, HostParticles};
use crate::{HermiteError, Schedule};

/// Whether the host or the device performs block steps. The bits are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockSteps {
    /// The host corrects and chooses steps; the engine predicts and sums forces.
    #[default]
    Host,
    /// The engine's device performs whole block steps, many in a launch, without copies between them. The host performs block steps
    /// that may lead to a warning or an error.
    Device,
}

impl BlockSteps {
    /// `host` or `device`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// Selects whether the host or the device performs block steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockStep {
    /// The device if it can, because it is faster; otherwise the host.
    #[default]
    Auto,
    /// The named one.
    By(BlockSteps),
}

impl BlockStep {
    /// `auto`, `host` or `device`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::By(by) => by.name(),
        }
    }
}

impl FromStr for BlockStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [
            Self::Auto,
            Self::By(BlockSteps::Host),
            Self::By(BlockSteps::Device),
        ];
        let found = all.into_iter().find(|value| value.name() == text);
        found.ok_or_else(|| "must be auto, host or device".into())
    }
}

/// Where the current state of the particles is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Current {
    Host,
    Device,
    /// On the host, and on the device except for what the records that the engine has loaded or stored do not have, of those that
    /// the host has stepped.
    Both,
}

impl Cluster<'_> {
    /// Selects whether host or device performs block steps in [`advance`](Self::advance).
    ///
    /// # Errors
    /// [`HermiteError::NoBlockSteps`] if the engine or the scheme does not allow it.
    pub fn set_block_steps(&mut self, by: BlockSteps) -> Result<(), HermiteError> {
        let reason = match by {
            BlockSteps::Host => None,
            BlockSteps::Device if self.specification.close_pairs.is_some() => {
                Some("the host regularises close pairs".into())
            }
            BlockSteps::Device => self.engine.no_block_steps(&self.specification),
        };
        match reason {
            Some(reason) => Err(HermiteError::NoBlockSteps {
                device: self.engine.device(),
                reason,
            }),
            None => {
                self.block_steps = by;
                Ok(())
            }
        }
    }

    /// Whether host or device performs block steps in [`advance`](Self::advance).
    pub fn block_steps(&self) -> BlockSteps {
        self.block_steps
    }

    /// Steps block by block up to the last block that is not after `time`, or until `go_on` returns false. It is called with the
    /// time after each block step, or after each sequence of block steps on the device. Returns whether `time` was reached.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn advance(
        &mut self,
        time: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, HermiteError> {
        let reached = match self.block_steps {
            BlockSteps::Host => self.advance_by_host(time, go_on),
            BlockSteps::Device => self.advance_by_device(time, go_on),
        }?;
        self.bring_home()?;
        Ok(reached)
    }

    fn advance_by_host(
        &mut self,
        time: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, HermiteError> {
        while self.next_time() <= time {
            self.step()?;
            if !go_on(self.time()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn advance_by_device(
        &mut self,
        time: f64,
        go_on: &mut dyn FnMut(f64) -> bool,
    ) -> Result<bool, HermiteError> {
        loop {
            match self.perform_block_steps(time)? {
                Ended::AtEnd => return Ok(true),
                Ended::ForNow => {}
                Ended::ForHost => {
                    self.bring_home()?;
                    self.step()?;
                }
            }
            if !go_on(self.last_time()) {
                return Ok(false);
            }
        }
    }

    /// Time of the last block step, on host or device.
    fn last_time(&self) -> f64 {
        match self.current {
            Current::Device => self.device_time,
            Current::Host | Current::Both => self.schedule.time(),
        }
    }

    fn perform_block_steps(&mut self, end: f64) -> Result<Ended, HermiteError> {
        let places = match self.current {
            Current::Host => Some(None),
            Current::Both if !self.stepped.is_empty() => {
                self.stepped.sort_unstable();
                self.stepped.dedup();
                Some(Some(&self.stepped[..]))
            }
            Current::Both | Current::Device => None,
        };
        let particles = places.map(|places| HostParticles {
            stars: &self.stars,
            parts: self.split_forces.as_ref().map_or(&[], |s| &s.parts),
            places,
        });
        let request = BlockStepRequest {
            specification: &self.specification,
            time: self.last_time(),
            end,
            particles,
        };
        let outcome = self.engine.perform_block_steps(&request)?;
        if let Some(state) = &mut self.split_forces {
            state.sent();
        }
        self.current = Current::Device;
        self.stepped.clear();
        self.device_time = outcome.time;
        self.counters.add(&outcome);
        self.split.add(&outcome.split);
        Ok(outcome.ended)
    }

    /// Notes a block step by the host, after it has stored the records of these particles.
    pub(super) fn note_step(&mut self, active: &[u32]) {
        let most = self.stars.len();
        if self.current == Current::Both && self.stepped.len() + active.len() <= most {
            self.stepped.extend(active);
        } else {
            self.current = Current::Host;
            self.stepped.clear();
        }
    }

    /// Fetches the particles if their current state is on the device only.
    fn bring_home(&mut self) -> Result<(), HermiteError> {
        if self.current == Current::Device {
            let parts = match &mut self.split_forces {
                Some(state) => &mut state.parts[..],
                None => &mut [],
            };
            self.engine.fetch(&mut self.stars, parts)?;
            let lengths = self.stars.iter().map(|s| s.step);
            let longest = self.specification.max_step;
            self.schedule = Schedule::new(longest, self.device_time, lengths);
            self.current = Current::Both;
        }
        Ok(())
    }
}

impl Counters {
    fn add(&mut self, outcome: &BlockStepOutcome) {
        self.blocks += outcome.blocks;
        self.steps += outcome.steps;
        self.noisy += outcome.noisy;
        self.clamped += outcome.clamped;
        self.regular_steps += outcome.regular_steps;
        self.irregular_pairs += outcome.irregular_pairs;
        self.overflows += outcome.overflows;
        for (to, from) in [
            (&mut self.active, &outcome.active),
            (&mut self.lengths, &outcome.lengths),
        ] {
            for (bin, n) in from.iter().enumerate().filter(|(_, n)| **n > 0) {
                Self::count(to, bin, *n);
            }
        }
    }
}

impl Split {
    fn add(&mut self, other: &Self) {
        self.predict += other.predict;
        self.force += other.force;
        self.irregular += other.irregular;
        self.correct += other.correct;
        self.schedule += other.schedule;
    }
}
