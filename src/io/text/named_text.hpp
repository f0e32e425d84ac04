// SPDX-License-Identifier: Apache-2.0
// Texts of data sets that consist of several files.
#pragma once

#include <bitgraph/core/buffer.hpp>

#include "io/file/file.hpp"
#include "io/file/gzip.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace bitgraph {

/// A file's text, and the name that messages give it.
struct NamedText {
  std::string_view text;
  std::string name;
};

/// The text of a file, unpacked where it is gzipped. Throws bad_input naming the file.
struct UnpackedText {
  std::shared_ptr<MappedFile> file;
  Buffer<std::byte> plain;
  NamedText named;

  UnpackedText(const std::filesystem::path& path, const Device& device) : file(MappedFile::open(path)) {
    named = {file->text(), path.string()};
    if (!is_gzip(file->bytes())) return;
    plain = gunzip(file->bytes(), named.name, device);
    named.text = {reinterpret_cast<const char*>(plain.data()), plain.size()};
  }
};

}  // namespace bitgraph
