//! The kernels that a program carries.

#[cfg(feature = "gpu")]
use std::io::Read as _;
#[cfg(feature = "gpu")]
use std::sync::OnceLock;

pub use linkme;

#[cfg(feature = "gpu")]
use super::GpuError;

/// The launches for which a kernel is compiled. With this information the driver gives threads as many registers as fit and
/// separates dependent instructions; without it, it saves registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Residency {
    /// Largest number of threads per block.
    pub threads: u32,
    /// Number of blocks that a multiprocessor must be able to hold at a time.
    pub blocks: u32,
}

/// Kernels as PTX.
#[derive(Debug)]
pub struct Module {
    /// Whether the kernels were `built` with the program or are the `prebuilt` ones.
    pub origin: &'static str,
    /// Their text.
    pub text: Text,
}

/// The text of kernels.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// As it is.
    Plain(&'static str),
    /// As an LZMA stream with its header.
    Lzma(&'static [u8]),
}

/// The kernels of the program, one element or none. The crate that has them puts them here when it is linked, so that what is below it
/// need not wait for them to be compiled.
#[linkme::distributed_slice]
pub static MODULES: [Module];

/// The program's kernels; `None` in one that was built without the feature `gpu`.
pub fn kernels() -> Option<&'static Module> {
    MODULES.first()
}

/// The text of the program's kernels.
///
/// # Errors
/// [`GpuError::Unavailable`] in a program without them.
#[cfg(feature = "gpu")]
pub(super) fn ptx() -> Result<&'static str, GpuError> {
    static TEXT: OnceLock<Result<String, String>> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let module = kernels().ok_or("this program has no kernels")?;
        match module.text {
            Text::Plain(text) => Ok(text.to_owned()),
            Text::Lzma(stream) => unpacked(stream)
                .map_err(|e| format!("the program's kernels cannot be unpacked: {e}")),
        }
    });
    match text {
        Ok(text) => Ok(text),
        Err(why) => Err(GpuError::Unavailable(why.clone())),
    }
}

/// Begins to unpack the kernels beside what the driver does when it starts.
#[cfg(feature = "gpu")]
pub(super) fn unpack() {
    // Without a thread they are unpacked when they are needed.
    let _ = std::thread::Builder::new().spawn(|| drop(ptx()));
}

#[cfg(feature = "gpu")]
fn unpacked(lzma: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    lzma_rust2::LzmaReader::new_mem_limit(lzma, u32::MAX, None)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, feature = "gpu"))]
pub(super) mod tests {
    use super::*;

    /// The kernels as they are shipped.
    pub fn shipped() -> String {
        unpacked(include_bytes!("../../kernels-gpu/prebuilt.ptx.lzma")).expect("an LZMA stream")
    }

    #[test]
    fn a_program_without_kernels_says_so() {
        assert!(kernels().is_none());
        let error = ptx().expect_err("there are none").to_string();
        assert!(error.contains("has no kernels"), "{error}");
    }

    #[test]
    fn a_broken_stream_is_an_error() {
        let whole = include_bytes!("../../kernels-gpu/prebuilt.ptx.lzma");
        assert!(unpacked(&whole[..whole.len() / 2]).is_err());
    }
}
