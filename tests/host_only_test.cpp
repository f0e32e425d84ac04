// SPDX-License-Identifier: Apache-2.0
// Functions that work on the host refuse a CUDA device: they would write to its memory as if it were the host's.
#include "support/cuda_device.hpp"
#include "support/random_matrices.hpp"
#include "support/temporary_folder.hpp"

#include <bitgraph/formats/edge_weights.hpp>
#include <bitgraph/formats/sell_pattern.hpp>
#include <bitgraph/graph/generate.hpp>
#include <bitgraph/io/dataset.hpp>
#include <bitgraph/io/graph.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bitgraph {
namespace {

TEST(HostOnly, ReadersWritersAndGeneratorsRefuseACudaDevice) {
  BITGRAPH_REQUIRE_CUDA();
  const Device& device = *test::cuda_device();
  const test::TemporaryFolder folder;
  const CsrPattern a = test::random_pattern(20, 20, 0.2, 1);
  save_graph(a, folder / "a.mtx");
  save_graph(a, folder / "a.b2sr");
  save_dataset(generate_planted_partition({.num_nodes = 60, .num_classes = 3, .num_features = 9}), folder / "d.npz");
  const std::vector<std::uint8_t> weights(a.nvals(), 3);
  const EdgeWeights packed = pack_weights(weights);
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"load_graph", [&] { (void)load_graph(folder / "a.mtx", {}, device); }},
      {"save_graph", [&] { save_graph(a, folder / "b.mtx", device); }},
      {"open_b2sr", [&] { (void)open_b2sr(folder / "a.b2sr", device); }},
      {"load_dataset", [&] { (void)load_dataset(folder / "d.npz", device); }},
      {"pack_weights", [&] { (void)pack_weights(weights, device); }},
      {"unpack_weights", [&] { (void)unpack_weights(packed, device); }},
      {"to_sell", [&] { (void)to_sell(a, device); }},
      {"to_csr", [&] { (void)to_csr(to_sell(a), device); }},
      {"generate_rmat", [&] { (void)generate_rmat(5, 4, 1, device); }},
      {"generate_uniform", [&] { (void)generate_uniform(5, 4, 1, device); }},
      {"generate_grid", [&] { (void)generate_grid(5, 4, device); }},
      {"generate_mesh", [&] { (void)generate_mesh(5, 4, 1, false, device); }},
      {"generate_mycielskian", [&] { (void)generate_mycielskian(4, device); }},
      {"generate_de_bruijn", [&] { (void)generate_de_bruijn(4, device); }},
      {"generate_planted_partition", [&] { (void)generate_planted_partition({}, device); }},
      {"generate_planted_pattern", [&] { (void)generate_planted_pattern({}, device); }},
      {"generate_planted_graph", [&] { (void)generate_planted_graph({}, device); }},
  };
  for (const auto& [name, call] : calls) {
    try {
      call();
      ADD_FAILURE() << name << " took a CUDA device";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::not_possible) << name;
      EXPECT_TRUE(std::string(error.what()).starts_with("cuda:0: " + name)) << error.what();
    }
  }
}

}  // namespace
}  // namespace bitgraph
