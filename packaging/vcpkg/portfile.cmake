# A port for vcpkg: vcpkg install tenslice --overlay-ports=packaging/vcpkg, in the unpacked SDK, whose prebuilt
# libraries it installs, or in the unpacked tarball of `make dist-source`, whose sources it builds with cargo. The port
# of a registry would download the tarball.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# Rust's optimized library serves both configurations.
set(VCPKG_BUILD_TYPE release)
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)

if(EXISTS "${SOURCE_PATH}/Cargo.toml")
  vcpkg_cmake_configure(
      SOURCE_PATH "${SOURCE_PATH}"
      OPTIONS
          -DTENSLICE_INSTALL=ON
          "-DTENSLICE_CMAKE_DIR=share/${PORT}"
  )
  vcpkg_cmake_install()
  vcpkg_fixup_pkgconfig()
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
else()
  # The tree of the SDK stays as it is, with the libraries of this triplet only: its CMake and pkg-config files refer to
  # lib/TARGET. A triplet file may set TENSLICE_TARGET to Rust's name of the machine.
  if(NOT TENSLICE_TARGET)
    set(machine_x64 x86_64)
    set(machine_arm64 aarch64)
    set(machine_arm armv7)
    set(machine_riscv64 riscv64gc)
    set(machine "${machine_${VCPKG_TARGET_ARCHITECTURE}}")
    if(VCPKG_TARGET_IS_LINUX)
      set(TENSLICE_TARGET "${machine}-unknown-linux-gnu")
      if(machine STREQUAL "armv7")
        string(APPEND TENSLICE_TARGET "eabihf")
      endif()
    elseif(VCPKG_TARGET_IS_MINGW)
      set(TENSLICE_TARGET "${machine}-pc-windows-gnu")
    elseif(VCPKG_TARGET_IS_WINDOWS)
      set(TENSLICE_TARGET "${machine}-pc-windows-msvc")
    elseif(VCPKG_TARGET_IS_OSX)
      set(TENSLICE_TARGET "${machine}-apple-darwin")
    endif()
  endif()
  if(NOT IS_DIRECTORY "${SOURCE_PATH}/lib/${TENSLICE_TARGET}" OR TENSLICE_TARGET STREQUAL "")
    message(FATAL_ERROR "tenslice: this SDK has no library for ${TARGET_TRIPLET} (lib/${TENSLICE_TARGET}): set TENSLICE_TARGET "
      "in the triplet file")
  endif()
  set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
  set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
  file(INSTALL "${SOURCE_PATH}/include" DESTINATION "${CURRENT_PACKAGES_DIR}")
  file(INSTALL "${SOURCE_PATH}/share/tenslice" DESTINATION "${CURRENT_PACKAGES_DIR}/share")
  file(GLOB archives "${SOURCE_PATH}/lib/${TENSLICE_TARGET}/*.a" "${SOURCE_PATH}/lib/${TENSLICE_TARGET}/*.lib")
  list(FILTER archives EXCLUDE REGEX "\\.dll\\.") # import libraries
  file(INSTALL ${archives} DESTINATION "${CURRENT_PACKAGES_DIR}/lib/${TENSLICE_TARGET}")
  file(INSTALL "${SOURCE_PATH}/lib/cmake" "${SOURCE_PATH}/lib/pkgconfig" DESTINATION "${CURRENT_PACKAGES_DIR}/lib")
endif()

vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
