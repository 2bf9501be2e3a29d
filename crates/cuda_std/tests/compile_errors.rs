//! What `#[kernel]` and the other attributes accept, and the words in which they refuse the rest.

#[test]
fn attributes_explain_what_they_refuse() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
