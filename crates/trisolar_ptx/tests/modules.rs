//! The kernels that Trisolar embeds: every instruction of them is known.

mod embedded;

use embedded::texts;
use trisolar_ptx::Module;

#[test]
fn every_embedded_kernel_is_decoded_without_an_unknown_instruction() {
    let texts = texts();
    let mut instructions = 0;
    for text in &texts {
        let module = Module::decode(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(module.unknown(), [""; 0]);
        assert!(module.kernels().count() > 0);
        instructions += module.instructions();
    }
    assert!(
        texts.len() > 100 && instructions > 500_000,
        "{instructions}"
    );
}
