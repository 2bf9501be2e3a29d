//! The kernels that a program carries: modules of PTX, each with the kernels that share statics, found by kernel and package.

#[cfg(feature = "devices")]
use std::borrow::Cow;
#[cfg(feature = "devices")]
use std::collections::{HashMap, HashSet};
#[cfg(feature = "devices")]
use std::sync::OnceLock;

#[cfg(feature = "devices")]
use cuda_std::Exported;
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
    /// Their modules, in the form of `cuda_builder::Modules`.
    pub text: Text,
}

/// Modules in the form of `cuda_builder::Modules`.
#[derive(Clone, Copy, Debug)]
pub enum Text {
    /// As text.
    Plain(&'static [u8]),
    /// Each as a zlib stream.
    Zlib(&'static [u8]),
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
                text: $crate::Text::Plain(::core::include_bytes!(::core::concat!(
                    ::core::env!(
                        "OUT_DIR",
                        "include_kernels! needs a build script that calls CudaBuilder::embed"
                    ),
                    "/kernels.modules"
                ))),
            };
        };
    };
}

/// The start of a text that stands for kernels that could not be compiled, which the reason follows; as `cuda_builder` writes it.
#[cfg(feature = "devices")]
const NOT_COMPILED: &str = "// not compiled: ";

/// The first line of modules, as `cuda_builder` writes it.
#[cfg(feature = "devices")]
const TITLE: &str = "cuda_builder modules 1";

/// A module of a program, which may be packed.
#[cfg(feature = "devices")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    bytes: &'static [u8],
    is_packed: bool,
    /// Number of kernels in it.
    pub(crate) kernels: usize,
}

#[cfg(feature = "devices")]
impl Packed {
    /// Its PTX.
    pub(crate) fn text(&self) -> std::io::Result<Cow<'static, str>> {
        if self.is_packed {
            return unpacked(self.bytes).map(Cow::Owned);
        }
        (std::str::from_utf8(self.bytes).map(Cow::Borrowed)).map_err(std::io::Error::other)
    }
}

#[cfg(feature = "devices")]
fn unpacked(zlib: &[u8]) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    flate2::read::ZlibDecoder::new(zlib).read_to_string(&mut text)?;
    Ok(text)
}

/// The kernels of a program and their modules.
#[cfg(feature = "devices")]
#[derive(Debug, Default)]
pub(crate) struct Table {
    modules: Vec<Packed>,
    /// The package and the module of each kernel, by its name.
    kernels: HashMap<&'static str, Vec<(&'static str, usize)>>,
}

#[cfg(feature = "devices")]
impl Table {
    /// Adds the modules of a crate; nothing is unpacked.
    fn add(&mut self, text: Text) -> Result<(), String> {
        let (bytes, is_packed) = match text {
            Text::Plain(bytes) => (bytes, false),
            Text::Zlib(bytes) => (bytes, true),
        };
        if let Some(why) = bytes.strip_prefix(NOT_COMPILED.as_bytes()) {
            let why = String::from_utf8_lossy(why);
            return Err(format!(
                "this program's kernels are not compiled for GPUs: {}",
                why.trim_end()
            ));
        }
        let broken =
            || "the program's kernels are not in the form that cuda_builder writes".to_owned();
        let end = bytes
            .windows(2)
            .position(|two| two == b"\n\n")
            .ok_or_else(broken)?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| broken())?;
        let mut rest = &bytes[end + 2..];
        let mut lines = head.lines();
        if lines.next() != Some(TITLE) {
            return Err(broken());
        }
        let first = self.modules.len();
        let mut kernels = Vec::new();
        for line in lines {
            let words: Vec<&'static str> = line.split(' ').collect();
            match words[..] {
                ["kernel", module, package, name] => {
                    let module: usize = module.parse().map_err(|_| broken())?;
                    kernels.push((name, package, first + module));
                }
                ["module", length] => {
                    let length = length.parse().map_err(|_| broken())?;
                    let (bytes, others) = rest.split_at_checked(length).ok_or_else(broken)?;
                    rest = others;
                    self.modules.push(Packed {
                        bytes,
                        is_packed,
                        kernels: 0,
                    });
                }
                _ => return Err(broken()),
            }
        }
        for (name, package, module) in kernels {
            self.modules.get_mut(module).ok_or_else(broken)?.kernels += 1;
            self.kernels
                .entry(name)
                .or_default()
                .push((package, module));
        }
        Ok(())
    }

    /// The number of the module that has the kernel of a package. A package whose kernels stand in another one's table under that one's
    /// name has the only kernel of its name.
    pub(crate) fn find(&self, name: &str, package: &str) -> Result<usize, String> {
        let known = self.kernels.get(name).map_or(&[][..], Vec::as_slice);
        let of_package: Vec<usize> = (known.iter())
            .filter(|(of, _)| *of == package)
            .map(|(_, module)| *module)
            .collect();
        match (&of_package[..], known) {
            ([module], _) | ([], [(_, module)]) => Ok(*module),
            ([], []) => Err(format!(
                "the program's kernels for GPUs do not include {name} of the package {package}"
            )),
            _ => {
                let packages: Vec<&str> = known.iter().map(|(of, _)| *of).collect();
                Err(format!(
                    "several of the program's kernels are called {name} (in {}), and none of them alone belongs to the package {package}",
                    packages.join(", ")
                ))
            }
        }
    }

    pub(crate) fn module(&self, number: usize) -> &Packed {
        &self.modules[number]
    }
}

/// The table of the program's kernels.
///
/// # Errors
/// [`GpuError::Unavailable`] in a program without them.
#[cfg(feature = "devices")]
pub(super) fn table() -> Result<&'static Table, GpuError> {
    static TABLE: OnceLock<Result<Table, String>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        if MODULES.is_empty() {
            return Err("this program has no kernels".into());
        }
        let mut table = Table::default();
        MODULES
            .iter()
            .try_for_each(|module| table.add(module.text))?;
        Ok(table)
    });
    table
        .as_ref()
        .map_err(|why| GpuError::Unavailable(why.clone()))
}

/// The number of the module that has a kernel.
#[cfg(feature = "devices")]
pub(super) fn module_of(kernel: &Exported) -> Result<usize, String> {
    let table = table().map_err(|e| e.to_string())?;
    table.find(kernel.name, kernel.package)
}

/// A text of PTX without directives before it, behind those and the functions and variables that it needs of the module that has the kernel
/// `functions` of a package.
#[cfg(feature = "devices")]
pub(crate) fn with_functions(text: &str, functions: [&str; 2]) -> Result<String, String> {
    let [kernel, package] = functions;
    let table = table().map_err(|e| e.to_string())?;
    let module = table.module(table.find(kernel, package)?);
    let module = module.text().map_err(|e| e.to_string())?;
    Ok(needed(&module, text) + text)
}

/// What a text needs of a module. What is needed is no longer visible, so that ptxas may put it in its place.
#[cfg(feature = "devices")]
fn needed(module: &str, text: &str) -> String {
    // Functions, variables and directives begin with a dot in the first column, and nothing else does.
    let starts = module.match_indices("\n.").map(|(place, _)| place + 1);
    let starts: Vec<usize> = starts.chain([module.len()]).collect();
    let items = starts.windows(2).map(|pair| &module[pair[0]..pair[1]]);
    let items: Vec<(&str, &str)> = items.map(|item| (name_of(item), item)).collect();
    let mut open: Vec<&str> = vec![text];
    let mut known: HashSet<&str> = HashSet::new();
    while let Some(text) = open.pop() {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let lines = text.lines().filter_map(|line| line.split("//").next());
        for word in lines.flat_map(|line| line.split(|c| !is_inside(c))) {
            let named = items.iter().filter(|(name, _)| *name == word);
            let bodies: Vec<&str> = named.map(|(_, body)| *body).collect();
            if !bodies.is_empty() && known.insert(word) {
                open.extend(bodies);
            }
        }
    }
    let is_directive = |item: &str| {
        [".version", ".target", ".address_size"]
            .iter()
            .any(|d| item.starts_with(d))
    };
    let kept = items
        .iter()
        .filter(|(name, item)| is_directive(item) || known.contains(name));
    kept.map(|(_, item)| item.trim_start_matches(".visible "))
        .collect()
}

/// The name of a function or a variable of PTX, of which a prototype may stand before it.
#[cfg(feature = "devices")]
fn name_of(item: &str) -> &str {
    let first = item.lines().next().unwrap_or_default();
    let declared = first.split(" = ").next().unwrap_or_default();
    let declared = declared.trim_end_matches(['(', ';', ' ']);
    let name = declared.rsplit([' ', '\t']).next().unwrap_or_default();
    name.split('[').next().unwrap_or_default()
}

#[cfg(all(test, feature = "devices"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_kernels_says_so() {
        assert!(kernels().is_none());
        let error = table().expect_err("there are none").to_string();
        assert!(error.contains("has no kernels"), "{error}");
    }

    const WAVES: &[u8] = b"cuda_builder modules 1\nkernel 0 waves step\nkernel 0 waves count\nkernel 1 waves draw\nmodule 6\nmodule 6\n\nfirst\nsecond";
    const STARS: &[u8] = b"cuda_builder modules 1\nkernel 0 stars draw\nmodule 5\n\nthird";

    #[test]
    fn a_kernel_is_found_by_its_name_and_package() {
        let mut table = Table::default();
        table.add(Text::Plain(WAVES)).expect("a table");
        table.add(Text::Plain(STARS)).expect("a table");
        let text = |name, package| {
            let module = table.find(name, package)?;
            Ok::<_, String>(table.module(module).text().expect("text"))
        };
        assert_eq!(text("step", "waves").as_deref(), Ok("first\n"));
        assert_eq!(text("count", "waves").as_deref(), Ok("first\n"));
        assert_eq!(text("draw", "waves").as_deref(), Ok("second"));
        assert_eq!(text("draw", "stars").as_deref(), Ok("third"));
        assert_eq!(table.module(0).kernels, 2);
        // The only kernel of its name belongs to a dependency of the package that was compiled.
        assert_eq!(text("step", "tides").as_deref(), Ok("first\n"));
        let refused = |name, package, words: &str| {
            let error = text(name, package).expect_err("not found");
            assert!(error.contains(words), "{error}");
        };
        refused("draw", "tides", "called draw (in waves, stars)");
        refused("turn", "waves", "do not include turn of the package waves");
    }

    #[test]
    fn a_text_gets_the_functions_and_variables_that_it_needs() {
        let (head, double, table, other) = (
            ".version 7.0\n.target sm_70\n.address_size 64\n\n",
            "func (.param .b64 r) double(\n\t.param .b64 x\n)\n{\n\tld.global.b64 x, [table+8];\n}\n\t// all\n",
            ".global .align 8 .b8 table[16] = {1, 2};\n",
            ".global .align 8 .b64 double2;\n.func table2()\n{\n}\n.visible .entry all(){\n\tcall double2;\n}\n",
        );
        let prototype = ".func (.param .b64 r) double\n(\n\t.param .b64 x\n)\n;\n";
        let module = format!("// made\n\n{head}{prototype}{table}.visible .{double}{other}");
        let text = ".visible .entry own(){ call (r), double, (x); }";
        assert_eq!(
            needed(&module, text),
            format!("{head}{prototype}{table}.{double}")
        );
        assert_eq!(needed(&module, ".visible .entry own(){}"), head);
    }

    #[test]
    fn broken_modules_are_an_error() {
        let add = |bytes| Table::default().add(bytes);
        for broken in [&b"nothing"[..], &WAVES[..40], &WAVES[..WAVES.len() - 1]] {
            assert!(add(Text::Plain(broken)).is_err(), "{broken:?}");
        }
        let why = add(Text::Plain(b"// not compiled: no sources\n")).expect_err("not compiled");
        assert!(why.ends_with("not compiled for GPUs: no sources"), "{why}");
    }

    #[test]
    fn a_packed_module_is_unpacked_and_a_damaged_one_is_an_error() {
        use flate2::write::ZlibEncoder;
        use std::io::Write as _;
        let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::none());
        encoder.write_all(b"a module").expect("memory");
        let stream = encoder.finish().expect("memory");
        let text = |bytes: Vec<u8>| {
            let packed = Packed {
                bytes: bytes.leak(),
                is_packed: true,
                kernels: 1,
            };
            packed.text()
        };
        assert_eq!(text(stream.clone()).expect("PTX"), "a module");
        let damaged = stream.iter().map(|byte| byte ^ u8::from(*byte == b'd'));
        for broken in [b"no stream".to_vec(), damaged.collect()] {
            assert!(text(broken).is_err());
        }
    }
}
