use crate::support::{fixture, out, run, tool};

pub const COMMANDS: [&str; 18] = [
    "list",
    "show",
    "stats",
    "verify",
    "extract",
    "diff",
    "layout",
    "explain",
    "embed",
    "footprint",
    "convert",
    "quantize",
    "repack",
    "split",
    "merge",
    "set",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_and_a_page() {
    let help = out(&["--help"]);
    assert!(help.contains("Exit status: 0"), "{help}");
    for command in COMMANDS {
        assert!(help.contains(&format!("  {command} ")), "{command}");
        assert!(out(&[command, "--help"]).contains("Usage: tenslice"), "{command}");
        assert!(out(&["man", command]).contains(&format!("tenslice\\-{command}")), "{command}");
    }
    assert!(out(&["man"]).starts_with(".ie"));
    assert_eq!(run(&["man", "nothing"]).status, 2);
    assert!(out(&["--version"]).starts_with("tenslice "));
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [&["list"][..], &["nothing"], &["list", "--nothing", "x"], &["show"], &["diff", "x"], &[]] {
        let run = run(arguments);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!run.err.is_empty());
    }
}

/// A file that stands where a command is expected is listed. A mistyped command is not a file.
#[test]
fn a_file_alone_is_listed() {
    let file = fixture("gguf/rank2.gguf");
    assert_eq!(out(&[&file]), out(&["list", &file]));
    assert_eq!(out(&["--width", "40", &file, "--tsv"]), out(&["list", "--width", "40", &file, "--tsv"]));
    let missing = run(&["no/such.gguf"]);
    assert!(missing.status == 1 && missing.err.starts_with("error: no/such.gguf: "), "{}", missing.err);
    let mistyped = run(&["lst"]);
    assert!(mistyped.status == 2 && mistyped.err.contains("list"), "{}", mistyped.err);
}

#[test]
fn errors_name_the_file() {
    let run =
        run(&["list", "/there/is/no/such.zt", &fixture("v1.2/append.zt"), &fixture("bad/v1.2/end_past_eof.zt")]);
    assert_eq!(run.status, 1);
    let lines: Vec<&str> = run.err.lines().collect();
    assert!(lines[0].starts_with("error: /there/is/no/such.zt: "), "{}", run.err);
    assert!(lines[1].contains("end_past_eof.zt: ztensor 1.2.0: component \"data\""), "{}", run.err);
    assert!(run.out.contains("append.zt: ztensor 1.2.0"), "{}", run.out);
}

/// Every example of the documentation that begins with a command shows the actual output.
#[test]
fn the_documentation_shows_what_is_printed() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let page = std::fs::read_to_string(format!("{root}/docs/tool.md")).unwrap();
    let mut run = 0;
    for block in page.split("```text\n$ tenslice ").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        let (command, expected) = block.split_once('\n').unwrap();
        let output = tool().args(command.split(' ')).current_dir(root).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected, "{command}");
        run += 1;
    }
    assert_eq!(run, 3);
}
