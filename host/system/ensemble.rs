//! The ensemble that items of own equations are, and its engine for the lanes of a CPU.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trisolar_bodies::Points;
use trisolar_ensemble::plain::{self, Layout};
use trisolar_ensemble::{Ensemble, Task};
use trisolar_run::partial::Contents;
use trisolar_run::queue::{Pace, Share};
use trisolar_run::{EngineError, Workers};
use trisolar_simd::Simd;
use trisolar_spec::SpecError;

use crate::table::{Rows, Table};
use crate::{DeviceEngine, Equations, Specification, Validated};

/// The specification in the record of an unfinished computation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SystemContents {
    /// The specification with every value.
    pub specification: Specification,
}

impl Contents for SystemContents {
    const COMMAND: &'static str = "map";
    const NAME: &'static str = "ensemble of own equations";
    const ITEMS: &'static str = "items";

    fn difference(&self, there: &Self) -> Option<String> {
        let differences = trisolar_ensemble::differences(&there.specification, &self.specification);
        (!differences.is_empty()).then(|| differences.join(", "))
    }
}

impl<Q: Equations> Validated<Q> {
    /// Number of columns of an item.
    pub fn width(&self) -> usize {
        self.job().columns.count_ones() as usize
    }
}

impl<Q: Equations> Ensemble for Validated<Q> {
    const AUTO_GPU_ITEMS: u64 = 4_000;

    type Contents = SystemContents;
    type Slice<'a> = Rows<'a>;
    type Values = Table;
    type Gpu = DeviceEngine;

    fn contents(&self) -> SystemContents {
        SystemContents {
            specification: self.specification().clone(),
        }
    }

    fn of_contents(
        contents: &SystemContents,
        _: impl FnOnce() -> Result<Points, SpecError>,
    ) -> Result<Self, SpecError> {
        let specification = contents.specification.clone();
        Self::new(Q::of_source(&specification.system)?, specification)
    }

    fn layout(&self, _: &Path) -> Layout {
        Layout {
            item: self.width() * size_of::<f64>(),
            ..plain::layout::<f64>(self.count())
        }
    }

    fn items(&self) -> u64 {
        self.count()
    }

    fn bytes_needed(&self) -> u64 {
        // As much memory again must be free for the buffers of the engines.
        self.count().saturating_mul(16 * self.width() as u64)
    }

    fn blank(&self) -> Option<Table> {
        let count = self.count().checked_mul(self.width() as u64)?;
        Some(Table {
            numbers: plain::blank(count)?,
            width: self.width(),
        })
    }

    fn put(all: &mut Table, first: usize, rows: Rows<'_>) {
        all.numbers[first * all.width..][..rows.numbers.len()].copy_from_slice(rows.numbers);
    }

    fn slice(all: &Table) -> Rows<'_> {
        Rows {
            numbers: &all.numbers,
            width: all.width,
        }
    }

    fn of_bytes(&self, bytes: &[u8]) -> Option<Table> {
        let numbers: Vec<f64> = plain::of_bytes(bytes)?;
        let width = self.width();
        (numbers.len().is_multiple_of(width)).then_some(Table { numbers, width })
    }

    fn lanes(&self, simd: Simd) -> usize {
        self.equations().lanes(simd)
    }

    fn on_lanes(
        task: &Task<'_, Self>,
        workers: &Workers,
        share: Share<'_>,
    ) -> Result<(), EngineError> {
        let (spec, simd) = (task.spec, workers.simd());
        let (lanes, width) = (spec.lanes(simd), spec.width());
        let ended = std::sync::atomic::AtomicU64::new(0);
        let results = workers.broadcast(|_| {
            loop {
                let (mut spans, mut items) = (Vec::new(), Vec::new());
                // Lanes without an item take as long as others: a thread draws spans until all are taken.
                while items.is_empty() || items.len() % lanes > 0 {
                    let most = match items.len() % lanes {
                        0 => 16 * lanes,
                        taken => lanes - taken,
                    };
                    let threads = workers.threads() as u64;
                    let span = share.draw_for_thread(Pace::default(), most as u64, threads)?;
                    let Some(span) = span else { break };
                    items.extend(span.clone());
                    spans.push(span);
                }
                if items.is_empty() {
                    match share.wait()? {
                        true => continue,
                        false => return Ok(()),
                    }
                }
                let mut numbers = vec![0.0; items.len() * width];
                let groups = items.chunks(lanes);
                for (group, numbers) in groups.zip(numbers.chunks_mut(lanes * width)) {
                    let mut write = |lane, place, number| numbers[lane * width + place] = number;
                    spec.equations().follow(simd, spec.job(), group, &mut write);
                    share.check()?;
                }
                let mut rest = numbers.as_slice();
                for span in spans {
                    let (numbers, others) = rest.split_at((span.end - span.start) as usize * width);
                    task.deliver(share, span.start, Rows { numbers, width })?;
                    rest = others;
                }
                let count = items.len() as u64;
                share.report(count + ended.fetch_add(count, std::sync::atomic::Ordering::Relaxed));
            }
        });
        results.into_iter().collect()
    }
}
