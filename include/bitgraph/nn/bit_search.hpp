// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitgraph/core/device.hpp>
#include <bitgraph/nn/model.hpp>
#include <bitgraph/nn/quantize.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace bitgraph::nn {

/// A model that a search of bits has made and judged.
struct BitTry {
  const Model& model;             ///< as long as the call lasts
  std::optional<double> quality;  ///< none: it cannot run
  bool uniform = false;           ///< all its layers have the same bits, but for the messages of the last one
  bool kept = false;              ///< the search goes on from here
};

struct BitSearchOptions {
  /// Bits that a number of a layer may have, the most first: 1 to 16.
  std::vector<int> bits = {8, 4, 2};

  /// How good a model is, such as the share of nodes whose class is right; larger is better. None: it cannot run, for
  /// lack of memory, say: it is not kept.
  std::function<std::optional<double>(const Model&)> quality;

  /// Whether a model of such quality may be kept.
  std::function<bool(double)> good_enough;

  /// Called with each model of uniform bits, and with each one that is kept. Empty: nobody looks.
  std::function<void(const BitTry&)> look = {};

  /// True: the search ends with what it has. Empty: never.
  std::function<bool()> stop = {};
};

struct BitSearchResult {
  Model model;            ///< the last one that was kept
  double quality = 0;     ///< of it; 0 where it cannot run
  bool good = false;      ///< it is good enough; false: not even the most bits are
  bool complete = false;  ///< false: `stop` ended it; true: no number of the model can have fewer bits
  std::size_t tries = 0;  ///< models that were judged
};

/// Mixes the bits of weights, inputs and messages layer by layer, as SGQuant and MixQ-GNN do, but by a search after
/// training. It starts with the most bits everywhere, and lowers all numbers together as long as the model is good
/// enough. Then it lowers single numbers of single layers, in rounds. A round measures each of them alone; then it
/// lowers one after the other, and keeps what is good enough: first what loses nothing, then what saves most bytes for
/// its loss. The bytes are those that a run on `device` is predicted to read and write. What saves none of them is left
/// alone, and so are the last layer's messages at Precision::least_last_message_bits. The search ends with a round that
/// keeps nothing.
///
/// The float model is not run again. A round makes and judges 6 models for each layer at most. Throws usage where the
/// bits are not as said, and as ModelQuantizer::quantize.
[[nodiscard]] BitSearchResult search_bits(ModelQuantizer& quantizer, const BitSearchOptions& options,
                                          const Device& device = {});

/// Throws usage unless each is from 1 to 16, the most first. None: nothing is wrong.
void require_bits(const std::vector<int>& bits);

}  // namespace bitgraph::nn
