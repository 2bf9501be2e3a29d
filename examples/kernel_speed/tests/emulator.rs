//! The program without a GPU: every kernel runs in the emulator, and its results are checked.

use std::process::Command;

fn run(arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kernel_speed"));
    // Hides the GPUs of this machine.
    let output = command
        .args(arguments)
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn every_kernel_is_right_in_the_emulator() {
    let (success, said, errors) = run(&[]);
    assert!(success, "{said}{errors}");
    assert!(said.starts_with("emulator\n"), "{said}");
    assert_eq!(said.matches("correct").count(), 6, "{said}");
    assert!(
        said.contains("256000 words, 0 differ")
            && said.contains("2 blocks, 100 rounds, 0 wrong")
            && said.contains("clusters: 24576 words, 0 differ")
            && said.contains("dimensions: 26928 bytes, 0 differ")
            && said.contains("3 values of 4 numbers, 0 products"),
        "{said}"
    );
}

#[test]
fn an_unknown_kernel_is_named() {
    let (success, _, errors) = run(&["scam"]);
    assert!(!success);
    assert!(
        errors.contains("\\\"scam\\\"") && errors.contains("tiled, product, copy, sum and scan"),
        "{errors}"
    );
}
