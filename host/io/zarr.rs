//! Arrays with named dimensions in one file: a Zarr 3 store in a zip archive, which `xarray.open_zarr` and `zarr` read.
//!
//! The values are in chunks, each compressed by itself (gzip), so that a reader need not load an array as a whole. The members of the
//! archive are not compressed again. The same contents give the same bytes.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::IoError;
use super::atomic::AtomicFile;
use super::npy::{self, Element, check_count, data_error};
use super::npz::{ArchiveFile, member_options, written};

/// The end of the name of such a file.
pub const EXTENSION: &str = "zarr.zip";

/// Bytes of a chunk at most, unless a single value has more.
const CHUNK_BYTES: usize = 1 << 22;

/// Level of the compression, as of npz files.
const LEVEL: u32 = 4;

/// The name of the metadata of an array or of the store.
const METADATA: &str = "zarr.json";

/// Texts about an array or the store, by name.
pub type Attributes<'a> = [(&'a str, &'a str)];

/// An array to be written.
#[derive(Debug, Clone, Copy)]
pub struct Variable<'a, T> {
    /// Its name. An array of one dimension with the name of that dimension holds the coordinates along it.
    pub name: &'a str,
    /// The names of its dimensions, as many as `shape` has lengths.
    pub dimensions: &'a [&'a str],
    /// Length along each dimension.
    pub shape: &'a [usize],
    /// The values in C order.
    pub values: &'a [T],
    /// What is known about it, such as `units` and `long_name`.
    pub attributes: &'a Attributes<'a>,
}

impl<'a, T> Variable<'a, T> {
    /// The same with other values.
    pub fn with_values<U>(self, values: &'a [U]) -> Variable<'a, U> {
        let Self {
            name,
            dimensions,
            shape,
            attributes,
            ..
        } = self;
        Variable {
            name,
            dimensions,
            shape,
            values,
            attributes,
        }
    }
}

/// A store being written; it appears under its name on [`ZarrWriter::finish`].
pub struct ZarrWriter {
    path: PathBuf,
    zip: ZipWriter<ArchiveFile>,
    /// The metadata of the arrays so far.
    metadata: Map<String, Value>,
}

impl ZarrWriter {
    /// Begins the file.
    ///
    /// # Errors
    /// As [`AtomicFile::create`].
    pub fn create(path: impl AsRef<Path>) -> Result<Self, IoError> {
        let path = path.as_ref().to_owned();
        let zip = ZipWriter::new(ArchiveFile::new(AtomicFile::create(&path)?));
        Ok(Self {
            path,
            zip,
            metadata: Map::new(),
        })
    }

    /// Adds an array.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); [`IoError::Data`] if there are not as many values as the shape asks for.
    pub fn array<T: Element>(&mut self, variable: &Variable<'_, T>) -> Result<(), IoError> {
        self.array_by(variable, CHUNK_BYTES)
    }

    /// As [`array`](Self::array), in chunks of at most `most` bytes.
    fn array_by<T: Element>(
        &mut self,
        variable: &Variable<'_, T>,
        most: usize,
    ) -> Result<(), IoError> {
        let values = variable.values;
        let refuse = |reason| refused(&self.path, variable.name, reason);
        check_count(variable.shape, values.len()).map_err(refuse)?;
        let mut array = self.begin_by(&variable.with_values(&[]), most)?;
        array.extend(values)?;
        array.end()
    }

    /// Begins an array whose values come in pieces and need not be in memory together; those of `about` are not used.
    ///
    /// # Errors
    /// [`IoError::Data`] if the name is empty, already used or contains a path separator, or if the number of dimensions is not that of
    /// lengths; a failed write.
    pub fn begin<T: Element>(
        &mut self,
        about: &Variable<'_, ()>,
    ) -> Result<ArrayWriter<'_, T>, IoError> {
        self.begin_by(about, CHUNK_BYTES)
    }

    /// As [`begin`](Self::begin), in chunks of at most `most` bytes.
    fn begin_by<T: Element>(
        &mut self,
        about: &Variable<'_, ()>,
        most: usize,
    ) -> Result<ArrayWriter<'_, T>, IoError> {
        let chunk = chunk_shape(about.shape, most / size_of::<T>());
        let is_real = T::NAME.starts_with("float");
        let kind = Kind {
            data_type: T::NAME,
            fill: if is_real { json!(0.0) } else { json!(0) },
            codec: json!({ "name": "bytes", "configuration": { "endian": "little" } }),
        };
        self.declare(about, &chunk, kind)?;
        let counts: Vec<usize> = (about.shape.iter().zip(&chunk))
            .map(|(length, of_chunk)| length.div_ceil(*of_chunk))
            .collect();
        Ok(ArrayWriter {
            store: self,
            name: about.name.to_owned(),
            missing: about.shape.iter().product(),
            shape: about.shape.to_owned(),
            chunk,
            counts,
            next: 0,
            pending: Vec::new(),
        })
    }

    /// Adds an array of texts, in C order.
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub fn texts(&mut self, about: &Variable<'_, ()>, texts: &[String]) -> Result<(), IoError> {
        let refuse = |reason| refused(&self.path, about.name, reason);
        check_count(about.shape, texts.len()).map_err(refuse)?;
        let chunk: Vec<usize> = about.shape.iter().map(|length| *length.max(&1)).collect();
        let kind = Kind {
            data_type: "string",
            fill: json!(""),
            codec: json!({ "name": "vlen-utf8" }),
        };
        self.declare(about, &chunk, kind)?;
        if texts.is_empty() {
            return Ok(());
        }
        let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
        for text in texts {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let packed = packed(|file| file.write_all(&bytes));
        let packed = packed.map_err(|e| IoError::system(&self.path, "write", e))?;
        let first = key(&vec![0; chunk.len()]);
        self.member(&format!("{}/c{first}", about.name), &packed)
    }

    /// Writes the metadata of an array.
    fn declare(
        &mut self,
        about: &Variable<'_, ()>,
        chunk: &[usize],
        kind: Kind,
    ) -> Result<(), IoError> {
        let Variable {
            name,
            dimensions,
            shape,
            ..
        } = *about;
        let refuse = |reason: String| Err(refused(&self.path, name, reason));
        if name.is_empty() || name.contains(['/', '\\', '\0']) || name.starts_with('.') {
            return refuse("this cannot be the name of an array".into());
        }
        if self.metadata.contains_key(name) {
            return refuse("there is one of this name".into());
        }
        if dimensions.len() != shape.len() {
            let (names, lengths) = (dimensions.len(), shape.len());
            return refuse(format!("{names} dimensions, {lengths} lengths"));
        }
        let metadata = array_metadata(about, chunk, kind);
        self.member(&format!("{name}/{METADATA}"), pretty(&metadata).as_bytes())?;
        self.metadata.insert(name.to_owned(), metadata);
        Ok(())
    }

    /// Adds the metadata of the store, and gives the complete file its name.
    ///
    /// # Errors
    /// As [`AtomicFile::commit`]. No part of the file remains.
    pub fn finish(mut self, attributes: &Attributes<'_>) -> Result<(), IoError> {
        let metadata = json!({
            "zarr_format": 3,
            "node_type": "group",
            "attributes": texts(attributes),
            // With it, a reader opens the store without looking for its arrays.
            "consolidated_metadata": {
                "kind": "inline",
                "must_understand": false,
                "metadata": std::mem::take(&mut self.metadata),
            },
        });
        self.member(METADATA, pretty(&metadata).as_bytes())?;
        let Self { path, zip, .. } = self;
        zip.finish()
            .map_err(|e| written(&path, e))
            .and_then(ArchiveFile::commit)
    }

    /// Adds a member of the archive.
    fn member(&mut self, name: &str, bytes: &[u8]) -> Result<(), IoError> {
        let options: SimpleFileOptions =
            member_options(bytes.len()).compression_method(CompressionMethod::Stored);
        self.zip
            .start_file(name, options)
            .map_err(|e| written(&self.path, e))?;
        self.zip
            .write_all(bytes)
            .map_err(|e| IoError::system(&self.path, "write", e))
    }
}

/// An array of a store, whose values come in pieces, in C order.
pub struct ArrayWriter<'a, T> {
    store: &'a mut ZarrWriter,
    name: String,
    shape: Vec<usize>,
    /// The shape of a chunk. The values of a chunk are contiguous in the array.
    chunk: Vec<usize>,
    /// Number of chunks along each dimension.
    counts: Vec<usize>,
    /// The next chunk to be written.
    next: usize,
    /// The first values of that chunk.
    pending: Vec<T>,
    /// Number of values that are still to come.
    missing: usize,
}

impl<T: Element> ArrayWriter<'_, T> {
    /// Adds values at the end. Chunks are written when they are complete.
    ///
    /// # Errors
    /// [`IoError::Data`] if these are more values than the shape asks for; a failed write.
    pub fn extend(&mut self, mut values: &[T]) -> Result<(), IoError> {
        if values.len() > self.missing {
            let (given, missing) = (values.len(), self.missing);
            return Err(self.refused(format!("{given} values, where {missing} are missing")));
        }
        self.missing -= values.len();
        while !values.is_empty() {
            let wanted = self.length(self.next);
            if self.pending.is_empty() && values.len() >= wanted {
                values = self.put_whole_chunks(values)?;
                continue;
            }
            let here = values.len().min(wanted - self.pending.len());
            self.pending.extend_from_slice(&values[..here]);
            values = &values[here..];
            if self.pending.len() == wanted {
                let chunk = std::mem::take(&mut self.pending);
                self.put(&[&chunk])?;
            }
        }
        Ok(())
    }

    /// Ends the array.
    ///
    /// # Errors
    /// [`IoError::Data`] if values are missing.
    pub fn end(self) -> Result<(), IoError> {
        match self.missing {
            0 => Ok(()),
            missing => Err(self.refused(format!("{missing} values are missing"))),
        }
    }

    /// Writes the chunks with which these values begin, as many as there are threads, and returns the values behind them.
    fn put_whole_chunks<'v>(&mut self, mut values: &'v [T]) -> Result<&'v [T], IoError> {
        let mut chunks = Vec::new();
        while chunks.len() < rayon::current_num_threads() && !values.is_empty() {
            let length = self.length(self.next + chunks.len());
            let Some((chunk, rest)) = values.split_at_checked(length) else {
                break;
            };
            chunks.push(chunk);
            values = rest;
        }
        self.put(&chunks)?;
        Ok(values)
    }

    /// Writes the next chunks. They are compressed at the same time; the bytes do not depend on how many there are.
    fn put(&mut self, chunks: &[&[T]]) -> Result<(), IoError> {
        let all: usize = self.chunk.iter().product();
        let packed: Vec<std::io::Result<Vec<u8>>> = chunks
            .par_iter()
            .map(|values| {
                packed(|file| {
                    npy::write_values(file, values)?;
                    // Those that lie behind the end of the array.
                    npy::write_values(file, &vec![T::zeroed(); all - values.len()])
                })
            })
            .collect();
        for bytes in packed {
            let bytes = bytes.map_err(|e| IoError::system(&self.store.path, "write", e))?;
            let key = key(&place(self.next, &self.counts));
            let name = format!("{}/c{key}", self.name);
            self.store.member(&name, &bytes)?;
            self.next += 1;
        }
        Ok(())
    }

    /// Number of values of a chunk before the end of the array.
    fn length(&self, k: usize) -> usize {
        let place = place(k, &self.counts);
        let axes = self.shape.iter().zip(&self.chunk).zip(&place);
        axes.map(|((length, of_chunk), index)| *of_chunk.min(&(length - index * of_chunk)))
            .product()
    }

    fn refused(&self, reason: String) -> IoError {
        refused(&self.store.path, &self.name, reason)
    }
}

/// What the metadata of an array says about its values.
struct Kind {
    data_type: &'static str,
    fill: Value,
    /// How values become bytes.
    codec: Value,
}

fn refused(path: &Path, name: &str, reason: String) -> IoError {
    data_error(path, format!("array {name}: {reason}"))
}

/// The end of the name of the chunk at this place.
fn key(place: &[usize]) -> String {
    place.iter().map(|i| format!("/{i}")).collect()
}

/// The shape of the chunks of an array, which have at most `most` values that follow each other in memory.
fn chunk_shape(shape: &[usize], most: usize) -> Vec<usize> {
    let mut room = most.max(1);
    let mut chunk = vec![1; shape.len()];
    for (of_chunk, &length) in chunk.iter_mut().zip(shape).rev() {
        *of_chunk = length.clamp(1, room);
        room /= length.max(1);
        if room == 0 {
            break;
        }
    }
    chunk
}

/// The index along each dimension of element `k` of an array of this shape, in C order: the last dimension runs fastest.
pub fn place(mut k: usize, shape: &[usize]) -> Vec<usize> {
    let mut place = vec![0; shape.len()];
    for (index, length) in place.iter_mut().zip(shape).rev() {
        *index = k % length;
        k /= length;
    }
    place
}

/// The compressed bytes that `write` writes.
fn packed(
    write: impl FnOnce(&mut GzEncoder<Vec<u8>>) -> std::io::Result<()>,
) -> std::io::Result<Vec<u8>> {
    let mut file = GzBuilder::new().write(Vec::new(), Compression::new(LEVEL));
    write(&mut file)?;
    file.finish()
}

fn array_metadata(about: &Variable<'_, ()>, chunk: &[usize], kind: Kind) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": about.shape,
        "data_type": kind.data_type,
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": kind.fill,
        "codecs": [
            kind.codec,
            { "name": "gzip", "configuration": { "level": LEVEL } },
        ],
        "attributes": texts(about.attributes),
        "dimension_names": about.dimensions,
        "storage_transformers": [],
    })
}

fn texts(attributes: &Attributes<'_>) -> Map<String, Value> {
    let texts = attributes.iter();
    texts
        .map(|(name, text)| ((*name).to_owned(), json!(text)))
        .collect()
}

fn pretty(metadata: &Value) -> String {
    format!("{metadata:#}\n")
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use zip::ZipArchive;

    use super::*;

    fn member(zip: &mut ZipArchive<File>, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut member = zip.by_name(name).expect(name);
        assert_eq!(member.compression(), CompressionMethod::Stored);
        member.read_to_end(&mut bytes).expect("bytes");
        bytes
    }

    /// Reads an array by its metadata only.
    fn read(zip: &mut ZipArchive<File>, name: &str) -> (Vec<usize>, Vec<u32>) {
        let about: Value =
            serde_json::from_slice(&member(zip, &format!("{name}/{METADATA}"))).expect("metadata");
        let lengths = |value: &Value| -> Vec<usize> {
            let all = value.as_array().expect("lengths").iter();
            all.map(|n| n.as_u64().expect("a length") as usize)
                .collect()
        };
        let shape = lengths(&about["shape"]);
        let chunk = lengths(&about["chunk_grid"]["configuration"]["chunk_shape"]);
        assert_eq!(about["data_type"], "uint32");
        let mut values = vec![u32::MAX; shape.iter().product()];
        let counts: Vec<usize> = (shape.iter().zip(&chunk))
            .map(|(n, of_chunk)| n.div_ceil(*of_chunk))
            .collect();
        for k in 0..counts.iter().product() {
            let place = place(k, &counts);
            let key: Vec<String> = place.iter().map(usize::to_string).collect();
            let packed = member(zip, &format!("{name}/c/{}", key.join("/")));
            let mut bytes = Vec::new();
            GzDecoder::new(&packed[..])
                .read_to_end(&mut bytes)
                .expect("gzip");
            assert_eq!(bytes.len(), 4 * chunk.iter().product::<usize>());
            for (i, value) in bytes.chunks_exact(4).enumerate() {
                // Where the standard says that value i of the chunk is.
                let mut rest = i;
                let mut at = vec![0; shape.len()];
                for axis in (0..shape.len()).rev() {
                    at[axis] = place[axis] * chunk[axis] + rest % chunk[axis];
                    rest /= chunk[axis];
                }
                if at.iter().zip(&shape).all(|(i, n)| i < n) {
                    let flat = at.iter().zip(&shape).fold(0, |flat, (i, n)| flat * n + i);
                    values[flat] = u32::from_le_bytes(value.try_into().expect("four bytes"));
                }
            }
        }
        (shape, values)
    }

    #[test]
    fn arrays_come_back_from_chunks_of_any_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zarr.zip");
        let numbers: Vec<u32> = (0..5 * 7 * 3).collect();
        for most in [1, 8, 12, 40, 84, 100, 252, 1 << 20] {
            let mut file = ZarrWriter::create(&path).expect("a file");
            for shape in [&[5, 7, 3][..], &[105]] {
                let name = ["flat", "", "cube"][shape.len() - 1];
                let dimensions = &["a", "b", "c"][..shape.len()];
                let variable = Variable {
                    name,
                    dimensions,
                    shape,
                    values: &numbers,
                    attributes: &[("units", "steps")],
                };
                file.array_by(&variable, most).expect("an array");
                assert!(file.array(&variable).is_err(), "its name is taken");
                // The same in pieces of any length, and with one value too many.
                for pieces in [1, 4, 21, 50, 105] {
                    let name = format!("{name}-{pieces}");
                    let about = Variable {
                        name: &name,
                        ..variable.with_values(&[])
                    };
                    let mut array = file.begin_by(&about, most).expect("an array");
                    for piece in numbers.chunks(pieces) {
                        array.extend(piece).expect("values");
                    }
                    assert!(array.extend(&[0]).is_err());
                    array.end().expect("an array");
                }
            }
            file.finish(&[("specification", "x = 1\n")])
                .expect("a store");
            let mut zip = ZipArchive::new(File::open(&path).expect("a file")).expect("a zip");
            assert_eq!(read(&mut zip, "cube"), (vec![5, 7, 3], numbers.clone()));
            assert_eq!(read(&mut zip, "flat"), (vec![105], numbers.clone()));
            let names: Vec<String> = zip
                .file_names()
                .map(|name| name.expect("a name").into_owned())
                .collect();
            for name in names.iter().filter(|name| name.contains("-")) {
                let (array, key) = name.split_once('/').expect("a member of an array");
                let (whole, _) = array.split_once('-').expect("a name with a length");
                let whole = member(&mut zip, &format!("{whole}/{key}"));
                assert_eq!(member(&mut zip, name), whole, "{name}");
            }
            let store: Value =
                serde_json::from_slice(&member(&mut zip, METADATA)).expect("metadata");
            assert_eq!(store["attributes"]["specification"], "x = 1\n");
            for name in ["flat", "cube"] {
                let alone: Value =
                    serde_json::from_slice(&member(&mut zip, &format!("{name}/{METADATA}")))
                        .expect("metadata");
                assert_eq!(store["consolidated_metadata"]["metadata"][name], alone);
                assert_eq!(alone["attributes"]["units"], "steps");
            }
        }
    }

    #[test]
    fn the_same_arrays_give_the_same_bytes_and_others_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let values = [0.5_f64, f64::NAN, -3.0, 1e300];
        let variable = |name, shape| Variable {
            name,
            dimensions: &["x"],
            shape,
            values: &values,
            attributes: &[],
        };
        let bytes = |name: &str| {
            let path = folder.path().join(name);
            let mut file = ZarrWriter::create(&path).expect("a file");
            file.array(&variable("x", &[4])).expect("an array");
            file.finish(&[]).expect("a store");
            std::fs::read(path).expect("bytes")
        };
        assert_eq!(bytes("a.zarr.zip"), bytes("b.zarr.zip"));
        let mut short = ZarrWriter::create(folder.path().join("s.zarr.zip")).expect("a file");
        let mut array = (short.begin(&variable("x", &[4]).with_values(&[]))).expect("an array");
        array.extend(&values[1..]).expect("values");
        let said = array.end().expect_err("too few").to_string();
        assert!(said.contains("1 values are missing"), "{said}");
        let mut file = ZarrWriter::create(folder.path().join("c.zarr.zip")).expect("a file");
        for (refused, says) in [
            (variable("x", &[5][..]), "5"),
            (variable("", &[4]), "cannot be the name"),
            (variable("a/b", &[4]), "cannot be the name"),
            (variable("x", &[2, 2]), "1 dimensions, 2 lengths"),
        ] {
            let said = file.array(&refused).expect_err(says).to_string();
            assert!(said.contains(says), "{said}");
        }
    }
}
