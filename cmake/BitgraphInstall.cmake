# SPDX-License-Identifier: Apache-2.0
# cmake --install: library, headers, program, find_package(bitgraph) and pkg-config. Everything installed can be moved.

include(CMakePackageConfigHelpers)

set(BITGRAPH_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/bitgraph)
get_target_property(BITGRAPH_LIBRARY_TYPE bitgraph TYPE)
if(BITGRAPH_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  set(BITGRAPH_IS_STATIC ON)
else()
  set(BITGRAPH_IS_STATIC OFF)
endif()

install(TARGETS bitgraph EXPORT bitgraph-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT bitgraph-targets NAMESPACE bitgraph:: DESTINATION ${BITGRAPH_CMAKE_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/bitgraph DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
if(TARGET bitgraph_cli)
  install(TARGETS bitgraph_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET bitgraph_graphblas)
  install(TARGETS bitgraph_graphblas LIBRARY DESTINATION ${BITGRAPH_MODULE_DIR})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/bitgraph-config.cmake.in
  ${PROJECT_BINARY_DIR}/packaging/bitgraph-config.cmake INSTALL_DESTINATION ${BITGRAPH_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/packaging/bitgraph-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/packaging/bitgraph-config.cmake
              ${PROJECT_BINARY_DIR}/packaging/bitgraph-config-version.cmake
        DESTINATION ${BITGRAPH_CMAKE_DIR})

if(BITGRAPH_WITH_CUDA AND BITGRAPH_IS_STATIC)
  install(FILES ${CUDA_cudart_static_LIBRARY} DESTINATION ${BITGRAPH_MODULE_DIR} RENAME libcudart_static.a)
endif()

# A program that links the static library links what that is made of too: pkg-config says so without --static. A shared
# library brings its own.
file(RELATIVE_PATH BITGRAPH_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(BITGRAPH_PC_REQUIRES "")
set(BITGRAPH_PC_LIBS "")
if(BITGRAPH_IS_STATIC)
  set(BITGRAPH_PC_REQUIRES "fmt libhwy libzip libdeflate zlib")
  set(BITGRAPH_PC_LIBS " -lopenblas -lmetis ${OpenMP_CXX_FLAGS}")
  if(BITGRAPH_WITH_CUDA)
    string(APPEND BITGRAPH_PC_LIBS " \${prefix}/${BITGRAPH_MODULE_DIR}/libcudart_static.a -ldl -lrt -lpthread")
  endif()
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/bitgraph.pc.in ${PROJECT_BINARY_DIR}/packaging/bitgraph.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/packaging/bitgraph.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
