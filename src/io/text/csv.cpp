// SPDX-License-Identifier: Apache-2.0
#include "io/text/csv.hpp"

#include "io/file/file.hpp"
#include "io/text/text_scanner.hpp"

#include <algorithm>
#include <utility>

namespace bitgraph {

CsvReader::CsvReader(std::string_view text, std::string name)
    : text_(without_byte_order_mark(text)), name_(std::move(name)) {}

std::string CsvReader::take_quoted() {
  const std::size_t begin_line = line_here_;
  std::string field;
  for (++at_;; ++at_) {
    if (done()) fail_on_line(name_, begin_line, "found a quote that is not closed");
    if (text_[at_] == '"') {
      ++at_;
      if (done() || text_[at_] != '"') return field;
    }
    line_here_ += text_[at_] == '\n' ? 1 : 0;
    field += text_[at_];
  }
}

std::string CsvReader::take_plain() {
  const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
  std::string_view field = text_.substr(at_, end - at_);
  at_ = end;
  if (field.ends_with('\r') && (done() || text_[at_] == '\n')) field.remove_suffix(1);
  return std::string(field);
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  for (; !done() && (text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n")); ++at_)
    line_here_ += text_[at_] == '\n' ? 1 : 0;
  if (done()) return false;
  line_ = line_here_;
  for (;;) {
    const bool quoted = !done() && text_[at_] == '"';
    fields.push_back(quoted ? take_quoted() : take_plain());
    if (quoted && !done() && text_[at_] == '\r') ++at_;
    if (done()) return true;
    const char mark = text_[at_++];
    if (mark == '\n') {
      ++line_here_;
      return true;
    }
    if (mark != ',') fail_at_line(name_, line_here_, text_.substr(at_ - 1), "a comma or the line's end behind a quote");
  }
}

}  // namespace bitgraph
