// SPDX-License-Identifier: Apache-2.0
// Files of tensors that are changed in one place each.
#pragma once

#include <bitgraph/io/array.hpp>

#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace bitgraph::test {

template <class T>
void put_value(Array& array, std::size_t index, T value) {
  std::memcpy(array.data.data() + index * sizeof(T), &value, sizeof(T));
}

struct Damage {
  std::function<void(TensorFile&)> change;
  std::string message;
};

/// Changes a good file in one place each; read() must refuse each with the message.
inline void expect_refused(const std::filesystem::path& path, const std::vector<Damage>& cases,
                           const std::function<void()>& read) {
  const std::string good = contents(path);
  for (const Damage& c : cases) {
    SCOPED_TRACE(c.message);
    TensorFile file = load_safetensors(path);
    c.change(file);
    save_safetensors(path, file);
    expect_bad_input(read, path.string() + ": " + c.message);
    std::ofstream(path, std::ios::binary) << good;
  }
  EXPECT_NO_THROW(read());
}

inline std::function<void(TensorFile&)> metadata(const std::string& key, const std::string& value) {
  return [=](TensorFile& file) { file.metadata[key] = value; };
}

inline std::function<void(TensorFile&)> without_tensor(const std::string& name) {
  return [=](TensorFile& file) { file.tensors.erase(name); };
}

template <class T>
std::function<void(TensorFile&)> with_value(const std::string& name, std::size_t index, T value) {
  return [=](TensorFile& file) { put_value(file.tensors.at(name), index, value); };
}

}  // namespace bitgraph::test
