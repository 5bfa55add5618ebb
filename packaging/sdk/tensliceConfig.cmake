# find_package(tenslice) of the SDK: prebuilt libraries of many machines. Defines
#
#     tenslice::tenslice                   all formats
#     tenslice::safetensors, and so on     one format each
#     tenslice::shared                     the shared library, if there is one for the machine
#
# The machine is that of the compiler and its flags; TENSLICE_TARGET names it instead, such as thumbv7em-none-eabihf.
# A program links one of the libraries. COMPONENTS names those that must be there.
# Uses the real path, since the folder may have been found through a link, such as /lib to /usr/lib.
get_filename_component(_tenslice_here "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(_tenslice_prefix "${_tenslice_here}/../../.." ABSOLUTE)
include("${_tenslice_here}/target.cmake")

set(tenslice_FOUND FALSE)
file(GLOB _tenslice_archives RELATIVE "${_tenslice_prefix}/lib" "${_tenslice_prefix}/lib/*/*tenslice.a"
  "${_tenslice_prefix}/lib/*/tenslice.lib")
string(REGEX REPLACE "/[^/;]*" "" _tenslice_targets "${_tenslice_archives}")
string(REPLACE ";" ", " _tenslice_targets "${_tenslice_targets}")

set(_tenslice_target "${TENSLICE_TARGET}")
if(NOT _tenslice_target)
  _tenslice_derive_target(_tenslice_target)
endif()
set(_tenslice_lib "${_tenslice_prefix}/lib/${_tenslice_target}")
set(_tenslice_name libtenslice)
set(_tenslice_suffix .a)
if(_tenslice_target MATCHES "windows-msvc$")
  set(_tenslice_name tenslice)
  set(_tenslice_suffix .lib)
endif()

if(NOT _tenslice_target)
  set(tenslice_NOT_FOUND_MESSAGE "The name of the machine could not be derived from the compiler's flags for \
${CMAKE_SYSTEM_NAME} on \"${CMAKE_SYSTEM_PROCESSOR}\": -DTENSLICE_TARGET=, one of ${_tenslice_targets}.")
elseif(NOT EXISTS "${_tenslice_lib}/${_tenslice_name}${_tenslice_suffix}")
  set(tenslice_NOT_FOUND_MESSAGE "This SDK has no library for ${_tenslice_target}, but for ${_tenslice_targets}. \
TENSLICE_TARGET names another of them; the source tarball builds for others.")
else()
  # The formats that have an archive of their own.
  file(GLOB _tenslice_archives RELATIVE "${_tenslice_lib}" "${_tenslice_lib}/${_tenslice_name}-*${_tenslice_suffix}")
  set(_tenslice_formats "")
  foreach(_tenslice_archive IN LISTS _tenslice_archives)
    string(REGEX REPLACE "^${_tenslice_name}-(.*)\\${_tenslice_suffix}$" "\\1" _tenslice_format "${_tenslice_archive}")
    list(APPEND _tenslice_formats "${_tenslice_format}")
  endforeach()
  file(GLOB _tenslice_shared "${_tenslice_lib}/libtenslice.so" "${_tenslice_lib}/libtenslice.dylib" "${_tenslice_lib}/tenslice.dll")

  set(tenslice_FOUND TRUE)
  foreach(_tenslice_component IN LISTS tenslice_FIND_COMPONENTS)
    set(tenslice_${_tenslice_component}_FOUND TRUE)
    if(NOT _tenslice_component IN_LIST _tenslice_formats AND NOT _tenslice_component STREQUAL "tenslice"
       AND NOT (_tenslice_component STREQUAL "shared" AND _tenslice_shared))
      set(tenslice_${_tenslice_component}_FOUND FALSE)
      if(tenslice_FIND_REQUIRED_${_tenslice_component})
        set(tenslice_FOUND FALSE)
        string(REPLACE ";" ", " _tenslice_formats "${_tenslice_formats}")
        set(tenslice_NOT_FOUND_MESSAGE "There is no component \"${_tenslice_component}\" for ${_tenslice_target}, but \
tenslice (all formats), ${_tenslice_formats}.")
        break()
      endif()
    endif()
  endforeach()
endif()

if(tenslice_FOUND)
  foreach(_tenslice_format IN LISTS _tenslice_formats ITEMS tenslice)
    if(NOT TARGET tenslice::${_tenslice_format})
      set(_tenslice_archive "${_tenslice_name}-${_tenslice_format}${_tenslice_suffix}")
      if(_tenslice_format STREQUAL "tenslice")
        set(_tenslice_archive "${_tenslice_name}${_tenslice_suffix}")
      endif()
      add_library(tenslice::${_tenslice_format} STATIC IMPORTED)
      set_target_properties(tenslice::${_tenslice_format} PROPERTIES IMPORTED_LOCATION "${_tenslice_lib}/${_tenslice_archive}")
      # The linker removes everything that the program does not call. Microsoft's linker does so by default.
      if(_tenslice_target MATCHES "apple")
        set_target_properties(tenslice::${_tenslice_format} PROPERTIES INTERFACE_LINK_OPTIONS "-Wl,-dead_strip")
      elseif(NOT MSVC)
        set_target_properties(tenslice::${_tenslice_format} PROPERTIES INTERFACE_LINK_OPTIONS "-Wl,--gc-sections")
      endif()
    endif()
  endforeach()
  if(_tenslice_shared AND NOT TARGET tenslice::shared)
    add_library(tenslice::shared SHARED IMPORTED)
    set_target_properties(tenslice::shared PROPERTIES IMPORTED_LOCATION "${_tenslice_shared}")
    file(GLOB _tenslice_import "${_tenslice_lib}/libtenslice.dll.a" "${_tenslice_lib}/tenslice.dll.lib")
    if(_tenslice_import)
      set_target_properties(tenslice::shared PROPERTIES IMPORTED_IMPLIB "${_tenslice_import}")
    endif()
  endif()
  # Each library has all common functions, so a program that links two of them is an error, which CMake reports.
  foreach(_tenslice_format IN LISTS _tenslice_formats ITEMS tenslice shared)
    if(TARGET tenslice::${_tenslice_format})
      set_target_properties(tenslice::${_tenslice_format} PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${_tenslice_prefix}/include"
        COMPATIBLE_INTERFACE_STRING TENSLICE_LIBRARY
        INTERFACE_TENSLICE_LIBRARY ${_tenslice_format})
    endif()
  endforeach()
endif()

foreach(_tenslice_variable here prefix archives targets target lib name suffix formats format archive shared import component)
  unset(_tenslice_${_tenslice_variable})
endforeach()
