//! The version of the language that PTX asks for.
//!
//! Inline assembly can have instructions that are newer than what rustc is told. The version is raised for the modules that have them only, so
//! that others run on older drivers.

/// The fence for tensor maps in memory is of PTX 8.3 (CUDA 12.3).
const NEWER: (&str, (u32, u32)) = ("fence.proxy.tensormap::generic", (8, 3));

/// Returns PTX whose version has all of its instructions.
pub(super) fn sufficient(ptx: &str) -> String {
    let (instruction, needed) = NEWER;
    if !ptx.contains(instruction) {
        return ptx.to_owned();
    }
    let raised = |line: &str| {
        let version = line.strip_prefix(".version ")?.trim();
        let (major, minor) = version.split_once('.')?;
        let version = (major.parse().ok()?, minor.parse().ok()?);
        (version < needed).then(|| format!(".version {}.{}", needed.0, needed.1))
    };
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        text.push_str(raised(line).as_deref().unwrap_or(line));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_modules_with_newer_instructions_ask_for_a_newer_version() {
        let with = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;\n";
        let raised = sufficient(&format!(".version 8.0\n{with}"));
        assert_eq!(raised, format!(".version 8.3\n{with}"));
        for same in [
            format!(".version 8.7\n{with}"),
            ".version 8.0\nret;\n".into(),
        ] {
            assert_eq!(sufficient(&same), same);
        }
    }
}
