//! Writes assembly for ELF, Mach-O and COFF.

use std::io::{self, Write};

use super::Embedded;
use super::arrays::Content;

pub fn write(out: &mut dyn Write, embedded: &Embedded<'_>) -> io::Result<()> {
    let Embedded { arrays, source, section, align, .. } = embedded;
    writeln!(out, "/* Made by `tenslice embed` from {source}. */")?;
    out.write_all(
        b"#if defined(__APPLE__)\n#define SYMBOL(name) _##name\n    .section __TEXT,__const\n    .subsections_via_symbols\n\
        #elif defined(_WIN32)\n#define SYMBOL(name) name\n    .section .rdata,\"dr\"\n\
        #else\n#define SYMBOL(name) name\n#define IS_ELF\n#endif\n",
    )?;
    for array in arrays {
        let symbol = &array.symbol;
        // A section of its own, so that the linker drops unused arrays.
        writeln!(out, "\n#ifdef IS_ELF\n    .section {section}.{symbol},\"a\",%progbits\n#endif")?;
        writeln!(out, "    .balign {align}\n    .globl SYMBOL({symbol})\nSYMBOL({symbol}):")?;
        match &array.content {
            Content::InFile(path, extent, _) if extent.length > 0 => {
                let path = path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
                writeln!(out, "    .incbin \"{path}\", {}, {}", extent.offset, extent.length)?;
            }
            Content::InFile(..) => {}
            Content::Bytes(bytes) => {
                for line in bytes.chunks(16) {
                    let numbers: Vec<String> = line.iter().map(u8::to_string).collect();
                    writeln!(out, "    .byte {}", numbers.join(","))?;
                }
            }
        }
    }
    // On Linux, declares that the stack is not executable.
    out.write_all(
        b"\n#if defined(__linux__) && defined(__ELF__)\n    .section .note.GNU-stack,\"\",%progbits\n#endif\n",
    )
}
