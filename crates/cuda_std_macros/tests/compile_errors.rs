//! Tests what `#[kernel]` and the other attributes accept, and the messages with which they reject everything else.

#[test]
fn attributes_explain_what_they_refuse() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/*.rs");
}
