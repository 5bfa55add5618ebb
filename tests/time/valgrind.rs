//! Counts the instructions of the cases under valgrind, which takes minutes: `make test ONLY=valgrind`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CASES, Case, INDEX_SORTED, LINEAR, SORTED};

/// The file of a case. The parent process writes the files, so that making them takes no time under valgrind.
fn path_of(folder: &Path, case: usize, is_large: bool) -> PathBuf {
    folder.join(format!("{case}{}", if is_large { "b" } else { "a" }))
}

/// Runs a share of the measured work if the environment selects one. Otherwise this test does nothing.
#[test]
fn run_a_share() {
    let Ok(share) = std::env::var("TENSLICE_TIME_SHARE") else { return };
    let folder = PathBuf::from(std::env::var_os("TENSLICE_TIME_FOLDER").unwrap());
    for case in share.split(' ').map(|number| number.parse().unwrap()) {
        let files = [false, true].map(|is_large| std::fs::read(path_of(&folder, case, is_large)).unwrap());
        let Case(.., works) = &CASES[case];
        works.iter().for_each(|(_, work)| files.iter().for_each(|bytes| work(bytes)));
    }
}

/// The instructions that valgrind counts for each measured work of these cases, in order.
fn instructions(folder: &Path, cases: &[usize]) -> Vec<u64> {
    let out = folder.join(format!("counts-{}", cases[0]));
    let share: Vec<String> = cases.iter().map(usize::to_string).collect();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--combine-dumps=yes", &format!("--callgrind-out-file={}", out.display())])
        .args(["--toggle-collect=*measured_work*", "--dump-after=time::measured_work*"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "valgrind::run_a_share", "--test-threads=1"])
        .env("TENSLICE_TIME_SHARE", share.join(" "))
        .env("TENSLICE_TIME_FOLDER", folder)
        .env("LD_BIND_NOW", "1") // else the first call of a libc function takes longer
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    let counts = std::fs::read_to_string(out).unwrap();
    counts.lines().filter_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok()).collect()
}

#[test]
fn work_is_linear_in_the_file() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        assert!(std::env::var_os("TENSLICE_NO_SKIP").is_none(), "valgrind is not installed");
        println!("skipped: how the time grows with a file (valgrind is not installed)");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("time-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lengths: Vec<[usize; 2]> = CASES
        .iter()
        .enumerate()
        .map(|(case, Case(_, _, _, size, make, _))| {
            [false, true].map(|is_large| {
                let bytes = make(size << usize::from(is_large));
                std::fs::write(path_of(&folder, case, is_large), &bytes).unwrap();
                bytes.len()
            })
        })
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let chosen: Vec<usize> = (0..CASES.len()).filter(|case| is_chosen(CASES[*case].1)).collect();
    assert!(!chosen.is_empty(), "no cases of the format that TENSLICE_TIME_FORMAT names");
    let shares =
        (0..threads).map(|share| chosen.iter().copied().skip(share).step_by(threads).collect::<Vec<usize>>());
    let shares: Vec<Vec<usize>> = shares.filter(|share| !share.is_empty()).collect();
    let counted: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let running: Vec<_> = shares.iter().map(|share| scope.spawn(|| instructions(&folder, share))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let mut too_much = Vec::new();
    for (share, counts) in shares.iter().zip(&counted) {
        let mut counts = counts.iter();
        for case in share {
            let Case(dimension, format, name, _, _, works) = &CASES[*case];
            let [small, large] = lengths[*case];
            for (work, _) in *works {
                let (few, many) = (*counts.next().unwrap(), *counts.next().unwrap());
                let line =
                    format!("{dimension}, {format}, {name}, {work}: {small} bytes {few}, {large} bytes {many}");
                println!("{line}");
                assert!(few > 20, "{line}"); // something was measured
                let most = if is_sorted(dimension, work) { SORTED } else { LINEAR };
                // The number of items doubles. Some files grow by less, since their start is constant.
                let growth = (large as f64 / small as f64).max(2.0);
                if many as f64 / few as f64 > most * growth / 2.0 {
                    too_much.push(line);
                }
            }
        }
        // The last count is for the rest of the process: zero.
        assert!(counts.as_slice().iter().all(|count| *count == 0), "{counts:?}");
    }
    assert!(too_much.is_empty(), "{too_much:#?}");
}

/// True if the environment selects the column of [`TABLE`], or selects nothing.
fn is_chosen(column: &str) -> bool {
    let Ok(format) = std::env::var("TENSLICE_TIME_FORMAT") else { return true };
    match format.as_str() {
        "ztensor" => column == "zt1",
        "ztensor2" => column == "zt2",
        "safetensors" => column == "safetensors" || column == "index",
        _ => column == format,
    }
}

/// True if the operation includes sorting.
fn is_sorted(dimension: &str, work: &str) -> bool {
    let by_opening = dimension.starts_with("unsorted") || ["shards", "extra fields"].contains(&dimension);
    let by_others = work.starts_with("check") || ["files", INDEX_SORTED.0].contains(&work);
    by_opening && work == "open" || by_others
}
