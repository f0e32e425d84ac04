// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace bitgraph {

/// What kind of thing went wrong. The value is also the exit code of the command line.
enum class ErrorCode : int {
  internal = 1,      ///< a defect in the library, or a failing operating system
  usage = 2,         ///< arguments that make no sense: shapes that do not fit, an unknown option
  bad_input = 3,     ///< a file or array whose contents are wrong
  not_possible = 4,  ///< not on this machine: no such device, not enough memory
  stopped = 130,     ///< the caller asked for it (Device::with_stop); shells say 130 of a program that was interrupted
};

/// The one exception that the library throws.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error{code, message}.
[[noreturn]] void fail(ErrorCode code, const std::string& message);

/// Throws Error{ErrorCode::usage, message} unless `condition` holds.
inline void require(bool condition, const char* message) {
  if (!condition) fail(ErrorCode::usage, message);
}

}  // namespace bitgraph
