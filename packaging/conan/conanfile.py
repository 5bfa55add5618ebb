"""A recipe for Conan 2, in the unpacked tarball of `make dist-source`: conan create packaging/conan. It builds the
tarball's sources with its CMakeLists.txt, and needs cargo."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Tenslice(ConanFile):
    name = "tenslice"
    description = "Opens tensor files from borrowed bytes, without allocating and without copying"
    license = "MIT OR Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"features": ["ANY"]}
    default_options = {"features": "formats,digest,dequantize,write"}

    def set_version(self):
        manifest = load(self, os.path.join(self.recipe_folder, "..", "..", "Cargo.toml"))
        self.version = re.search(r'^version = "(.*)"', manifest, re.MULTILINE).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for what in ["CMakeLists.txt", "Cargo.toml", "Cargo.lock", "build.rs", "LICENSE-*", "src/*", "include/*", "packaging/*.in", "packaging/*.cmake",
                     "vendor/*", ".cargo/*"]:
            copy(self, what, src=top, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        del self.info.settings.build_type  # Rust's optimized library serves both
        self.info.settings.rm_safe("compiler.cppstd")
        self.info.settings.rm_safe("compiler.libcxx")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TENSLICE_FEATURES"] = str(self.options.features)
        toolchain.cache_variables["TENSLICE_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.libs = ["tenslice"]
        self.cpp_info.set_property("cmake_target_name", "tenslice::tenslice")
