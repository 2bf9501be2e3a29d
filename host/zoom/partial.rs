//! What is done of a frame that is not finished: a file that grows by a record after each band, and that a run that was
//! killed at any moment leaves usable.
//!
//! A record is the number of its values and their CRC-32, both u32, then the values, all little-endian. Records follow each
//! other in pixel order; one that is cut off or damaged ends what counts.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::io::IoError;

/// An unfinished frame on disk, and its values in memory.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    file: File,
    times: Vec<u32>,
}

impl Partial {
    /// Goes on with the file if there is one; at most `pixels` values of it count.
    ///
    /// # Errors
    /// The file cannot be created, read or cut to what counts of it.
    pub fn open(path: &Path, pixels: usize) -> Result<Self, IoError> {
        let failed = |operation| move |e| IoError::system(path, operation, e);
        // A device would be read without end.
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            let reason = std::io::Error::other("it is not a regular file");
            return Err(failed("write")(reason));
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(failed("create"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let (times, valid) = records(&bytes, pixels);
        file.set_len(valid as u64).map_err(failed("write"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("write"))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            times,
        })
    }

    /// The values that are done, in pixel order.
    pub fn times(&self) -> &[u32] {
        &self.times
    }

    /// Adds the values that come next; they are on disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written. What was there before counts on.
    pub fn append(&mut self, times: &[u32]) -> Result<(), IoError> {
        let values: Vec<u8> = times.iter().flat_map(|t| t.to_le_bytes()).collect();
        let mut record = Vec::with_capacity(values.len() + 8);
        record.extend((times.len() as u32).to_le_bytes());
        record.extend(crc32fast::hash(&values).to_le_bytes());
        record.extend(values);
        let written = self
            .file
            .write_all(&record)
            .and_then(|()| self.file.sync_data());
        written.map_err(|e| IoError::system(&self.path, "write", e))?;
        self.times.extend(times);
        Ok(())
    }

    /// All values; the file stays until it is removed.
    pub fn into_times(self) -> Vec<u32> {
        self.times
    }
}

/// The values of the whole records, up to `most` of them, and how many bytes they take.
fn records(bytes: &[u8], most: usize) -> (Vec<u32>, usize) {
    let (mut times, mut valid) = (Vec::new(), 0);
    while let Some((head, rest)) = bytes[valid..].split_at_checked(8) {
        let number =
            |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let count = number(0) as usize;
        let Some(values) = rest.get(..4 * count) else {
            break;
        };
        if count == 0 || times.len() + count > most || crc32fast::hash(values) != number(4) {
            break;
        }
        let (fours, _) = values.as_chunks::<4>();
        times.extend(fours.iter().map(|b| u32::from_le_bytes(*b)));
        valid += 8 + 4 * count;
    }
    (times, valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_byte_a_run_was_killed_at_the_bands_before_it_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let mut partial = Partial::open(&path, 10).expect("opens");
        partial.append(&[1, 2, 3]).expect("writes");
        partial.append(&[4, 5]).expect("writes");
        drop(partial);
        let whole = std::fs::read(&path).expect("reads");
        assert_eq!(whole.len(), 8 + 12 + 8 + 8);
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).expect("writes");
            let mut partial = Partial::open(&path, 10).expect("opens");
            let expected: &[u32] = match cut {
                0..20 => &[],
                20..36 => &[1, 2, 3],
                _ => &[1, 2, 3, 4, 5],
            };
            assert_eq!(partial.times(), expected, "{cut}");
            partial.append(&[9]).expect("writes");
            drop(partial);
            let again = Partial::open(&path, 10).expect("opens");
            assert_eq!(again.times(), [expected, &[9]].concat(), "{cut}");
        }
    }

    #[test]
    fn damaged_values_and_values_of_another_map_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.part");
        let mut partial = Partial::open(&path, 10).expect("opens");
        partial.append(&[1, 2, 3]).expect("writes");
        drop(partial);
        assert_eq!(Partial::open(&path, 2).expect("opens").times(), [0; 0]);
        let mut partial = Partial::open(&path, 10).expect("opens");
        partial.append(&[1, 2, 3]).expect("writes");
        drop(partial);
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[13] ^= 1;
        std::fs::write(&path, bytes).expect("writes");
        assert_eq!(Partial::open(&path, 10).expect("opens").times(), [0; 0]);
    }
}
