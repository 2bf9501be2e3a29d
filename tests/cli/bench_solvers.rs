//! `trisolar bench solvers` measures and prints the contents of the tables in Pacheco & Malensek (2021).

use assert_cmd::Command;
use serde_json::Value;

#[test]
fn all_tables_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("t.csv");
    let output = Command::cargo_bin("trisolar")
        .unwrap()
        .args([
            "bench",
            "solvers",
            "--steps",
            "2",
            "--threads",
            "2",
            "--repeats",
            "1",
            "--csv",
        ])
        .arg(&csv)
        .arg("--json")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = object["rows"].as_array().unwrap();
    for table in ["serial", "7.3", "7.6", "7.7"] {
        let of: Vec<&Value> = rows.iter().filter(|r| r["table"] == table).collect();
        assert!(of.len() >= 3, "{table}");
        assert!(
            of.iter().all(|r| r["seconds"].as_f64().unwrap() > 0.0),
            "{table}"
        );
    }
    // The rows of the program's runs are next to the numbers of Pacheco & Malensek (2021).
    let book = rows
        .iter()
        .find(|r| r["table"] == "7.3" && r["workers"] == 2 && r["name"] == "forces cyclic");
    assert_eq!(book.unwrap()["book_seconds"], 1.98);
    let lines = std::fs::read_to_string(&csv).unwrap();
    assert_eq!(lines.lines().count(), rows.len() + 1);
}
