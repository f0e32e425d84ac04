// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/buffer.hpp>
#include <bitgraph/formats/dense_matrix.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace bitgraph {

/// Element types of files.
enum class ElementType { u8, i8, u16, i16, u32, i32, u64, i64, f32, f64 };

[[nodiscard]] std::size_t element_size(ElementType type) noexcept;
[[nodiscard]] const char* to_string(ElementType type) noexcept;

/// An n-dimensional array as a file holds it: row-major, little-endian bytes.
struct Array {
  ElementType type = ElementType::u8;
  std::vector<std::uint64_t> shape;
  Buffer<std::byte> data;

  [[nodiscard]] std::uint64_t size() const noexcept;  ///< product of the shape

  /// Values converted to T. Throws bad_input where a value does not fit T or, for whole-number T, is not whole.
  template <class T>
  [[nodiscard]] Buffer<T> as() const;
};

/// NumPy .npy, versions 1 to 3, C or Fortran order, little or big endian, the element types above and bool.
/// Throws bad_input naming file and byte.
[[nodiscard]] Array load_npy(const std::filesystem::path& path);
void save_npy(const std::filesystem::path& path, ElementType type, std::span<const std::uint64_t> shape,
              std::span<const std::byte> data);

template <class T>
void save_npy(const std::filesystem::path& path, std::span<const T> values);

/// A 1- or 2-dimensional .npy as float32.
[[nodiscard]] DenseMatrix<float> load_matrix(const std::filesystem::path& path);

/// NumPy .npz (zip of .npy, stored or deflated). Members whose type is not a number (strings, pickled objects) are left
/// out; `wanted` limits what is read (empty: all).
[[nodiscard]] std::map<std::string, Array> load_npz(const std::filesystem::path& path,
                                                    const std::vector<std::string>& wanted = {});
void save_npz(const std::filesystem::path& path, const std::map<std::string, Array>& members);

/// A safetensors file: named arrays, and string metadata.
struct TensorFile {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

/// Throws bad_input with the file and what is wrong: header length, JSON, offsets, overlap, shape against size.
[[nodiscard]] TensorFile load_safetensors(const std::filesystem::path& path);
void save_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace bitgraph
