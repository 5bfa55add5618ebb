//! Writes random files of every format, for `fuzz/compare/written.py`: written COUNT SEED
//!
//! On the standard output, for each file: a line of JSON with the length of the file and its contents, and the bytes. After
//! the files of a format: a line of JSON with the figures of damaged files, all of which our reader has opened.

use std::error::Error;
use std::io::Write;

use tenslice_fuzz::write::sample::{Damage, Random, formats, sample};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, seed] = &arguments[..] else { return Err("written COUNT SEED".into()) };
    let (count, seed): (u64, u64) = (count.parse()?, seed.parse()?);
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    for (index, format) in (0..).zip(formats()) {
        let (mut damage, mut made) = (Damage::default(), 0);
        let mut random = Random(seed << 8 | index);
        while made < count {
            let choices: Vec<u8> = (0..256).flat_map(|_| random.number().to_le_bytes()).collect();
            let mut result = Ok(());
            sample(*format, &choices, &mut damage, &mut |bytes, listing| {
                made += 1;
                result = writeln!(output, "{{\"length\": {}, \"file\": {listing}}}", bytes.len())
                    .and_then(|()| output.write_all(bytes));
            });
            result?;
        }
        let Damage { prefixes, without_padding, flips_in_data, detected_in_data, same_in_data, .. } = damage;
        let Damage { flips_elsewhere, refused_elsewhere, same_elsewhere, .. } = damage;
        writeln!(
            output,
            "{{\"format\": \"{format}\", \"prefixes\": {prefixes}, \"without_padding\": {without_padding}, \
             \"flips_in_data\": {flips_in_data}, \"detected_in_data\": {detected_in_data}, \
             \"same_in_data\": {same_in_data}, \
             \"flips_elsewhere\": {flips_elsewhere}, \"refused_elsewhere\": {refused_elsewhere}, \
             \"same_elsewhere\": {same_elsewhere}}}"
        )?;
    }
    Ok(output.flush()?)
}
