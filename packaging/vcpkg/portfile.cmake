# A port for vcpkg, in the unpacked tarball of `make dist-source`: vcpkg install tenslice
# --overlay-ports=packaging/vcpkg. It builds the tarball's sources, and needs cargo. The port of a registry would
# download the tarball.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# Rust's optimized library serves both configurations.
set(VCPKG_BUILD_TYPE release)
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DTENSLICE_INSTALL=ON
        "-DTENSLICE_CMAKE_DIR=share/${PORT}"
)
vcpkg_cmake_install()
vcpkg_fixup_pkgconfig()

vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
