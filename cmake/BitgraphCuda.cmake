# SPDX-License-Identifier: Apache-2.0
# Sets BITGRAPH_WITH_CUDA. With BITGRAPH_CUDA=ON a machine without a CUDA compiler is an error, with AUTO it builds on
# without CUDA and says so.

set(BITGRAPH_WITH_CUDA OFF)
if(BITGRAPH_CUDA)
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)  # where NVIDIA's packages put it, often not on the PATH
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Real code for Ampere and Hopper, PTX for what comes later. CI builds one, to be quick. A build folder keeps what it
    # was told, or a build that configures again by itself would compile for others.
    if(DEFINED ENV{BITGRAPH_CUDA_ARCHITECTURES})
      set(CMAKE_CUDA_ARCHITECTURES $ENV{BITGRAPH_CUDA_ARCHITECTURES} CACHE STRING "CUDA architectures" FORCE)
    elseif(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 90-virtual)
    endif()
    enable_language(CUDA)
    if(BITGRAPH_CUDA_FAST_COMPILE)  # ahead of the standard, which CMake 3.25 cannot check with
      include(CheckCompilerFlag)
      check_compiler_flag(CUDA --Ofast-compile=mid BITGRAPH_HAS_FAST_COMPILE)  # older ones of nvcc lack it
      if(BITGRAPH_HAS_FAST_COMPILE)
        string(APPEND CMAKE_CUDA_FLAGS " --Ofast-compile=mid")
      endif()
    endif()
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 knows nvcc's C++17 only
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    find_package(CUDAToolkit REQUIRED)
    set(BITGRAPH_WITH_CUDA ON)
  elseif(NOT BITGRAPH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR
      "BITGRAPH_CUDA=${BITGRAPH_CUDA}: no CUDA compiler found. Put nvcc on the PATH or set CMAKE_CUDA_COMPILER, or build without CUDA.")
  endif()
endif()
message(STATUS "CUDA backend: ${BITGRAPH_WITH_CUDA}")
