# SPDX-License-Identifier: Apache-2.0
# Included with BITGRAPH_CUDA=ON, which is a demand: what cannot be built is an error, never left out in silence.

file(GLOB_RECURSE BITGRAPH_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cu)
if(NOT BITGRAPH_CUDA_SOURCES)
  message(FATAL_ERROR
    "BITGRAPH_CUDA=ON: this version of bitgraph has no CUDA backend. Use the preset release; it needs no CUDA.")
endif()

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR
    "BITGRAPH_CUDA=ON: no CUDA compiler found. Put nvcc on the PATH or set CMAKE_CUDA_COMPILER, or use the preset release.")
endif()
enable_language(CUDA)
