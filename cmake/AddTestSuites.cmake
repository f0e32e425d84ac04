# SPDX-License-Identifier: Apache-2.0
# Run by ctest with `name` of a test program, its path `program` and `environment`: adds one test for each suite, in place
# of one for each case. Under sanitizers a process takes longer to start than most cases to run.

if(NOT EXISTS "${program}")
  add_test("${name}_NOT_BUILT" "${name}_NOT_BUILT")
  return()
endif()
execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[^ \n]+\\." suites "\n${listed}")
foreach(suite IN LISTS suites)
  string(STRIP "${suite}" suite)
  string(REGEX REPLACE "\\.$" "" title "${name}.${suite}")
  add_test("${title}" "${program}" --gtest_brief=1 "--gtest_filter=${suite}*")
  set_tests_properties("${title}" PROPERTIES TIMEOUT 1800 ENVIRONMENT "${environment}")
endforeach()
