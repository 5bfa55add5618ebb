use crate::terminal::Terminal;
use std::io;
#[derive(clap::Args)]
pub struct Arguments {}
impl Arguments {
    pub fn run(&self, _: &mut Terminal) -> io::Result<u8> {
        Ok(0)
    }
}
