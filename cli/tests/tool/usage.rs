use crate::support::{fixture, has, out, run};

const COMMANDS: [&str; 10] =
    ["list", "show", "verify", "extract", "diff", "layout", "explain", "embed", "completions", "man"];

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
fn completions_are_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&["completions", shell]);
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
        if shell == "bash" && has("bash") {
            let checked = std::process::Command::new("bash").args(["-n", "-c", &script]).status().unwrap();
            assert!(checked.success());
        }
    }
}

#[test]
fn wrong_usage_is_2() {
    for arguments in [&["list"][..], &["nothing"], &["list", "--nothing", "x"], &["show"], &["diff", "x"], &[]] {
        let run = run(arguments);
        assert_eq!((run.status, run.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!run.err.is_empty());
    }
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
