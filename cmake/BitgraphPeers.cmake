# SPDX-License-Identifier: Apache-2.0
# The rivals of `bitgraph bench graph`. SuiteSparse:GraphBLAS becomes a module that the program loads when it is asked
# to measure: neither the library nor the program is linked with it. cuSPARSE and cuBLASLt are looked for at run time;
# the header of cuSPARSE is needed here.

list(FILTER cli_sources EXCLUDE REGEX "/peers/graphblas/")
set(BITGRAPH_WITH_CUSPARSE OFF)
if(BITGRAPH_WITH_CUDA)
  # What a rival needs besides its library: kernels of the program's own.
  file(GLOB peer_kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/peers/*.cu)
  list(APPEND cli_sources ${peer_kernels})
  list(FILTER cli_sources EXCLUDE REGEX "/peers/requantize_absent\\.cpp$")
  find_path(BITGRAPH_CUSPARSE_INCLUDE cusparse.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(BITGRAPH_CUSPARSE_INCLUDE)
    set(BITGRAPH_WITH_CUSPARSE ON)
  endif()
endif()
if(BITGRAPH_WITH_CUSPARSE)
  list(FILTER cli_sources EXCLUDE REGEX "/peers/find_cusparse_absent\\.cpp$")
else()
  list(FILTER cli_sources EXCLUDE REGEX "/peers/cusparse/")
endif()

set(BITGRAPH_WITH_GRAPHBLAS OFF)
# It brings GCC's OpenMP runtime, which the sanitizers' builds do not have.
if(BITGRAPH_GRAPHBLAS AND NOT BITGRAPH_SANITIZE)
  find_path(BITGRAPH_GRAPHBLAS_INCLUDE GraphBLAS.h PATH_SUFFIXES suitesparse)
  find_library(BITGRAPH_GRAPHBLAS_LIBRARY graphblas)
  if(BITGRAPH_GRAPHBLAS_INCLUDE AND BITGRAPH_GRAPHBLAS_LIBRARY)
    set(BITGRAPH_WITH_GRAPHBLAS ON)
  elseif(NOT BITGRAPH_GRAPHBLAS STREQUAL "AUTO")
    message(FATAL_ERROR "BITGRAPH_GRAPHBLAS=${BITGRAPH_GRAPHBLAS}: GraphBLAS.h or its library not found. Install libgraphblas-dev, or build without it.")
  endif()
endif()
message(STATUS "Peers of the benchmarks: SuiteSparse:GraphBLAS ${BITGRAPH_WITH_GRAPHBLAS}, cuSPARSE ${BITGRAPH_WITH_CUSPARSE}")

# bitgraph_add_peers(<program>): what the program needs to find them.
function(bitgraph_add_peers program)
  target_link_libraries(${program} PRIVATE ${CMAKE_DL_LIBS} $<$<BOOL:${BITGRAPH_WITH_CUDA}>:CUDA::cudart_static>)
  if(BITGRAPH_WITH_CUSPARSE)
    target_include_directories(${program} SYSTEM PRIVATE ${BITGRAPH_CUSPARSE_INCLUDE})
  endif()
  set(module "")
  if(BITGRAPH_WITH_GRAPHBLAS)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/peers/graphblas/*.cpp)
    add_library(bitgraph_graphblas MODULE ${sources})
    set_target_properties(bitgraph_graphblas PROPERTIES PREFIX "" OUTPUT_NAME graphblas
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${BITGRAPH_MODULE_DIR})
    target_include_directories(bitgraph_graphblas PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(bitgraph_graphblas SYSTEM PRIVATE ${BITGRAPH_GRAPHBLAS_INCLUDE})
    target_link_libraries(bitgraph_graphblas PRIVATE bitgraph_options ${BITGRAPH_GRAPHBLAS_LIBRARY})
    target_link_options(bitgraph_graphblas PRIVATE -Wl,--no-undefined)
    add_dependencies(${program} bitgraph_graphblas)
    set(module ../${BITGRAPH_MODULE_DIR}/graphblas.so)
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/peers/find_graphblas.cpp TARGET_DIRECTORY ${program}
                              PROPERTIES COMPILE_DEFINITIONS "BITGRAPH_GRAPHBLAS_MODULE=\"${module}\"")
endfunction()
