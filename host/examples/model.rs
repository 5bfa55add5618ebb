//! Prints a model: its files, its tensors, what is wrong with it, and the message for each name that is passed and not
//! found. `c-tests/models.sh` compares the output with that of C and C++. Arguments: the path of the model, then names
//! of tensors.

use std::process::ExitCode;

use tenslice::Expected;
use tenslice_host::Error;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    match print(&path, arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print(path: &str, names: impl Iterator<Item = String>) -> Result<(), Error> {
    let host = tenslice_host::open(path)?;
    let mut tables = host.tables();
    let model = tables.model()?;
    for file in model.files() {
        println!("file {}", file.name());
    }
    for (file, tensor) in &model {
        println!("tensor {} in {}", tensor.name(), model.files()[file].name());
    }
    for problem in model.problems() {
        println!("problem {problem}");
    }
    let mut room = Vec::new();
    for name in names {
        let expected = Expected::named(&name);
        match model.get(&expected).and_then(|data| data.bytes()) {
            Ok(bytes) => {
                let sum: u64 = bytes.iter().copied().map(u64::from).sum();
                println!("{name}: {} bytes, sum {sum}", bytes.len());
            }
            Err(error) => println!("{name}: {}", model.explain(&expected, error)),
        }
        match tenslice_host::get_f32(&model, &expected, &mut room) {
            Ok(numbers) => {
                let sum: f64 = numbers.iter().copied().map(f64::from).sum();
                println!("{name}: {} numbers, sum {sum:.3}", numbers.len());
            }
            Err(error) => println!("{name}: {}", model.explain(&expected, error)),
        }
    }
    Ok(())
}
