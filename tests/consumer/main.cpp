// SPDX-License-Identifier: Apache-2.0
// Uses a little of every floor of the installed library, so that everything it links is asked for.
#include <bitgraph/core/device.hpp>
#include <bitgraph/core/error.hpp>
#include <bitgraph/formats/bit_tile_matrix.hpp>
#include <bitgraph/formats/csr_pattern.hpp>
#include <bitgraph/io/graph.hpp>
#include <bitgraph/ops/gemm.hpp>
#include <bitgraph/ops/spmm.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>

int main() {
  namespace fs = std::filesystem;
  const bitgraph::Device device = bitgraph::Device::host(2);
  const fs::path folder = fs::temp_directory_path() / "bitgraph-consumer";
  fs::create_directories(folder);
  const fs::path file = folder / "triangle.txt";
  std::ofstream(file) << "0 1\n1 2\n2 0\n";
  const bitgraph::Graph graph = bitgraph::load_graph(file, {.undirected = true}, device);
  const bitgraph::BitTileMatrix tiles = bitgraph::pack(graph.pattern, {.tile_dim = 4}, device);
  bitgraph::save_graph(graph.pattern, folder / "triangle.mtx.gz", device);
  fs::remove_all(folder);

  bitgraph::BitMatrix<> x(3, 70, device);
  x.set_bit(0, 69, true);
  x.set_bit(1, 69, true);
  const auto vote = bitgraph::spmm<bitgraph::BitMatrix>(tiles, x);  // a tie is +1
  const bool right = tiles.nvals() == 6 && vote.bit(2, 69) && !vote.bit(2, 0) && vote.bit(0, 69);

  const bitgraph::DenseMatrix<float> ones(1, 2, bitgraph::Buffer<float>{1.0F, 1.0F});
  bitgraph::DenseMatrix<float> product(1, 1);
  bitgraph::float_gemm(product, ones, false, ones, true);
  if (product(0, 0) != 2.0F) return 1;
  try {
    (void)bitgraph::load_graph("no-such-file.mtx");
    return 1;
  } catch (const bitgraph::Error& error) {
    std::cout << error.what() << '\n';
  }
  std::cout << (right ? "right" : "wrong") << '\n';
  return right ? 0 : 1;
}
