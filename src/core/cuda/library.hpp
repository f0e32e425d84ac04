// SPDX-License-Identifier: Apache-2.0
// Libraries of the CUDA toolkit that are found when the program runs. They are not linked: a build needs neither them
// nor, where their functions are declared by hand, their headers.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <type_traits>

namespace bitgraph {

/// The functions of a library that is loaded, by name.
class LibraryFunctions {
 public:
  explicit LibraryFunctions(void* library) : library_(library) {}

  /// Sets `function`; the first name that is not there is kept in missing().
  template <class Function>
  void find(Function& function, const char* name) {
    find_optional(function, name);
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  /// The same for a function that older versions lack: null there.
  template <class Function>
  void find_optional(Function& function, const char* name) const {
    static_assert(std::is_pointer_v<Function>);
    function = reinterpret_cast<Function>(symbol(name));
  }

  [[nodiscard]] const std::string& missing() const noexcept { return missing_; }

 private:
  [[nodiscard]] void* symbol(const char* name) const noexcept;

  void* library_;
  std::string missing_;
};

/// Loads the first library of `names` in which look_up misses nothing: each name where the loader looks, then in
/// /usr/local/cuda/lib64. Returns an empty string, or why there is none: "libx.so.1 not found: add its folder to
/// LD_LIBRARY_PATH", "libx.so.1 has no xCreate". A library that was found stays loaded.
[[nodiscard]] std::string load_functions(std::span<const std::string> names,
                                         const std::function<void(LibraryFunctions&)>& look_up);

}  // namespace bitgraph
