// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace bitgraph::test {

/// Calls fn and expects it to throw Error{code, message}.
template <class Fn>
void expect_error(Fn&& fn, ErrorCode code, std::string_view message) {
  try {
    fn();
    ADD_FAILURE() << "no error, expected: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), std::string(message));
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code));
  }
}

/// The message contains `part`.
template <class Fn>
void expect_error_with(Fn&& fn, ErrorCode code, std::string_view part) {
  try {
    fn();
    ADD_FAILURE() << "no error, expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos) << error.what();
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code));
  }
}

template <class Fn>
void expect_bad_input(Fn&& fn, std::string_view message) {
  expect_error(fn, ErrorCode::bad_input, message);
}

}  // namespace bitgraph::test
