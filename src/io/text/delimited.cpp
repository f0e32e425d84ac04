// SPDX-License-Identifier: Apache-2.0
#include "io/text/delimited.hpp"

namespace bitgraph {

void append_field(std::string& to, std::string_view field, char separator) {
  if (separator == ',') {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
      to += field;
      return;
    }
    to += '"';
    for (const char c : field) to.append(c == '"' ? 2 : 1, c);
    to += '"';
    return;
  }
  for (const char c : field) {
    switch (c) {
      case '\t': to += "\\t"; break;
      case '\n': to += "\\n"; break;
      case '\r': to += "\\r"; break;
      case '\\': to += "\\\\"; break;
      default: to += c;
    }
  }
}

}  // namespace bitgraph
