//! The kernels that a program carries.

#[cfg(feature = "devices")]
use std::borrow::Cow;
#[cfg(feature = "devices")]
use std::io::Read as _;
#[cfg(feature = "devices")]
use std::sync::OnceLock;

pub use linkme;

#[cfg(feature = "devices")]
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

/// The kernels of the program, one element for each crate that has some. The crates put them here when the program is linked, so that
/// what is below them need not wait for them to be compiled.
#[linkme::distributed_slice]
pub static MODULES: [Module];

/// The program's kernels, of the first crate that has some; `None` in a program without.
pub fn kernels() -> Option<&'static Module> {
    MODULES.first()
}

/// Embeds the kernels that this package's build script has compiled with `CudaBuilder::embed`. It stands once in the package, outside of
/// functions.
#[macro_export]
macro_rules! include_kernels {
    () => {
        const _: () = {
            #[$crate::linkme::distributed_slice($crate::MODULES)]
            #[linkme(crate = $crate::linkme)]
            static KERNELS: $crate::Module = $crate::Module {
                origin: "built",
                text: $crate::Text::Plain(::core::include_str!(::core::concat!(
                    ::core::env!(
                        "OUT_DIR",
                        "include_kernels! needs a build script that calls CudaBuilder::embed"
                    ),
                    "/kernels.ptx"
                ))),
            };
        };
    };
}

/// The start of a text that stands for kernels that could not be compiled, which the reason follows; as `cuda_builder` writes it.
#[cfg(feature = "devices")]
const NOT_COMPILED: &str = "// not compiled: ";

/// The texts of the program's kernels.
///
/// # Errors
/// [`GpuError::Unavailable`] in a program without them.
#[cfg(feature = "devices")]
pub(super) fn ptx() -> Result<&'static [Cow<'static, str>], GpuError> {
    static TEXTS: OnceLock<Result<Vec<Cow<'static, str>>, String>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        if MODULES.is_empty() {
            return Err("this program has no kernels".into());
        }
        MODULES.iter().map(text_of).collect()
    });
    match texts {
        Ok(texts) => Ok(texts),
        Err(why) => Err(GpuError::Unavailable(why.clone())),
    }
}

#[cfg(feature = "devices")]
fn text_of(module: &Module) -> Result<Cow<'static, str>, String> {
    match module.text {
        Text::Plain(text) => match text.strip_prefix(NOT_COMPILED) {
            Some(why) => Err(format!(
                "this program's kernels are not compiled for GPUs: {}",
                why.trim_end()
            )),
            None => Ok(text.into()),
        },
        Text::Lzma(stream) => (unpacked(stream).map(Cow::Owned))
            .map_err(|e| format!("the program's kernels cannot be unpacked: {e}")),
    }
}

/// Begins to unpack the kernels beside what the driver does when it starts.
#[cfg(feature = "devices")]
pub(super) fn unpack() {
    // Without a thread they are unpacked when they are needed.
    let _ = std::thread::Builder::new().spawn(|| drop(ptx()));
}

#[cfg(feature = "devices")]
fn unpacked(lzma: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    lzma_rust2::LzmaReader::new_mem_limit(lzma, u32::MAX, None)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(all(test, feature = "devices"))]
pub(super) mod tests {
    use super::*;

    /// The kernels as they are shipped.
    pub fn shipped() -> String {
        unpacked(include_bytes!("../kernels.ptx.lzma")).expect("an LZMA stream")
    }

    #[test]
    fn a_program_without_kernels_says_so() {
        assert!(kernels().is_none());
        let error = ptx().expect_err("there are none").to_string();
        assert!(error.contains("has no kernels"), "{error}");
    }

    #[test]
    fn a_broken_stream_is_an_error() {
        let whole = include_bytes!("../kernels.ptx.lzma");
        assert!(unpacked(&whole[..whole.len() / 2]).is_err());
    }
}
