// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/error.hpp>

#include "cli/command.hpp"
#include "io/dataset/published/karate_club.hpp"
#include "io/dataset/published/musae.hpp"
#include "io/file/file.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace bitgraph::cli {

namespace {

namespace fs = std::filesystem;

/// A named data set; those with an address can be downloaded and are compared with their checksum.
struct Named {
  const char* name;
  const char* what;
  const char* url;
  const char* sha256;
  const char* files = nullptr;  ///< of one that cannot be downloaded; null: a .npz, or MUSAE's three
};

constexpr const char* graph_data = "https://raw.githubusercontent.com/EdisonLeeeee/GraphData/9df4e769b53b/datasets/";

constexpr std::array<Named, 10> known_sets{
    {{"cora", "citation network, 2,708 nodes, 7 classes, public split", nullptr, nullptr},
     {"citeseer", "citation network, 3,327 nodes, 6 classes, public split", nullptr, nullptr},
     {"amazon_photo", "co-purchases, 7,650 nodes, 8 classes", graph_data,
      "f0552bc8bcdb103c25b07cf4619bd9458af435c0728dc8366e86ffb912018c25"},
     {"coauthor_cs", "co-authors, 18,333 nodes, 15 classes", graph_data,
      "48e79e9e838aab635ca8fff852d25cb804c0d8ed79e5bae0f1a8f2d147b2188d"},
     {"cora_ml", "citation network, 2,995 nodes, 7 classes", graph_data,
      "e89181a4ec16510418f694c4afce114de3a86b6adbf3ce1ec446518efa19676d"},
     {"blogcatalog", "blogs, 5,196 nodes, 6 classes", graph_data,
      "21d5615b050f11e86941853fe9ccf34f3602c65e20f57c981a7b6517a66ff484"},
     {"facebook", "MUSAE: pages that like each other, 22,470 nodes, 4 classes", nullptr, nullptr},
     {"chameleon", "MUSAE: pages that link each other, 2,277 nodes, 5 classes", nullptr, nullptr},
     {"PROTEINS", "1,113 graphs of 39 nodes on average, 2 classes", nullptr, nullptr, "PROTEINS.mat"},
     {"reddit10k", "10,000 graphs of 24 nodes on average, 2 classes", nullptr, nullptr,
      "a folder reddit10k with graphs.json and target.csv"}}};

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0')
    return fs::path(cache) / "bitgraph";
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "." : home) / ".cache" / "bitgraph";
}

std::string sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    fail(ErrorCode::internal, "cannot compute a checksum");
  }
  std::string text;
  for (unsigned n = 0; n < size; ++n) text += fmt::format("{:02x}", digest[n]);
  return text;
}

const Named* find_known(const std::string& name) {
  for (const Named& set : known_sets) {
    if (name == set.name) return &set;
  }
  return nullptr;
}

/// Downloads to the cache with curl, compares the checksum, and only then gives the file its name.
fs::path download(const Named& set) {
  fs::path target = cache_folder() / (std::string(set.name) + ".npz");
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  const fs::path part = target.string() + ".part";
  const std::string command =
      fmt::format("curl -fsSL --max-time 120 -o '{}' '{}{}.npz' 2>/dev/null", part.string(), set.url, set.name);
  if (part.string().find('\'') != std::string::npos || std::system(command.c_str()) != 0) {
    fs::remove(part, error);
    fail(ErrorCode::bad_input, fmt::format("{}: not found under $BITGRAPH_DATA or {}, and it could not be downloaded",
                                           set.name, cache_folder().string()));
  }
  const std::string sum = sha256(MappedFile::open(part)->bytes());
  if (sum != set.sha256) {
    fs::remove(part, error);
    fail(ErrorCode::bad_input,
         fmt::format("{}: the download has the checksum {}, expected {}", set.name, sum, set.sha256));
  }
  fs::rename(part, target);
  return target;
}

}  // namespace

std::optional<fs::path> find_dataset(const std::string& name) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) return fs::path(name);
  if (name.find('/') != std::string::npos)
    return fs::is_directory(name, error) ? std::optional(fs::path(name)) : std::nullopt;
  std::vector<fs::path> folders;
  if (const char* data = std::getenv("BITGRAPH_DATA"); data != nullptr && *data != '\0') {
    folders.emplace_back(data);
    for (const char* inner : {"npz", "musae", "graph_level"}) folders.emplace_back(fs::path(data) / inner);
  }
  folders.push_back(cache_folder());
  for (const fs::path& folder : folders) {
    for (const char* ending : {".npz", ".mat"}) {
      const fs::path file = folder / (name + ending);
      if (fs::is_regular_file(file, error)) return file;
    }
    // A folder of three files, of a set of MUSAE's, or of two with many graphs.
    for (const char* packing : {"", ".gz"}) {
      if (fs::is_regular_file(folder / name / (std::string("graphs.json") + packing), error)) return folder / name;
      if (fs::is_regular_file(folder / name / (name + "_edges.csv" + packing), error)) return folder / name;
    }
  }
  return std::nullopt;
}

fs::path require_dataset(const std::string& name) {
  if (auto found = find_dataset(name)) return *found;
  if (name.empty()) fail(ErrorCode::usage, "the name of the data set is empty");
  const Named* set = find_known(name);
  if (set == nullptr)
    fail(ErrorCode::bad_input, name + ": no such file, and no data set of this name (see bitgraph datasets list)");
  if (set->url == nullptr) {
    const std::string musae =
        fmt::format("{0}.npz, or a folder {0} with {0}_edges.csv, {0}.json and {0}_target.csv,", name);
    fail(ErrorCode::bad_input, fmt::format("{}: not found: put {} under $BITGRAPH_DATA or {}", name,
                                           set->files == nullptr ? musae : set->files, cache_folder().string()));
  }
  return download(*set);
}

std::vector<std::string> files_of_dataset(const std::string& name) {
  const auto found = find_dataset(name);
  if (!found) return {};
  std::error_code error;
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(*found, error)) files.push_back(entry.path().string());
  // One file of a folder of several stands for all.
  const bool of_a_folder = found->string().find("_edges.csv") != std::string::npos ||
                           found->string().find("target.csv") != std::string::npos ||
                           found->string().find(".json") != std::string::npos;
  if (files.empty() && of_a_folder) {
    const fs::path folder = found->has_parent_path() ? found->parent_path() : fs::path(".");
    for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path().string());
  }
  files.push_back(found->string());
  return files;
}

namespace {

/// Why `datasets path` has no path.
[[noreturn]] void say_where_it_may_be(const std::string& name) {
  if (name.empty()) fail(ErrorCode::usage, "the name of the data set is empty");
  const Named* set = find_known(name);
  if (set == nullptr) {
    fail(ErrorCode::bad_input, fmt::format("there is no data set '{}': see bitgraph datasets list", printable(name)));
  }
  const std::string way = set->url != nullptr     ? fmt::format("bitgraph datasets fetch {}", name)
                          : set->files != nullptr ? fmt::format("put {} there", set->files)
                                                  : fmt::format("put {}.npz there", name);
  fail(ErrorCode::bad_input, fmt::format("{} is not under $BITGRAPH_DATA or in the cache: {}", name, way));
}

}  // namespace

void add_datasets(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("datasets", "Named data sets: in $BITGRAPH_DATA, then the cache, then downloaded");
  command->require_subcommand(1);
  auto common = std::make_shared<Common>();
  auto name = std::make_shared<std::string>();
  add_examples(*command,
               "  bitgraph datasets list\n  bitgraph datasets path cora\n  bitgraph datasets fetch amazon_photo\n");
  CLI::App* list = command->add_subcommand("list", "the names, and where they are found");
  add_common(*list, *common);
  list->callback([common] {
    Json result = Json::array();
    for (const Named& set : known_sets) {
      const auto path = find_dataset(set.name);
      result.push_back({{"name", set.name}, {"description", set.what}, {"path", path ? Json(path->string()) : Json()}});
      if (!common->json) {
        fmt::print("{:<14}{}\n{:<14}{}\n", set.name, set.what, "", path ? path->string() : "not here");
      }
    }
    if (common->json) fmt::print("{}\n", Json{{"datasets", result}}.dump(2));
  });
  for (const char* verb : {"path", "fetch"}) {
    const bool fetch = std::string_view(verb) == "fetch";
    CLI::App* sub = command->add_subcommand(verb, fetch ? "make sure that a data set is here; print its file"
                                                        : "print the file of a data set, without downloading");
    sub->add_option("name", *name, "the data set")->required();
    add_common(*sub, *common);
    sub->callback([common, name, fetch] {
      const auto path = fetch ? std::optional(require_dataset(*name)) : find_dataset(*name);
      if (!path) say_where_it_may_be(*name);
      if (fs::is_directory(*path) && !find_karate_club(*path))
        static_cast<void>(find_musae(*path));  // throws where it is none
      fmt::print("{}\n", common->json ? Json{{"name", *name}, {"path", path->string()}}.dump(2) : path->string());
    });
  }
}

}  // namespace bitgraph::cli
