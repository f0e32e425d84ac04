// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bitgraph {

/// Appends a field of .csv (RFC 4180) or .tsv. In .csv, quotes go around what has a comma, a quote or an end of line,
/// and quotes in it are doubled. In .tsv a tab, an end of line and a backslash are \t, \n, \r and \\.
void append_field(std::string& to, std::string_view field, char separator);

}  // namespace bitgraph
