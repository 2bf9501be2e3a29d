//! Queries on PTX text.

/// The start of the text that [`CudaBuilder::embed`](crate::CudaBuilder::embed) writes in place of kernels that it could not compile.
/// The reason follows in the same line.
pub const NOT_COMPILED: &str = "// not compiled: ";

/// The kernels of a module, in order of appearance.
pub fn entry_points(ptx: &str) -> Vec<&str> {
    entries(ptx).map(|(name, _)| name).collect()
}

/// The text of a kernel, from its `.entry` to the closing brace of its body.
pub fn entry<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let (_, at) = entries(ptx).find(|(found, _)| *found == name)?;
    let rest = &ptx[at..];
    // The next item begins in the first column; so may lines of inline assembly, but not with these words.
    let items = [
        "\n.visible ",
        "\n.func ",
        "\n.weak ",
        "\n.extern ",
        "\n.version ",
    ];
    let end = items.iter().filter_map(|word| rest.find(word)).min();
    let text = &rest[..end.unwrap_or(rest.len())];
    Some(&text[..=text.rfind("\n}")? + 1])
}

/// The name of each kernel, and the place of its `.entry`.
fn entries(ptx: &str) -> impl Iterator<Item = (&str, usize)> {
    let found = ptx.match_indices("\n.visible .entry ");
    found.map(|(at, before)| {
        let name = &ptx[at + before.len()..];
        let end = name.find(['(', '\n']).unwrap_or(name.len());
        (&name[..end], at + before.len() - ".entry ".len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found() {
        let ptx = ".version 7.0\n\t// .globl one   .entry not_this_one\n.visible .entry one(\n\t.param .u64 one_param_0\n)\n{\n\
                   \tbar.sync 0;\n\t{\n.reg .b64 a;\n}\n\t// end of a block }\n\tret;\n}\n.visible .entry two()\n{\n\tret;\n}\n";
        assert_eq!(entry_points(ptx), ["one", "two"]);
        let one = entry(ptx, "one").unwrap();
        assert!(
            one.starts_with(".entry one(") && one.contains("bar.sync") && one.ends_with("ret;\n}")
        );
        assert_eq!(entry(ptx, "two"), Some(".entry two()\n{\n\tret;\n}"));
        assert_eq!(entry(ptx, "on"), None);
    }
}
