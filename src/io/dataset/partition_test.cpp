// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/partition.hpp"

#include "io/array/array.hpp"
#include "support/expect_error.hpp"
#include "support/fixtures.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/io/array.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <vector>

namespace bitgraph {
namespace {

using test::expect_bad_input;
using Nodes = std::vector<NodeId>;

const CsrPattern& graph() {
  static const CsrPattern grid = test::grid_pattern(3, 2);
  return grid;
}

Partition some() { return Partition({0, 0, 1, 0, 3, 1}, 4, {undirected_fingerprint(graph()), ~std::uint64_t{0}}); }

TEST(PartFile, ReadsWhatWasWritten) {
  const test::TemporaryFolder folder;
  const auto file = folder / "p.safetensors";
  for (const Partition& partition : {some(), Partition({0, 0}, 1), Partition({}, 1)}) {
    save_partition(partition, file);
    EXPECT_EQ(load_partition(file), partition);
    EXPECT_EQ(folder.size(), 1U);
  }
  save_partition(some(), file);
  EXPECT_EQ(load_partition(file, graph()), some());
}

TEST(PartFile, OfAnotherGraphIsRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder / "p.safetensors";
  save_partition(some(), file);
  const CsrPattern other = test::grid_pattern(2, 3);
  expect_bad_input([&] { (void)load_partition(file, other); },
                   file.string() + ": the parts belong to another graph: its fingerprint is " + some().origin().graph +
                       ", that of the graph given is " + undirected_fingerprint(other));
  expect_bad_input([&] { (void)load_partition(file, test::grid_pattern(3, 3)); },
                   file.string() + ": the parts are of 6 nodes, and the graph has 9: they belong to another graph");
}

TEST(PartFile, AnyCutFileIsRefused) {
  const test::TemporaryFolder folder;
  save_partition(some(), folder / "p.safetensors");
  const std::string bytes = test::contents(folder / "p.safetensors");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    test::expect_error_with([&] { (void)read_partition(test::as_bytes(bytes.substr(0, size)), "cut"); },
                            ErrorCode::bad_input, "cut: ");
  }
}

TEST(PartFile, SaysWhatItFoundAndExpected) {
  const test::TemporaryFolder folder;
  const auto file = folder / "p.safetensors";
  save_partition(some(), file);
  const TensorFile right = load_safetensors(file);
  const auto copy = [&] {
    TensorFile other;
    other.metadata = right.metadata;
    other.tensors.emplace("part_of", vector_array(some().part_of()));
    return other;
  };
  const auto refuse = [&](const std::function<void(TensorFile&)>& spoil, const std::string& what) {
    TensorFile wrong = copy();
    spoil(wrong);
    save_safetensors(file, wrong);
    expect_bad_input([&] { (void)load_partition(file); }, file.string() + ": " + what);
  };
  const auto put = [&](const char* key, const std::string& value) {
    return [=](TensorFile& f) { f.metadata[key] = value; };
  };
  refuse([](TensorFile& f) { f.metadata.clear(); }, "no part file: the metadata lack 'format'");
  refuse(put("format", "pt"), "no part file: metadata 'format' is 'pt', expected 'bitgraph-partition'");
  refuse(put("version", "2"), "no part file: metadata 'version' is '2', expected '1'");
  refuse(put("num_parts", "four"), "metadata 'num_parts' is 'four', expected a whole number");
  refuse(put("num_parts", "-4"), "metadata 'num_parts' is '-4', expected a whole number");
  refuse(put("num_parts", "4 "), "metadata 'num_parts' is '4 ', expected a whole number");
  refuse(put("num_parts", "4294967296"), "metadata 'num_parts' is '4294967296', expected a whole number");
  refuse(put("num_parts", "4294967295"), "4294967295 parts of 6 nodes, expected 1 to 6");
  refuse(put("num_parts", "7"), "7 parts of 6 nodes, expected 1 to 6");
  refuse(put("num_parts", "0"), "0 parts of 6 nodes, expected 1 to 6");
  refuse(put("num_parts", "3"), "node 4 is in part 3, expected a part below 3");
  refuse(put("seed", ""), "metadata 'seed' is '', expected a whole number");
  refuse(put("graph", "0123456789ABCDEF"), "metadata 'graph' is '0123456789ABCDEF', expected 16 hexadecimal digits");
  refuse(put("graph", "0123"), "metadata 'graph' is '0123', expected 16 hexadecimal digits");
  refuse([](TensorFile& f) { f.tensors.clear(); }, "0 tensors, expected one, 'part_of'");
  refuse([](TensorFile& f) { f.tensors.emplace("more", vector_array(std::span<const float>())); },
         "2 tensors, expected one, 'part_of'");
  refuse(
      [](TensorFile& f) {
        f.tensors.emplace("parts", vector_array(std::span<const float>()));
        f.tensors.erase("part_of");
      },
      "1 tensors, expected one, 'part_of'");
  refuse([](TensorFile& f) { f.tensors.at("part_of").type = ElementType::i32; },
         "the tensor 'part_of' is i32 [6], expected u32 [nodes]");
  refuse(
      [](TensorFile& f) {
        f.tensors.at("part_of").shape = {3, 2};
      },
      "the tensor 'part_of' is u32 [3, 2], expected u32 [nodes]");
}

}  // namespace
}  // namespace bitgraph
