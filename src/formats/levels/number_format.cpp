// SPDX-License-Identifier: Apache-2.0
// The table of number kinds: the only file, beside the presets of nn, that names them all.
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/level_scale.hpp>
#include <bitgraph/formats/number_format.hpp>

#include "formats/levels/level_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

template <class T>
std::size_t element_bytes(std::size_t nrows, std::size_t ncols, int) {
  return nrows * ncols * sizeof(T);
}

std::size_t plane_bytes(std::size_t nrows, std::size_t ncols, int bits) {
  return static_cast<std::size_t>(bits) * nrows * words_for_bits(ncols) * sizeof(std::uint64_t);
}

template <int value>
double constant(int) {
  return value;
}

double greatest_of_bits(int bits) { return std::ldexp(1.0, bits) - 1; }

template <class T>
double least_of(int) {
  return static_cast<double>(std::numeric_limits<T>::min());
}
template <class T>
double greatest_of(int) {
  return static_cast<double>(std::numeric_limits<T>::max());
}

/// Nearest whole number, ties to even, within the bounds.
double whole_level(float value, double least, double greatest) {
  return std::clamp(std::nearbyint(static_cast<double>(value)), least, greatest);
}

template <class T>
void store_elements(std::span<const float> row, std::size_t i, std::size_t, int, std::byte* levels) {
  std::byte* to = levels + i * row.size() * sizeof(T);
  for (const float value : row) {
    T element{};
    if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(whole_level(value, least_of<T>(0), greatest_of<T>(0)));
    } else {
      element = T(value);
    }
    std::memcpy(to, &element, sizeof(T));
    to += sizeof(T);
  }
}

template <class T>
void load_elements(std::span<float> row, std::size_t i, std::size_t, int, const std::byte* levels) {
  const std::byte* from = levels + i * row.size() * sizeof(T);
  for (float& value : row) {
    T element{};
    std::memcpy(&element, from, sizeof(T));
    value = static_cast<float>(element);
    from += sizeof(T);
  }
}

/// Word `w` of row i in plane p of `bits`, of rows of `ncols` bits; host memory of any alignment.
std::byte* word_at(std::byte* levels, int p, std::size_t i, int bits, std::size_t ncols, std::size_t w) {
  const std::size_t row = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(p);
  return levels + (row * words_for_bits(ncols) + w) * sizeof(std::uint64_t);
}

/// Bit p of digits[j] becomes element j of plane p.
void store_digits(std::span<const std::uint32_t> digits, std::size_t i, int bits, std::byte* levels) {
  const std::size_t ncols = digits.size();
  for (int p = 0; p < bits; ++p) {
    for (std::size_t w = 0; w < words_for_bits(ncols); ++w) {
      std::uint64_t word = 0;
      for (std::size_t j = 64 * w; j < std::min(ncols, 64 * w + 64); ++j)
        word |= std::uint64_t{(digits[j] >> p) & 1U} << (j % 64);
      std::memcpy(word_at(levels, p, i, bits, ncols, w), &word, sizeof(word));
    }
  }
}

std::uint32_t digits_at(const std::byte* levels, std::size_t i, std::size_t j, std::size_t ncols, int bits) {
  std::uint32_t digits = 0;
  for (int p = 0; p < bits; ++p) {
    std::uint64_t word = 0;
    std::memcpy(&word, word_at(const_cast<std::byte*>(levels), p, i, bits, ncols, j / 64), sizeof(word));
    digits |= static_cast<std::uint32_t>((word >> (j % 64)) & 1U) << p;
  }
  return digits;
}

void store_signs(std::span<const float> row, std::size_t i, std::size_t, int, std::byte* levels) {
  std::vector<std::uint32_t> digits(row.size());
  std::transform(row.begin(), row.end(), digits.begin(), [](float v) { return v >= 0 ? 1U : 0U; });
  store_digits(digits, i, 1, levels);
}

void load_signs(std::span<float> row, std::size_t i, std::size_t, int, const std::byte* levels) {
  for (std::size_t j = 0; j < row.size(); ++j)
    row[j] = PlusMinusOne::value(digits_at(levels, i, j, row.size(), 1) != 0);
}

std::vector<std::uint32_t> whole_levels(std::span<const float> row, int bits) {
  std::vector<std::uint32_t> digits(row.size());
  std::transform(row.begin(), row.end(), digits.begin(),
                 [bits](float v) { return static_cast<std::uint32_t>(whole_level(v, 0, greatest_of_bits(bits))); });
  return digits;
}

void store_planes(std::span<const float> row, std::size_t i, std::size_t, int bits, std::byte* levels) {
  store_digits(whole_levels(row, bits), i, bits, levels);
}

void load_planes(std::span<float> row, std::size_t i, std::size_t, int bits, const std::byte* levels) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<float>(digits_at(levels, i, j, row.size(), bits));
}

std::size_t level_bytes(std::size_t nrows, std::size_t ncols, int bits) { return nrows * level_row_bytes(ncols, bits); }

void store_levels(std::span<const float> row, std::size_t i, std::size_t, int bits, std::byte* levels) {
  const std::size_t row_bytes = level_row_bytes(row.size(), bits);
  pack_levels(whole_levels(row, bits), bits, {reinterpret_cast<std::uint8_t*>(levels) + i * row_bytes, row_bytes});
}

void load_levels(std::span<float> row, std::size_t i, std::size_t, int bits, const std::byte* levels) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(levels) + i * level_row_bytes(row.size(), bits);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = static_cast<float>(level_at(from, j, bits));
}

// clang-format off
constexpr std::array traits_of_kinds{
    NumberTraits{NumberKind::float32,  "float32",  32, 32, false, element_bytes<float>,        constant<0>,            constant<1>,               store_elements<float>,        load_elements<float>},
    NumberTraits{NumberKind::bfloat16, "bfloat16", 16, 16, false, element_bytes<Bfloat16>,     constant<0>,            constant<1>,               store_elements<Bfloat16>,     load_elements<Bfloat16>},
    NumberTraits{NumberKind::sign,     "sign",     1,  1,  true,  plane_bytes,                 constant<-1>,           constant<1>,               store_signs,                  load_signs},
    NumberTraits{NumberKind::zero_one, "zero-one", 1,  1,  true,  plane_bytes,                 constant<0>,            constant<1>,               store_planes,                 load_planes},
    NumberTraits{NumberKind::int8,     "int8",     8,  8,  true,  element_bytes<std::int8_t>,  least_of<std::int8_t>,  greatest_of<std::int8_t>,  store_elements<std::int8_t>,  load_elements<std::int8_t>},
    NumberTraits{NumberKind::int32,    "int32",    32, 32, true,  element_bytes<std::int32_t>, least_of<std::int32_t>, greatest_of<std::int32_t>, store_elements<std::int32_t>, load_elements<std::int32_t>},
    NumberTraits{NumberKind::planes,   "planes",   0,  32, true,  plane_bytes,                 constant<0>,            greatest_of_bits,          store_planes,                 load_planes},
    NumberTraits{NumberKind::levels,   "levels",   0,  16, true,  level_bytes,                 constant<0>,            greatest_of_bits,          store_levels,                 load_levels}};
// clang-format on

constexpr std::array<std::pair<ScaleExtent, std::string_view>, 3> extents{
    {{ScaleExtent::tensor, "tensor"}, {ScaleExtent::row, "row"}, {ScaleExtent::column, "column"}}};

/// What the step and offset of an extent are made of.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();
  double magnitudes = 0;
  std::size_t count = 0;

  void add(float value) {
    least = std::min(least, static_cast<double>(value));
    greatest = std::max(greatest, static_cast<double>(value));
    magnitudes += std::abs(static_cast<double>(value));
    ++count;
  }
  [[nodiscard]] double magnitude() const { return count == 0 ? 0 : std::max(std::abs(least), std::abs(greatest)); }
};

std::pair<float, float> step_and_offset(const NumberFormat& format, const Range& range) {
  const NumberTraits& traits = number_traits(format.kind);
  const double greatest = traits.greatest(format.bits);
  if (range.count == 0) return {0.0F, 0.0F};
  if (format.offset) {
    const double step = (range.greatest - range.least) / (greatest - traits.least(format.bits));
    return {static_cast<float>(step), static_cast<float>(range.least - step * traits.least(format.bits))};
  }
  if (format.kind == NumberKind::sign)
    return {static_cast<float>(range.magnitudes / static_cast<double>(range.count)), 0.0F};
  return {static_cast<float>(range.magnitude() / greatest), 0.0F};
}

/// Which scale element (i, j) has.
std::size_t scale_at(ScaleExtent extent, std::size_t i, std::size_t j) {
  if (extent == ScaleExtent::row) return i;
  return extent == ScaleExtent::column ? j : 0;
}

}  // namespace

std::span<const NumberTraits> number_traits() noexcept { return traits_of_kinds; }

const NumberTraits& number_traits(NumberKind kind) noexcept { return traits_of_kinds[static_cast<std::size_t>(kind)]; }

std::string to_string(const NumberFormat& format) {
  const NumberTraits& traits = number_traits(format.kind);
  std::string text(traits.name);
  if (traits.bits == 0) text += std::to_string(format.bits);
  for (const auto& [extent, name] : extents) {
    if (format.scale == extent) text += fmt::format("*{}", name);
  }
  if (format.offset) text += "+offset";
  return text;
}

NumberFormat number_format_from_string(std::string_view text) {
  const auto unknown = [text] { fail(ErrorCode::usage, fmt::format("unknown number format '{}'", text)); };
  NumberFormat format;
  std::string_view rest = text;
  constexpr std::string_view offset = "+offset";
  if (rest.ends_with(offset)) {
    format.offset = true;
    rest.remove_suffix(offset.size());
  }
  if (const auto star = rest.find('*'); star != std::string_view::npos) {
    const std::string_view extent = rest.substr(star + 1);
    const auto* found = std::find_if(extents.begin(), extents.end(), [&](const auto& e) { return e.second == extent; });
    if (found == extents.end()) unknown();
    format.scale = found->first;
    rest = rest.substr(0, star);
  }
  for (const NumberTraits& traits : traits_of_kinds) {
    if (!rest.starts_with(traits.name)) continue;
    format.kind = traits.kind;
    format.bits = traits.bits;
    rest.remove_prefix(traits.name.size());
    if (traits.bits == 0) {
      const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), format.bits);
      if (error != std::errc()) unknown();
      rest.remove_prefix(static_cast<std::size_t>(stop - rest.data()));
    }
    if (!rest.empty()) unknown();
    require_valid(format);
    return format;
  }
  unknown();
  return format;
}

void require_valid(const NumberFormat& format) {
  const NumberTraits& traits = number_traits(format.kind);
  if (traits.bits != 0 ? format.bits != traits.bits : format.bits < 1 || format.bits > traits.most_bits)
    fail(ErrorCode::usage, fmt::format("numbers of kind {} have no {} bits", traits.name, format.bits));
  if (format.offset && format.scale == ScaleExtent::none)
    fail(ErrorCode::usage, fmt::format("{} has an offset, but no scale", to_string(format)));
}

std::size_t stored_bytes(const NumberFormat& format, std::size_t nrows, std::size_t ncols) {
  require_valid(format);
  const std::size_t scales = num_scales(format.scale, nrows, ncols) * (format.offset ? 2 : 1);
  return number_traits(format.kind).bytes(nrows, ncols, format.bits) + scales * sizeof(float);
}

EncodedMatrix encode(const DenseMatrix<float>& values, const NumberFormat& format) {
  require_valid(format);
  require_on_host("encoding a matrix", values.device());
  const NumberTraits& traits = number_traits(format.kind);
  const std::size_t nrows = values.nrows();
  const std::size_t ncols = values.ncols();
  if (traits.whole) {
    for (const float value : values.values()) {
      if (!std::isfinite(value))
        fail(ErrorCode::bad_input, fmt::format("{} cannot hold a value that is not finite", to_string(format)));
    }
  }
  const std::size_t scales = num_scales(format.scale, nrows, ncols);
  EncodedMatrix out{format,
                    nrows,
                    ncols,
                    Buffer<std::byte>(traits.bytes(nrows, ncols, format.bits), std::byte{0}),
                    Buffer<float>(scales),
                    Buffer<float>(format.offset ? scales : 0)};
  std::vector<Range> ranges(scales);
  for (std::size_t i = 0; scales != 0 && i < nrows; ++i) {
    for (std::size_t j = 0; j < ncols; ++j) ranges[scale_at(format.scale, i, j)].add(values(i, j));
  }
  for (std::size_t s = 0; s < scales; ++s) {
    const auto [step, offset] = step_and_offset(format, ranges[s]);
    out.steps[s] = step;
    if (format.offset) out.offsets[s] = offset;
  }
  std::vector<float> row(ncols);
  for (std::size_t i = 0; i < nrows; ++i) {
    for (std::size_t j = 0; j < ncols; ++j) {
      row[j] = values(i, j);
      if (scales == 0) continue;
      const std::size_t s = scale_at(format.scale, i, j);
      if (format.offset) row[j] -= out.offsets[s];
      if (out.steps[s] != 0) row[j] /= out.steps[s];
    }
    traits.store(row, i, nrows, format.bits, out.levels.data());
  }
  return out;
}

DenseMatrix<float> decode(const EncodedMatrix& matrix) {
  const NumberFormat& format = matrix.format;
  const NumberTraits& traits = number_traits(format.kind);
  DenseMatrix<float> values(matrix.nrows, matrix.ncols);
  for (std::size_t i = 0; i < matrix.nrows; ++i) {
    traits.load(values.row(i), i, matrix.nrows, format.bits, matrix.levels.data());
    for (std::size_t j = 0; format.scale != ScaleExtent::none && j < matrix.ncols; ++j) {
      const std::size_t s = scale_at(format.scale, i, j);
      values(i, j) *= matrix.steps[s];
      if (format.offset) values(i, j) += matrix.offsets[s];
    }
  }
  return values;
}

}  // namespace bitgraph
