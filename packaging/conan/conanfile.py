"""A recipe for Conan 2: conan create packaging/conan, in the unpacked SDK, whose prebuilt library it packs, or in the
unpacked tarball of `make dist-source`, whose sources it builds with CMake and cargo."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, update_conandata


class Tenslice(ConanFile):
    name = "tenslice"
    description = "Opens tensor files from borrowed bytes, without allocating and without copying"
    license = "MIT OR Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        # The features of Cargo.toml: for the sources only.
        "features": ["ANY"],
        # The library of all formats, or of one: for the SDK only.
        "format": ["ANY"],
        # Rust's name of the machine, such as thumbv7em-none-eabihf. Empty: derived from the settings.
        "target": ["", "ANY"],
    }
    default_options = {"features": "formats,digest,dequantize,write,zstd", "format": "all", "target": ""}

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, "..", "..")

    @property
    def _sdk(self):  # in the cache, export() has stated it
        if self.conan_data:
            return self.conan_data["sdk"]
        return not os.path.exists(os.path.join(self._top, "Cargo.toml"))

    @property
    def _library(self):
        return "tenslice" if not self._sdk or self.options.format == "all" else f"tenslice-{self.options.format}"

    @property
    def _target(self):
        if self.options.target:
            return str(self.options.target)
        machine = {"x86_64": "x86_64", "armv8": "aarch64", "armv7hf": "armv7", "riscv64": "riscv64gc"}.get(str(self.settings.arch))
        windows = "msvc" if self.settings.get_safe("compiler") == "msvc" else "gnu"
        libc = "musl" if self.settings.get_safe("compiler.libc") == "musl" else "gnu"
        system = {"Linux": f"unknown-linux-{libc}" + ("eabihf" if machine == "armv7" else ""), "Windows": f"pc-windows-{windows}",
                  "Macos": "apple-darwin"}.get(str(self.settings.os))
        return f"{machine}-{system}" if machine and system else None

    def set_version(self):
        manifest = os.path.join(self._top, "Cargo.toml")
        if os.path.exists(manifest):
            pattern = r'^version = "(.*)"'
        else:
            manifest = os.path.join(self._top, "lib", "pkgconfig", "tenslice.pc")
            pattern = r"^Version: (\S+)"
        self.version = re.search(pattern, load(self, manifest), re.MULTILINE).group(1)

    def export(self):
        update_conandata(self, {"sdk": self._sdk})

    def export_sources(self):
        sources = ["CMakeLists.txt", "Cargo.toml", "Cargo.lock", "build.rs", "src/*", "packaging/*.in", "packaging/*.cmake",
                   "vendor/*", ".cargo/*"]
        prebuilt = ["lib/*", "share/*", "third-party/*"]
        for what in (prebuilt if self._sdk else sources) + ["include/*", "LICENSE-*"]:
            copy(self, what, src=self._top, dst=self.export_sources_folder)

    def layout(self):
        if not self._sdk:
            cmake_layout(self)

    def validate(self):
        if self._sdk and self._target is None:
            raise ConanInvalidConfiguration(f"what Rust calls {self.settings.os} on {self.settings.arch} is not known here: "
                                            "-o tenslice/*:target=, a folder of lib/")

    def package_id(self):
        self.info.settings.rm_safe("build_type")  # Rust's optimized library serves both
        self.info.settings.rm_safe("compiler.cppstd")
        self.info.settings.rm_safe("compiler.libcxx")
        if self._sdk:
            self.info.options.rm_safe("features")
        else:
            self.info.options.rm_safe("format")

    def generate(self):
        if self._sdk:
            return
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TENSLICE_FEATURES"] = str(self.options.features)
        toolchain.cache_variables["TENSLICE_RUST_TARGET"] = str(self.options.target)
        toolchain.cache_variables["TENSLICE_INSTALL"] = True
        toolchain.generate()

    def build(self):
        if not self._sdk:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        if not self._sdk:
            CMake(self).install()
            return
        archives = copy(self, f"lib{self._library}.a", os.path.join(self.source_folder, "lib", self._target),
                        os.path.join(self.package_folder, "lib")) \
            + copy(self, f"{self._library}.lib", os.path.join(self.source_folder, "lib", self._target),
                   os.path.join(self.package_folder, "lib"))
        if not archives:
            raise ConanInvalidConfiguration(f"lib/{self._target} of this SDK has no {self._library}")
        copy(self, f"lib/pkgconfig/{self._library}.pc", self.source_folder, os.path.join(self.package_folder, "share"))
        for what in ["include/*", "share/*", "third-party/*", "LICENSE-*"]:
            copy(self, what, self.source_folder, self.package_folder)

    def package_info(self):
        features = str(self.options.get_safe("features", ""))
        if self._sdk:
            stated = load(self, os.path.join(self.package_folder, "share", "lib", "pkgconfig", f"{self._library}.pc"))
            features = re.search(r"^features=(.*)$", stated, re.MULTILINE).group(1).strip()
        self.cpp_info.libs = [self._library]
        self.cpp_info.set_property("cmake_target_name", "tenslice::tenslice")
        # The linker removes everything that the program does not call. Microsoft's linker does so by default.
        if self.settings.os == "Macos":
            self.cpp_info.exelinkflags = ["-Wl,-dead_strip"]
        elif self.settings.get_safe("compiler") != "msvc":
            self.cpp_info.exelinkflags = ["-Wl,--gc-sections"]
        # The features of the library, for CMake and for pkg-config --variable=features.
        self.cpp_info.set_property("cmake_extra_variables", {"tenslice_FEATURES": features})
        self.cpp_info.set_property("pkg_config_custom_content", {"features": features})
