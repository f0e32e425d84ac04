// SPDX-License-Identifier: Apache-2.0
// MAT-File Format, version 5 (MathWorks): a header of 128 bytes, then elements. An element is a tag (type and size)
// with its data, padded to 8 bytes; data of at most 4 bytes stand in the tag. A matrix is an element of elements:
// flags, sides, name, then what its class says.
#include "io/dataset/published/mat_graphs.hpp"

#include "io/dataset/published/graph_list.hpp"
#include "io/dataset/published/targets.hpp"
#include "io/file/file.hpp"
#include "io/file/gzip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bitgraph {

namespace {

using Bytes = std::span<const std::byte>;

enum class DataType : std::uint32_t {
  int8 = 1,
  uint8 = 2,
  int16 = 3,
  uint16 = 4,
  int32 = 5,
  uint32 = 6,
  single = 7,
  real = 9,
  int64 = 12,
  uint64 = 13,
  matrix = 14,
  compressed = 15
};

enum class ArrayClass : std::uint8_t { structure = 2, sparse = 5, first_number = 6, last_number = 15 };

template <class T>
T load(Bytes bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// Where in a file something stands: "x.mat", "x.mat: graph 3: am".
struct Place {
  std::string text;

  [[nodiscard]] Place in(const std::string& part) const { return {text + ": " + part}; }
  [[noreturn]] void refuse(const std::string& what) const { fail_in(text, what); }
};

struct Element {
  DataType type{};
  Bytes data;
};

/// Elements one behind the other.
class Elements {
 public:
  explicit Elements(Bytes bytes) : rest_(bytes) {}

  [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::size_t bytes_left() const noexcept { return rest_.size(); }

  Element next(const Place& place) {
    constexpr std::size_t tag = 8;
    if (rest_.size() < tag) place.refuse(fmt::format("{} bytes are left, expected an element", rest_.size()));
    const auto type = load<std::uint32_t>(rest_, 0);
    const std::uint32_t short_size = type >> 16;  // such data stand in the tag
    if (short_size > 4) place.refuse(fmt::format("a short element of {} bytes, expected at most 4", short_size));
    if (short_size != 0) return take({static_cast<DataType>(type & 0xFFFF), rest_.subspan(4, short_size)}, tag);
    const auto size = load<std::uint32_t>(rest_, 4);
    if (size > rest_.size() - tag)
      place.refuse(fmt::format("an element of {} bytes where {} are left", size, rest_.size() - tag));
    const auto whole = static_cast<DataType>(type);
    const std::size_t padding = whole == DataType::compressed ? 0 : (8 - size % 8) % 8;
    return take({whole, rest_.subspan(tag, size)}, std::min(rest_.size(), tag + size + padding));
  }

 private:
  Element take(Element element, std::size_t bytes) {
    rest_ = rest_.subspan(bytes);
    return element;
  }

  Bytes rest_;
};

template <class T>
void append(std::vector<double>& numbers, Bytes data) {
  for (std::size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T))
    numbers.push_back(static_cast<double>(load<T>(data, at)));
}

/// The numbers of an element, of whatever type they are stored as.
std::vector<double> numbers_of(const Element& element, const Place& place) {
  std::vector<double> numbers;
  switch (element.type) {
    case DataType::int8: append<std::int8_t>(numbers, element.data); break;
    case DataType::uint8: append<std::uint8_t>(numbers, element.data); break;
    case DataType::int16: append<std::int16_t>(numbers, element.data); break;
    case DataType::uint16: append<std::uint16_t>(numbers, element.data); break;
    case DataType::int32: append<std::int32_t>(numbers, element.data); break;
    case DataType::uint32: append<std::uint32_t>(numbers, element.data); break;
    case DataType::single: append<float>(numbers, element.data); break;
    case DataType::real: append<double>(numbers, element.data); break;
    case DataType::int64: append<std::int64_t>(numbers, element.data); break;
    case DataType::uint64: append<std::uint64_t>(numbers, element.data); break;
    default: place.refuse(fmt::format("an element of type {}, expected numbers", std::uint32_t(element.type)));
  }
  return numbers;
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& values, const Place& place) {
  constexpr double most = 9007199254740992;  // 2^53: a double has every whole number up to there
  std::vector<std::int64_t> whole;
  for (const double value : values) {
    if (!(std::abs(value) <= most) || value != std::floor(value))
      place.refuse(fmt::format("found {}, expected whole numbers", value));
    whole.push_back(static_cast<std::int64_t>(value));
  }
  return whole;
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// A matrix up to its name; what its class adds follows in `rest`.
struct Matrix {
  ArrayClass kind = ArrayClass::first_number;
  std::vector<std::int64_t> sides;
  std::string name;
  Elements rest{Bytes()};

  [[nodiscard]] double count() const {
    double product = 1;
    for (const std::int64_t side : sides) product *= static_cast<double>(side);
    return product;
  }
  [[nodiscard]] bool holds_numbers() const noexcept {
    return kind >= ArrayClass::first_number && kind <= ArrayClass::last_number;
  }
};

/// Throws unless the element is a matrix. One without data is an empty matrix of numbers.
Matrix matrix_of(const Element& element, const Place& place) {
  if (element.type != DataType::matrix)
    place.refuse(fmt::format("an element of type {}, expected a matrix", std::uint32_t(element.type)));
  Matrix matrix;
  if (element.data.empty()) {
    matrix.sides = {0, 0};
    return matrix;
  }
  Elements parts(element.data);
  const Element flags = parts.next(place);
  if (flags.data.size() != 8) place.refuse("a matrix without flags");
  matrix.kind = static_cast<ArrayClass>(load<std::uint8_t>(flags.data, 0));
  matrix.sides = whole_numbers(numbers_of(parts.next(place), place), place);
  const auto impossible = [](std::int64_t side) { return side < 0 || side >= std::numeric_limits<NodeId>::max(); };
  if (matrix.sides.size() < 2 || std::any_of(matrix.sides.begin(), matrix.sides.end(), impossible))
    place.refuse("a matrix with impossible sides");
  matrix.name = text_of(parts.next(place).data);
  matrix.rest = parts;
  return matrix;
}

/// The values of a dense matrix of numbers, column by column.
std::vector<double> values_of(Matrix matrix, const Place& place) {
  if (!matrix.holds_numbers()) place.refuse("expected a matrix of numbers");
  if (matrix.count() == 0) return {};
  std::vector<double> values = numbers_of(matrix.rest.next(place), place);
  if (static_cast<double>(values.size()) != matrix.count())
    place.refuse(fmt::format("{} numbers, expected {} by its sides", values.size(), matrix.count()));
  return values;
}

/// A struct array: names of fields, then the fields of one element after the other.
class StructArray {
 public:
  StructArray(Matrix matrix, const Place& place) : matrix_(std::move(matrix)) {
    if (matrix_.kind != ArrayClass::structure) place.refuse("expected a struct");
    const std::vector<double> length = numbers_of(matrix_.rest.next(place), place);
    const std::string_view names = text_of(matrix_.rest.next(place).data);
    if (length.size() != 1 || !(length[0] >= 1) || length[0] > 64) place.refuse("field names of no length");
    const auto step = static_cast<std::size_t>(length[0]);
    for (std::size_t at = 0; at + step <= names.size(); at += step) {
      const std::string_view name = names.substr(at, step);
      fields_.emplace_back(name.substr(0, name.find('\0')));
    }
    constexpr double smallest = 8;  // bytes of an element
    if (fields_.empty() || matrix_.count() * smallest > static_cast<double>(matrix_.rest.bytes_left()))
      place.refuse(fmt::format("a struct of {} elements and {} fields in {} bytes", matrix_.count(), fields_.size(),
                               matrix_.rest.bytes_left()));
  }

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(matrix_.count()); }
  [[nodiscard]] std::optional<std::size_t> field(std::string_view name) const {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    if (found == fields_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - fields_.begin());
  }
  /// The fields of the next element.
  std::vector<Element> next(const Place& place) {
    std::vector<Element> values;
    for (const std::string& field : fields_) values.push_back(matrix_.rest.next(place.in(printable(field))));
    return values;
  }

 private:
  Matrix matrix_;
  std::vector<std::string> fields_;
};

NodeId add_dense(GraphList& list, const Matrix& matrix, NodeId nodes, const Place& place, const std::string& file) {
  const std::vector<double> values = values_of(matrix, place);
  const NodeId first = list.add_graph(nodes, file);
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (values[at] == 0) continue;
    list.from.push_back(first + static_cast<NodeId>(at % nodes));
    list.to.push_back(first + static_cast<NodeId>(at / nodes));
  }
  return nodes;
}

/// Rows of the entries, then where each column begins, then the values.
NodeId add_sparse(GraphList& list, Matrix matrix, NodeId nodes, const Place& place, const std::string& file) {
  const std::vector<std::int64_t> rows = whole_numbers(numbers_of(matrix.rest.next(place), place), place);
  const std::vector<std::int64_t> starts = whole_numbers(numbers_of(matrix.rest.next(place), place), place);
  const std::vector<double> values = numbers_of(matrix.rest.next(place), place);
  const auto entries = static_cast<std::int64_t>(std::min(rows.size(), values.size()));
  const bool right = starts.size() == std::size_t{nodes} + 1 && starts.front() == 0 && starts.back() <= entries &&
                     std::is_sorted(starts.begin(), starts.end()) &&
                     std::all_of(rows.begin(), rows.end(), [&](std::int64_t row) { return row >= 0 && row < nodes; });
  if (!right) place.refuse("the entries of the sparse matrix do not fit its sides");
  const NodeId first = list.add_graph(nodes, file);
  for (NodeId j = 0; j < nodes; ++j) {
    for (std::int64_t e = starts[j]; e < starts[j + std::size_t{1}]; ++e) {
      const auto entry = static_cast<std::size_t>(e);
      if (values[entry] == 0) continue;
      list.from.push_back(first + static_cast<NodeId>(rows[entry]));
      list.to.push_back(first + j);
    }
  }
  return nodes;
}

/// Adds a graph by its adjacency matrix; returns its nodes.
NodeId add_graph(GraphList& list, const Element& element, const Place& place, const std::string& file) {
  Matrix matrix = matrix_of(element, place);
  const std::vector<std::int64_t>& sides = matrix.sides;
  if (sides.size() != 2 || sides[0] != sides[1])
    place.refuse(fmt::format("a matrix of {} x {}, expected a square one", sides[0], sides[1]));
  const auto nodes = static_cast<NodeId>(sides[0]);
  if (nodes != 0 && matrix.kind == ArrayClass::sparse) return add_sparse(list, std::move(matrix), nodes, place, file);
  return add_dense(list, matrix, nodes, place, file);
}

/// The labels of a graph's nodes: a struct with the field `values`.
void add_node_labels(GraphList& list, const Element& element, NodeId nodes, const Place& place) {
  StructArray labels(matrix_of(element, place), place);
  const auto field = labels.field("values");
  if (!field || labels.count() != 1) place.refuse("expected one struct with the field values");
  const Place inner = place.in("values");
  const auto values = whole_numbers(values_of(matrix_of(labels.next(place)[*field], inner), inner), inner);
  if (values.size() != nodes) inner.refuse(fmt::format("{} labels for {} nodes", values.size(), nodes));
  list.node_labels.insert(list.node_labels.end(), values.begin(), values.end());
}

GraphList read_graphs(StructArray graphs, const Place& place) {
  GraphList list;
  const auto adjacency = graphs.field("am");
  const auto labels = graphs.field("nl");
  for (std::size_t g = 0; g < graphs.count(); ++g) {
    const Place here = place.in(fmt::format("graph {}", g));
    const std::vector<Element> fields = graphs.next(here);
    const NodeId nodes = add_graph(list, fields[*adjacency], here.in("am"), place.text);
    if (labels) add_node_labels(list, fields[*labels], nodes, here.in("nl"));
  }
  return list;
}

/// What is wanted of the variables.
struct Variables {
  std::optional<GraphList> graphs;
  std::optional<std::vector<std::int64_t>> classes;
};

void read_variable(Variables& found, const Element& element, const Place& place) {
  if (element.type != DataType::matrix) return;
  Matrix matrix = matrix_of(element, place);
  const Place here = place.in(printable(matrix.name));
  if (matrix.kind == ArrayClass::structure) {
    StructArray graphs(std::move(matrix), here);
    if (!graphs.field("am")) return;
    if (found.graphs) here.refuse("a second struct with the field am");
    found.graphs = read_graphs(std::move(graphs), place);
  } else if (matrix.holds_numbers()) {
    if (found.classes) here.refuse("a second variable of numbers, expected one: the classes of the graphs");
    found.classes = whole_numbers(values_of(std::move(matrix), here), here);
  }
}

}  // namespace

Dataset read_mat_graphs(Bytes bytes, const std::string& name, const Device& device) {
  constexpr std::size_t header = 128, version = 124, order = 126;
  if (bytes.size() < header)
    fail_at_byte(name, bytes.size(), "found the end of the file, expected a header of 128 bytes");
  if (load<std::uint16_t>(bytes, version) != 0x0100 || text_of(bytes.subspan(order, 2)) != "IM")
    fail_at_byte(name, version, "not a little-endian MATLAB file of version 5");
  const Place place{name};
  Variables found;
  for (Elements elements(bytes.subspan(header)); !elements.done();) {
    const std::uint64_t byte = bytes.size() - elements.bytes_left();
    const Element element = elements.next(place);
    if (element.type != DataType::compressed) {
      read_variable(found, element, place);
      continue;
    }
    const Buffer<std::byte> plain = inflate_zlib(element.data, name, byte);
    read_variable(found, Elements(plain.span()).next(place), place);
  }
  if (!found.graphs) fail_in(name, "holds no graphs: a struct array with the field am");
  if (!found.classes) fail_in(name, "holds no classes: a variable of numbers, one for each graph");
  if (found.classes->size() != found.graphs->num_graphs())
    fail_in(name, fmt::format("{} classes for {} graphs", found.classes->size(), found.graphs->num_graphs()));
  if (found.graphs->num_graphs() == 0) fail_in(name, "holds no graphs: its struct array is empty");
  Dataset dataset = dataset_of(*found.graphs, device);
  const std::vector<std::optional<std::int64_t>> classes(found.classes->begin(), found.classes->end());
  number_classes(dataset, classes, name, "graph");
  return dataset;
}

}  // namespace bitgraph
