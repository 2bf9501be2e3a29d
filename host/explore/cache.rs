//! Caches of computed tiles in memory and, if there is one, in a folder. Both have a limit, beyond which the least recently used
//! tiles are removed.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::tile::Tile;
use crate::values::{ValueKind, Values};

/// Names a tile by its content: everything on which its values depend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TileKey {
    pub content: Arc<str>,
    pub tile: Tile,
}

impl TileKey {
    /// The same square in another number of pixels.
    pub fn with_pixels(&self, pixels: u32) -> Self {
        Self {
            content: self.content.clone(),
            tile: self.tile.with_pixels(pixels),
        }
    }

    /// The text in a tile's file, by which a file of another tile with the same name is recognised.
    fn text(&self) -> String {
        let Tile {
            level,
            x,
            y,
            pixels,
        } = self.tile;
        format!("trisolar tile 1 {level} {x} {y} {pixels}\n{}", self.content)
    }

    fn file_name(&self) -> String {
        let hash = xxhash_rust::xxh3::xxh3_128(self.text().as_bytes());
        format!("{hash:032x}{EXTENSION}")
    }
}

/// Extension of a tile's file.
const EXTENSION: &str = ".tile";
/// Least number of pixels along a side of tiles on disk; smaller tiles are computed faster than read.
const MIN_PIXELS_ON_DISK: u32 = 32;

/// Both caches.
pub(crate) struct TileCache {
    memory: Mutex<TileMemory>,
    disk: Option<Disk>,
}

impl TileCache {
    /// Caches with this limit of bytes in memory, and in a folder with its limit, if there is one.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub fn new(memory: usize, folder: Option<(&Path, u64)>) -> io::Result<Self> {
        let disk = folder
            .map(|(path, bytes)| Disk::open(path, bytes))
            .transpose()?;
        Ok(Self {
            memory: Mutex::new(TileMemory::new(memory)),
            disk,
        })
    }

    fn memory(&self) -> MutexGuard<'_, TileMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A tile that is in memory.
    pub fn recent(&self, key: &TileKey) -> Option<Arc<Values>> {
        self.memory().get(key)
    }

    /// A tile that is in memory or in the folder.
    pub fn get(&self, key: &TileKey) -> Option<Arc<Values>> {
        if let Some(found) = self.recent(key) {
            return Some(found);
        }
        let found = Arc::new(self.disk.as_ref()?.get(key)?);
        self.memory().put(key.clone(), found.clone());
        Some(found)
    }

    /// The tile of the same square in memory that has the most pixels, but fewer than this one.
    pub fn coarser(&self, key: &TileKey) -> Option<(u32, Arc<Values>)> {
        let mut pixels = key.tile.pixels / 2;
        while pixels > 0 {
            if let Some(found) = self.recent(&key.with_pixels(pixels)) {
                return Some((pixels, found));
            }
            pixels /= 2;
        }
        None
    }

    /// Keeps a tile in memory.
    pub fn put(&self, key: &TileKey, values: &Arc<Values>) {
        self.memory().put(key.clone(), values.clone());
    }

    /// Keeps a tile in the folder, if there is one. A full folder is not a failure: the tile is computed again when
    /// needed.
    pub fn store(&self, key: &TileKey, values: &Values) {
        if let Some(disk) = &self.disk {
            disk.put(key, values);
        }
    }

    /// Bytes of values in memory.
    pub fn bytes(&self) -> usize {
        self.memory().bytes
    }
}

/// Approximate bytes of a tile besides its values.
const TILE_OVERHEAD_BYTES: usize = 256;

/// The tiles in memory.
struct TileMemory {
    tiles: HashMap<TileKey, (Arc<Values>, u64)>,
    /// Tiles by the time of their last use.
    used: BTreeMap<u64, TileKey>,
    clock: u64,
    bytes: usize,
    most: usize,
}

impl TileMemory {
    fn new(most: usize) -> Self {
        Self {
            tiles: HashMap::new(),
            used: BTreeMap::new(),
            clock: 0,
            bytes: 0,
            most,
        }
    }

    fn size(values: &Values) -> usize {
        values.len() * values.kind().size() + TILE_OVERHEAD_BYTES
    }

    fn get(&mut self, key: &TileKey) -> Option<Arc<Values>> {
        let (values, used) = self.tiles.get_mut(key)?;
        self.clock += 1;
        self.used.remove(used);
        *used = self.clock;
        self.used.insert(self.clock, key.clone());
        Some(values.clone())
    }

    fn put(&mut self, key: TileKey, values: Arc<Values>) {
        self.clock += 1;
        self.bytes += Self::size(&values);
        self.used.insert(self.clock, key.clone());
        if let Some((old, used)) = self.tiles.insert(key, (values, self.clock)) {
            self.bytes -= Self::size(&old);
            self.used.remove(&used);
        }
        while self.bytes > self.most
            && let Some((_, key)) = self.used.pop_first()
            && let Some((old, _)) = self.tiles.remove(&key)
        {
            self.bytes -= Self::size(&old);
        }
    }
}

/// The tiles in a folder.
struct Disk {
    folder: PathBuf,
    most: u64,
    index: Mutex<Index>,
}

/// Sizes of the files, and the order of their last use.
#[derive(Default)]
struct Index {
    files: HashMap<String, (u64, u64)>,
    used: BTreeMap<u64, String>,
    clock: u64,
    bytes: u64,
}

impl Index {
    fn touch(&mut self, name: &str, size: u64) {
        self.clock += 1;
        if let Some((size, used)) = self.files.insert(name.to_owned(), (size, self.clock)) {
            self.used.remove(&used);
            self.bytes -= size;
        }
        self.bytes += size;
        self.used.insert(self.clock, name.to_owned());
    }

    fn forget(&mut self, name: &str) {
        if let Some((size, used)) = self.files.remove(name) {
            self.used.remove(&used);
            self.bytes -= size;
        }
    }
}

/// Whether a file of this name is one of the cache's: 32 hexadecimal digits and the extension.
fn is_ours(name: &str) -> bool {
    name.strip_suffix(EXTENSION).is_some_and(|stem| {
        stem.len() == 32
            && stem
                .bytes()
                .all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    })
}

impl Disk {
    fn open(folder: &Path, most: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if is_ours(&name) {
                let about = entry.metadata()?;
                let used = about.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push((used, name, about.len()));
            }
        }
        // Checks now that the folder can be written, not with the first tile.
        tempfile::NamedTempFile::new_in(folder)?;
        files.sort();
        let mut index = Index::default();
        for (_, name, size) in files {
            index.touch(&name, size);
        }
        let disk = Self {
            folder: folder.to_owned(),
            most,
            index: Mutex::new(index),
        };
        disk.trim();
        Ok(disk)
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the least recently used files until the limit is met.
    fn trim(&self) {
        loop {
            let mut index = self.index();
            if index.bytes <= self.most {
                return;
            }
            let Some((_, name)) = index.used.pop_first() else {
                return;
            };
            if let Some((size, _)) = index.files.remove(&name) {
                index.bytes -= size;
            }
            drop(index);
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn get(&self, key: &TileKey) -> Option<Values> {
        if key.tile.pixels < MIN_PIXELS_ON_DISK {
            return None;
        }
        let name = key.file_name();
        let mut file = fs::File::open(self.folder.join(&name)).ok()?;
        // The file of a tile is not longer; another file may have any length.
        let most = key.text().len() + 64 + key.tile.count() * ValueKind::Pair.size();
        let mut bytes = Vec::new();
        (&mut file).take(most as u64).read_to_end(&mut bytes).ok()?;
        let values = decode(key, &bytes)?;
        // The order of use outlives the process.
        let _ = file.set_modified(SystemTime::now());
        self.index().touch(&name, bytes.len() as u64);
        Some(values)
    }

    fn put(&self, key: &TileKey, values: &Values) {
        if key.tile.pixels < MIN_PIXELS_ON_DISK {
            return;
        }
        let name = key.file_name();
        let bytes = encode(key, values);
        if bytes.len() as u64 > self.most {
            return;
        }
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(&bytes)?;
            file.persist(self.folder.join(&name))?;
            Ok(())
        };
        match write() {
            Ok(()) => self.index().touch(&name, bytes.len() as u64),
            Err(_) => self.index().forget(&name),
        }
        self.trim();
    }
}

/// A file: length of the key's text (u32), the text, the type's tag (u8), the values, and the CRC-32 of all that (u32).
fn encode(key: &TileKey, values: &Values) -> Vec<u8> {
    let text = key.text();
    let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.push(values.kind().tag());
    bytes.extend(values.to_bytes());
    let sum = crc32fast::hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The values of a file; `None` unless it is complete and belongs to this tile.
fn decode(key: &TileKey, bytes: &[u8]) -> Option<Values> {
    let (body, sum) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (length, rest) = body.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (tag, values) = rest.split_first()?;
    let values = Values::from_bytes(ValueKind::of_tag(*tag)?, values)?;
    let right = text == key.text().as_bytes() && values.len() == key.tile.count();
    right.then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(content: &str, x: i64) -> TileKey {
        TileKey {
            content: content.into(),
            tile: Tile::from((5, x, -2, 32)),
        }
    }

    fn values(start: u32) -> Arc<Values> {
        Arc::new(Values::U32((start..start + 1024).collect()))
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_was_used_last() {
        let one = 1024 * 4 + TILE_OVERHEAD_BYTES;
        let cache = TileCache::new(3 * one, None).unwrap();
        for x in 0..3 {
            cache.put(&key("m", x), &values(x as u32));
        }
        assert!(cache.get(&key("m", 0)).is_some());
        for x in 3..100 {
            cache.put(&key("m", x), &values(x as u32));
            assert!(cache.bytes() <= 3 * one);
            assert!(cache.get(&key("m", 0)).is_some(), "used again and again");
        }
        assert_eq!(cache.get(&key("m", 99)), Some(values(99)));
        assert_eq!(cache.get(&key("m", 50)), None);
    }

    #[test]
    fn a_folder_outlives_the_process_and_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("mine.txt");
        fs::write(&other, "not a tile").unwrap();
        let size = encode(&key("map", 10), &values(0)).len() as u64;
        let open = || TileCache::new(0, Some((folder.path(), 5 * size))).unwrap();
        let cache = open();
        for x in 10..30 {
            cache.store(&key("map", x), &values(x as u32));
        }
        let files = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files(), 5 + 1);
        drop(cache);
        let cache = open();
        for x in 10..30 {
            let found = cache.get(&key("map", x));
            assert_eq!(found, (x >= 25).then(|| values(x as u32)), "{x}");
        }
        assert_eq!(cache.get(&key("other map", 29)), None);
        assert_eq!(fs::read_to_string(other).unwrap(), "not a tile");
    }

    #[test]
    fn a_damaged_or_foreign_file_is_not_a_tile() {
        let folder = tempfile::tempdir().unwrap();
        let cache = TileCache::new(0, Some((folder.path(), 1 << 20))).unwrap();
        let (this, that) = (key("map", 1), key("map", 2));
        cache.store(&this, &values(7));
        let path = folder.path().join(this.file_name());
        let whole = fs::read(&path).unwrap();
        for at in [0, 10, whole.len() / 2, whole.len() - 1] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.get(&this), None, "byte {at}");
        }
        for length in [0, 3, 4, 20, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(cache.get(&this), None, "{length} bytes");
        }
        fs::write(folder.path().join(that.file_name()), &whole).unwrap();
        assert_eq!(cache.get(&that), None);
        fs::write(&path, &whole).unwrap();
        assert_eq!(cache.get(&this), Some(values(7)));
    }
}
