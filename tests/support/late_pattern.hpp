// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/formats/csr_pattern.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <utility>

namespace bitgraph::test {

/// A pattern that is made when it is first asked for: every test is a process that lists all cases and looks at one.
class LatePattern {
 public:
  template <std::invocable Make>
  LatePattern(Make make) : make_(std::move(make)) {}
  LatePattern(CsrPattern made) : made_(std::move(made)) {}

  const CsrPattern& operator*() const {
    if (!made_) made_ = make_();
    return *made_;
  }
  const CsrPattern* operator->() const { return &**this; }
  operator const CsrPattern&() const { return **this; }

 private:
  std::function<CsrPattern()> make_;
  mutable std::optional<CsrPattern> made_;
};

}  // namespace bitgraph::test
