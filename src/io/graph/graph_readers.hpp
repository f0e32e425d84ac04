// SPDX-License-Identifier: Apache-2.0
// One reader and one writer a format. Readers take the file's bytes and its name for messages; each is in the file of
// its format's name.
#pragma once

#include <bitgraph/io/graph.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace bitgraph {

class TextOutput;

[[nodiscard]] Graph read_matrix_market(std::string_view text, const std::string& name, const LoadOptions& options,
                                       const Device& device);
[[nodiscard]] Graph read_edge_list(std::string_view text, const std::string& name, const LoadOptions& options,
                                   const Device& device);
/// Any edge list: columns by name, delimiters, quotes, ids that are words. `text` has no byte order mark.
[[nodiscard]] Graph read_edge_table(std::string_view text, const std::string& name, const LoadOptions& options,
                                    const Device& device);
[[nodiscard]] Graph read_metis(std::string_view text, const std::string& name, const LoadOptions& options,
                               const Device& device);
[[nodiscard]] Graph read_npz_graph(std::span<const std::byte> bytes, const std::string& name,
                                   const LoadOptions& options, const Device& device);
[[nodiscard]] Graph read_b2sr_graph(const std::filesystem::path& path, const LoadOptions& options,
                                    const Device& device);
/// The same from memory that begins at a multiple of 64 bytes.
[[nodiscard]] Graph read_b2sr_graph(Buffer<std::byte> bytes, const std::string& name, const LoadOptions& options,
                                    const Device& device);

void write_matrix_market(const CsrPattern& a, TextOutput& out);
/// `separator` stands between the two ids; ',' and '\t' make a table with a header line. Throws usage where a is not
/// square.
void write_edge_list(const CsrPattern& a, const NodeIds& ids, char separator, TextOutput& out);
/// Throws usage where a is not symmetric or has loops.
void write_metis(const CsrPattern& a, TextOutput& out);
void write_npz_graph(const CsrPattern& a, const std::filesystem::path& path);
void write_b2sr_graph(const CsrPattern& a, const NodeIds& ids, const std::filesystem::path& path);

}  // namespace bitgraph
