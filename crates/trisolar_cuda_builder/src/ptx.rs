//! Queries on PTX text.

/// The start of the text that [`CudaBuilder::embed`](crate::CudaBuilder::embed) writes in place of kernels that it could not compile.
/// The reason follows in the same line.
pub const NOT_COMPILED: &str = "// not compiled: ";

/// The kernels of a module, in order of appearance.
pub fn entry_points(ptx: &str) -> Vec<&str> {
    code_lines(ptx)
        .filter_map(|line| Some(name_at_start(line.split_once(".entry ")?.1)))
        .filter(|n| !n.is_empty())
        .collect()
}

/// The text of a kernel, from its `.entry` to the closing brace of its body.
pub fn entry<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    let start = loop {
        let at = from + ptx[from..].find(".entry ")?;
        let rest = at + ".entry ".len();
        if name_at_start(&ptx[rest..]) == name {
            break at;
        }
        from = rest;
    };
    // Braces nest, because call sequences and inline assembly have their own.
    let mut depth = 0;
    let mut position = start;
    for line in ptx[start..].split_inclusive('\n') {
        for (at, brace) in line
            .split("//")
            .next()
            .unwrap_or_default()
            .match_indices(['{', '}'])
        {
            depth += if brace == "{" { 1 } else { -1 };
            if depth == 0 {
                return Some(&ptx[start..=position + at]);
            }
        }
        position += line.len();
    }
    None
}

/// Lines without comments.
fn code_lines(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.lines()
        .map(|l| l.split("//").next().unwrap_or_default())
}

fn name_at_start(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "_$%.".contains(c)))
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "
.version 7.0
	// .globl	one   .entry not_this_one
.visible .entry one(
	.param .u64 one_param_0
)
{
	{ // callseq
	bar.sync 	0;
	}
	// begin inline asm
	{
.reg .b64 a;
}
	// end of a block }
	ret;
}
.visible .entry two()
{
	ret;
}
";

    #[test]
    fn kernels_are_found() {
        assert_eq!(entry_points(PTX), ["one", "two"]);
        let one = entry(PTX, "one").unwrap();
        assert!(one.contains("bar.sync") && one.ends_with("ret;\n}") && !one.contains("two"));
        assert!(!entry(PTX, "two").unwrap().contains("bar.sync"));
        assert_eq!(entry(PTX, "on"), None);
    }
}
