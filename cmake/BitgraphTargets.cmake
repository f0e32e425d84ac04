# SPDX-License-Identifier: Apache-2.0
# What every target of the project shares: warnings, sanitizers, dependencies.

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(FastFloat REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)
find_path(BITGRAPH_XXHASH_INCLUDE xxhash.h REQUIRED)  # header only: the checksums of .b2sr
find_library(BITGRAPH_OPENBLAS openblas REQUIRED)
find_path(BITGRAPH_OPENBLAS_INCLUDE cblas.h
          PATH_SUFFIXES openblas-openmp openblas-pthread openblas ${CMAKE_LIBRARY_ARCHITECTURE}
                        ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread REQUIRED)
find_path(BITGRAPH_METIS_INCLUDE metis.h REQUIRED)
find_library(BITGRAPH_METIS metis REQUIRED)

set(BITGRAPH_MODULE_DIR ${CMAKE_INSTALL_LIBDIR}/bitgraph)  # what the program loads when it is asked to

add_library(bitgraph_options INTERFACE)
set(bitgraph_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wno-missing-field-initializers
  $<$<BOOL:${BITGRAPH_WERROR}>:-Werror>
  # Products and sums are rounded one by one, the same on every processor; kernels ask for fused ones by name.
  -ffp-contract=off
  # GCC 12 reports false overflows in vectorised loops and the standard library at -O2 and above.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
# Device code lies compressed in the program, less than half of its size, and is unpacked when a kernel is first called.
set(bitgraph_cuda_options
  -fmad=false --expt-relaxed-constexpr --extended-lambda -lineinfo -Xfatbin=-compress-all
  -Xcompiler=-Wall,-Wextra,-ffp-contract=off $<$<BOOL:${BITGRAPH_WERROR}>:--Werror=all-warnings>)
target_compile_options(bitgraph_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${bitgraph_warnings}>" "$<$<COMPILE_LANGUAGE:CUDA>:${bitgraph_cuda_options}>")
# Highway's levels: what the architecture always has, AVX2, AVX-512, AVX-512 with VPOPCNTDQ; NEON on Arm. Fewer levels,
# shorter builds; SVE's vectors have no size that arrays of them could be made of.
set(bitgraph_levels_left_out "HWY_SSSE3|HWY_SSE4|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128")
if(BITGRAPH_LEVELS_LEFT_OUT)
  string(APPEND bitgraph_levels_left_out "|${BITGRAPH_LEVELS_LEFT_OUT}")
endif()
target_compile_definitions(bitgraph_options INTERFACE
  HWY_WANT_AVX3_DL "HWY_DISABLED_TARGETS=(${bitgraph_levels_left_out})")

if(BITGRAPH_SANITIZE)
  add_compile_options(-fsanitize=${BITGRAPH_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${BITGRAPH_SANITIZE})
  if(BITGRAPH_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# bitgraph_sources(<out> <folder>): the sources of a floor. Tests and benchmarks stand beside them and are left out.
function(bitgraph_sources out folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# bitgraph_sources_named(<out> <suffix>): all files of the house called *_<suffix>.cpp.
function(bitgraph_sources_named out folder suffix)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*_${suffix}.cpp)
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# bitgraph_link_library_first(<program>): where the library and a program both have an inline function, the linker keeps
# the first: the library's, which is optimised where the program is not.
function(bitgraph_link_library_first program)
  target_link_options(${program} PRIVATE LINKER:--whole-archive $<TARGET_FILE:bitgraph> LINKER:--no-whole-archive)
endfunction()
