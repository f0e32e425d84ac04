# SPDX-License-Identifier: Apache-2.0
# Tests that span the house: the floors, the public headers, the program, the installed package, the README.
# Label slow: minutes rather than seconds. Left out where sanitizers run.

# Debian's own interpreter first: its packages are those that ./run installs.
find_program(BITGRAPH_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(BITGRAPH_PYTHON NAMES python3 REQUIRED)

# tests/*_test.cpp: what spans floors, one program.
file(GLOB spanning_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
if(BITGRAPH_SANITIZE MATCHES "thread")
  # Only tests of several threads, and of training. Kernels and loops that run in parallel have tests in their floors.
  list(FILTER spanning_tests INCLUDE REGEX "/(fork|graph_classification|stop|training|two_threads)_test\\.cpp$")
endif()
if(spanning_tests)
  bitgraph_test_program(tests_spanning ${spanning_tests})
endif()

# The graph algorithms by the reference kernels, but for tests that take long there.
if(TARGET tests_graph AND NOT BITGRAPH_SANITIZE)
  add_test(NAME reference.graph COMMAND tests_graph --gtest_brief=1
    "--gtest_filter=-*Cuda*:*CUDA*:PlantedGraph.*:StrongComponents.ALong*:Triangles.OfEvery*:MultiSourceBfs.Many*")
  set_tests_properties(reference.graph PROPERTIES TIMEOUT 600 ENVIRONMENT "BITGRAPH_BACKEND=reference;OMP_WAIT_POLICY=passive")
endif()

# The floors: no include runs upward; and the checker finds what it should.
add_test(NAME floors.tree COMMAND ${BITGRAPH_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_floors.py ${PROJECT_SOURCE_DIR})
add_test(NAME floors.checker COMMAND ${BITGRAPH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/floors/check_floors_test.py)

# The documents: prose ends before column 120, links and paths lead somewhere; and the checker finds what it should.
add_test(NAME docs.tree COMMAND ${BITGRAPH_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/check_docs.py ${PROJECT_SOURCE_DIR})
add_test(NAME docs.checker COMMAND ${BITGRAPH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/docs/check_docs_test.py)

# Changes made on purpose: the script that makes them, over a file of its own.
add_test(NAME mutate.script COMMAND ${BITGRAPH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/mutate/mutate_test.py)

# What clang-tidy need not look at again.
add_test(NAME tidy.cache COMMAND ${BITGRAPH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tidy/tidy_test.py)

# Every public header compiles alone, twice over, with nothing but its own folder to include from.
file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.hpp)
set(header_units "")
foreach(header IN LISTS public_headers)
  string(REPLACE ".hpp" ".cpp" unit ${CMAKE_CURRENT_BINARY_DIR}/headers/${header})
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include <${header}>\n#include <${header}>\n")
  list(APPEND header_units ${unit})
endforeach()
add_library(public_headers OBJECT EXCLUDE_FROM_ALL ${header_units})
target_include_directories(public_headers PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_compile_features(public_headers PRIVATE cxx_std_20)
target_link_libraries(public_headers PRIVATE bitgraph_options)
if(NOT BITGRAPH_SANITIZE)
  add_test(NAME headers.compile_alone COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target public_headers)
  set_tests_properties(headers.compile_alone PROPERTIES LABELS slow)
endif()

# The program: tests/cli/*_test.py run it as its users do. BITGRAPH_PROGRAM names it.
if(TARGET bitgraph_cli)
  file(GLOB cli_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*_test.py)
  foreach(file IN LISTS cli_tests)
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_test(NAME cli.${name} COMMAND ${BITGRAPH_PYTHON} -m unittest ${name}_test
             WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/cli)
    set_tests_properties(cli.${name} PROPERTIES TIMEOUT 600
      ENVIRONMENT "BITGRAPH_PROGRAM=$<TARGET_FILE:bitgraph_cli>;BITGRAPH_SANITIZED=${BITGRAPH_SANITIZE};PYTHONDONTWRITEBYTECODE=1;OMP_WAIT_POLICY=passive;${bitgraph_quick_asan}")
  endforeach()
endif()

# The program beside SciPy over the smaller graphs of the data folder; without --max-entries and --quick, over all.
if(TARGET bitgraph_cli)
  set(truth_entries 30000)
  if(BITGRAPH_SANITIZE)
    set(truth_entries 6000)
  endif()
  add_test(NAME cli.truth COMMAND ${BITGRAPH_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/truth.py --max-entries ${truth_entries} --quick
           --program $<TARGET_FILE:bitgraph_cli> WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(cli.truth PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;OMP_WAIT_POLICY=passive")
endif()

# CUDA is asked for where there is no compiler for it: a clear message, not a build without it.
add_test(NAME configure.cuda
  COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${CMAKE_CURRENT_BINARY_DIR}/cuda -G Ninja -DBITGRAPH_CUDA=ON
          -DCMAKE_CUDA_COMPILER=NOTFOUND)
set_tests_properties(configure.cuda PROPERTIES PASS_REGULAR_EXPRESSION "BITGRAPH_CUDA=ON: no CUDA compiler found")

# The library alone configures without the libraries of the tests, the benchmarks and the program.
add_test(NAME configure.library_alone
  COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${CMAKE_CURRENT_BINARY_DIR}/library_alone -G Ninja
          -DBITGRAPH_BUILD_TESTS=OFF -DBITGRAPH_BUILD_BENCH=OFF -DBITGRAPH_BUILD_CLI=OFF -DBITGRAPH_BUILD_EXAMPLES=OFF
          -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON -DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON
          -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)

# The pages of docs/guide/, docs/cli.md and the example of the README: tests/guide/run_page.py runs their commands and
# code, and compares what they print. Pages run the examples too.
add_test(NAME guide.runner COMMAND ${BITGRAPH_PYTHON} -m unittest run_page_test
         WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/guide)
set_tests_properties(guide.runner PROPERTIES ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
if(TARGET bitgraph_cli AND BITGRAPH_BUILD_EXAMPLES)
  set(guide_runner ${CMAKE_CURRENT_SOURCE_DIR}/guide/run_page.py)
  file(GLOB guide_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/guide/*.md)
  list(FILTER guide_pages EXCLUDE REGEX "/README\\.md$")
  foreach(page IN LISTS guide_pages ITEMS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/cli.md)
    get_filename_component(name ${page} NAME_WE)
    set(section "")
    if(name STREQUAL "README")
      set(section --section "The library")
    elseif(name STREQUAL "cli")
      set(section --most-lines 60)
    endif()
    set(code ${CMAKE_CURRENT_BINARY_DIR}/guide/${name}.cpp)
    set(program "")
    execute_process(COMMAND ${BITGRAPH_PYTHON} ${guide_runner} ${page} ${section} --extract ${code} COMMAND_ERROR_IS_FATAL ANY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
    if(EXISTS ${code})
      add_executable(guide_${name} ${code})
      target_link_libraries(guide_${name} PRIVATE bitgraph::bitgraph)
      set(program --program $<TARGET_FILE:guide_${name}>)
    endif()
    add_test(NAME guide.${name}
             COMMAND ${BITGRAPH_PYTHON} ${guide_runner} ${page} ${section}
                     --path $<TARGET_FILE_DIR:bitgraph_cli> ${program})
    set_tests_properties(guide.${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77
      ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1;OMP_WAIT_POLICY=passive")
  endforeach()
endif()

# Objects that use a precompiled header are found again in another folder.
add_test(NAME run.ccache COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/ccache_test.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})
set_tests_properties(run.ccache PROPERTIES SKIP_RETURN_CODE 77)

# ./run installs packages though other programs hold locks.
add_test(NAME run.install COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/run_install_test.sh ${PROJECT_SOURCE_DIR})

if(NOT BITGRAPH_SANITIZE)
  # A program built against the installed package.
  if(TARGET bitgraph_cli AND NOT BUILD_SHARED_LIBS)
    foreach(way IN ITEMS cmake pkgconf shared)
      add_test(NAME consumer.${way} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/consumer/consumer_test.sh ${way}
               ${PROJECT_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR}/consumer/${way}
               -DBITGRAPH_CUDA_FAST_COMPILE=${BITGRAPH_CUDA_FAST_COMPILE})
      set_tests_properties(consumer.${way} PROPERTIES LABELS slow TIMEOUT 2400 ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER}")
    endforeach()
  endif()

  # The commands of the README in a clean clone.
  add_test(NAME readme.commands COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/readme_test.sh ${PROJECT_SOURCE_DIR}
           -DBITGRAPH_PCH=${BITGRAPH_PCH} -DBITGRAPH_UNITY=${BITGRAPH_UNITY} -DBITGRAPH_WERROR=${BITGRAPH_WERROR}
           -DBITGRAPH_LEVELS_LEFT_OUT=${BITGRAPH_LEVELS_LEFT_OUT}
           -DBITGRAPH_CUDA_FAST_COMPILE=${BITGRAPH_CUDA_FAST_COMPILE})
  set_tests_properties(readme.commands PROPERTIES LABELS slow TIMEOUT 1800 SKIP_RETURN_CODE 77)
endif()
