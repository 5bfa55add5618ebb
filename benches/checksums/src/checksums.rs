//! Compares verifying with the crates that compute the checksums: see benches/README.md.

use std::env;
use std::fs::{self, File as OsFile};
use std::hint::black_box;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, Instant};

use sha2::Digest as _;
use tenslice::{File, Verification, ReadOptions};
use xxhash_rust::xxh3::xxh3_64;
use ztensor1::{Checksum, Compression};

/// Every time is the shortest of this many rounds, in which both take turns.
const ROUNDS: usize = 15;
/// The bytes that are summed in each round. Short data is summed repeatedly.
const BYTES: usize = 64 << 20;

fn main() {
    let folder = env::temp_dir().join(format!("tenslice-checksums-{}", process::id()));
    fs::create_dir(&folder).expect("a folder for files");
    println!("{:24}{:>10}{:>10}{:>12}", "GB/s", "peer", "ours", "ours/peer");
    for size in [4 << 10, 64 << 10, BYTES] {
        let data = random(size);
        let title = |kind: &str| match size {
            BYTES => format!("{kind}, 64 MiB"),
            _ => format!("{kind}, {} KiB", size >> 10),
        };
        let crc32c = ztensor1_file(&folder, &data, Checksum::Crc32c);
        let sha256 = ztensor1_file(&folder, &data, Checksum::Sha256);
        let xxh3 = ztensor2_file(&folder, &data);
        compare_sum(&title("CRC-32C"), &crc32c, &data, &|data, sum| crc32c::crc32c(data).to_be_bytes() == *sum);
        compare_sum(&title("SHA-256"), &sha256, &data, &|data, sum| sha2::Sha256::digest(data)[..] == *sum);
        compare_sum(&title("XXH3"), &xxh3, &data, &|data, sum| xxh3_64(data).to_be_bytes() == *sum);
        if size == BYTES {
            compare_files(&folder, "file with CRC-32C", &crc32c);
            compare_files(&folder, "file with SHA-256", &sha256);
        }
    }
    fs::remove_dir_all(&folder).expect("the folder of the files");
}

/// Verifies a component, and sums the same bytes with the peer, which must get the sum that the file states.
fn compare_sum(title: &str, file: &[u8], data: &[u8], peer: &dyn Fn(&[u8], &[u8]) -> bool) {
    let opened = File::open(file).expect("a valid file");
    let tensor = opened.tensors().next().expect("a tensor");
    let component = tensor.components().next().expect("a component");
    let digest = component.digest().expect("a digest");
    let digits = digest.rsplit([':', 'x']).next().expect("digits").as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    let sum: Vec<u8> = digits.map(|pair| byte(pair).expect("digits")).collect();
    let times = BYTES / data.len();
    compare(
        title,
        &mut || (0..times).for_each(|_| assert!(peer(black_box(data), &sum), "{title}")),
        &mut || (0..times).for_each(|_| assert_eq!(black_box(&component).verify(ReadOptions::new()), Ok(Verification::Verified))),
    );
}

/// Opens and verifies a mapped file.
fn compare_files(folder: &Path, title: &str, file: &[u8]) {
    let path = folder.join("mapped.zt");
    fs::write(&path, file).expect("a file");
    let os_file = OsFile::open(&path).expect("the file");
    // SAFETY: the file is in a folder of this program, and nothing changes it.
    let map = unsafe { memmap2::Mmap::map(&os_file) }.expect("a map");
    compare(
        title,
        &mut || {
            let reader = ztensor1::Reader::new(Cursor::new(&map[..])).expect("a valid file");
            black_box(reader.read("weights", true).expect("sound data"));
        },
        &mut || {
            let verified = File::open(&map).expect("a valid file").verify(ReadOptions::new()).expect("sound data");
            assert_eq!(verified.verified, 1);
        },
    );
}

/// Prints how many bytes per second both sum.
fn compare<'a>(title: &str, peer: &mut (dyn FnMut() + 'a), ours: &mut (dyn FnMut() + 'a)) {
    let mut shortest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (time, action) in shortest.iter_mut().zip([&mut *peer, &mut *ours]) {
            let start = Instant::now();
            action();
            *time = (*time).min(start.elapsed());
        }
    }
    let [peer, ours] = shortest.map(|time| BYTES as f64 / time.as_secs_f64() / 1e9);
    println!("{title:24}{peer:>10.2}{ours:>10.2}{:>12.2}", ours / peer);
}

fn ztensor1_file(folder: &Path, data: &[u8], checksum: Checksum) -> Vec<u8> {
    written(folder, |path| {
        let mut writer = ztensor1::Writer::create(path).expect("a file");
        let shape = vec![data.len() as u64];
        writer
            .add_bytes("weights", shape, ztensor1::DType::U8, Compression::Raw, data, checksum)
            .expect("a tensor");
        writer.finish().expect("a file");
    })
}

fn ztensor2_file(folder: &Path, data: &[u8]) -> Vec<u8> {
    written(folder, |path| {
        let mut writer = ztensor2::Writer::create(path).expect("a file");
        writer.add("weights", vec![data.len() as u64], ztensor2::DType::U8, data).expect("a tensor");
        writer.finish().expect("a file");
    })
}

fn written(folder: &Path, write: impl FnOnce(&PathBuf)) -> Vec<u8> {
    let path = folder.join("written.zt");
    write(&path);
    let file = fs::read(&path).expect("the file");
    fs::remove_file(&path).expect("the file");
    file
}

/// Random bytes by xorshift.
fn random(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}
