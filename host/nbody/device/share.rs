//! The distribution of rows over several GPUs.

/// `rows` rows from `row` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub row: u32,
    pub rows: u32,
}

/// Rows in rounds of a part for each device: in a round all devices compute at the same time, then add up one after the other.
/// A device's part needs no more than `most` numbers of memory for partial sums, if that is enough for a single row;
/// `at_once` bounds the rows of a part. The parts of a round have about the same work: row ρ of R has R - ρ pairs of rows.
pub(super) fn rounds(
    rows: u32,
    row_length: u32,
    devices: u32,
    most: u64,
    at_once: u32,
) -> Vec<Vec<Rows>> {
    let mut list = Vec::new();
    let mut start = 0;
    while start < rows {
        let fits = |count: u32| {
            parts(start, count, rows, devices).iter().all(|part| {
                let stride = u64::from(rows - part.row) * u64::from(row_length);
                part.rows <= at_once && 3 * stride * u64::from(part.rows) <= most
            })
        };
        // The largest round that fits, or a row for each device.
        let mut low = devices.min(rows - start);
        let mut high = rows - start;
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        list.push(parts(start, low, rows, devices));
        start += low;
    }
    list
}

/// `count` rows from `start` on, cut into a contiguous part of about the same work for each device; some may have no rows.
fn parts(start: u32, count: u32, all: u32, devices: u32) -> Vec<Rows> {
    // Work of the rows before `row`, from `start` on, twice.
    let work = |row: u32| {
        let (a, b) = (u64::from(all - start), u64::from(all - row));
        a * (a + 1) - b * (b + 1)
    };
    let whole = work(start + count);
    let mut list = Vec::new();
    let mut row = start;
    for device in 1..=devices {
        let goal = whole * u64::from(device) / u64::from(devices);
        let mut end = row;
        while end < start + count && work(end) + work(end + 1) < 2 * goal {
            end += 1;
        }
        if device == devices {
            end = start + count;
        }
        list.push(Rows {
            row,
            rows: end - row,
        });
        row = end;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_dealt_once_and_in_order() {
        for rows in [1, 2, 3, 7, 64, 1000] {
            for devices in [1, 2, 3, 4] {
                for (most, at_once) in [
                    (u64::MAX, u32::MAX),
                    (1, 1),
                    (3 * 64 * 256 * 9, u32::MAX),
                    (u64::MAX, 5),
                ] {
                    let mut next = 0;
                    for part in rounds(rows, 256, devices, most, at_once).concat() {
                        assert_eq!(part.row, next);
                        next += part.rows;
                    }
                    assert_eq!(next, rows);
                }
            }
        }
    }

    #[test]
    fn parts_are_about_the_same_work() {
        let all = 4096;
        let list = rounds(all, 256, 4, u64::MAX, u32::MAX);
        assert_eq!(list.len(), 1);
        let work: Vec<u64> = list[0]
            .iter()
            .map(|p| (p.row..p.row + p.rows).map(|r| u64::from(all - r)).sum())
            .collect();
        let (least, most) = (work.iter().min().unwrap(), work.iter().max().unwrap());
        assert!(*most as f64 / *least as f64 <= 1.005, "{work:?}");
    }
}
