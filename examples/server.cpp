// SPDX-License-Identifier: Apache-2.0
// A server that classifies the nodes of a graph that changes, on the loopback address. A connection sends one line and
// gets one line:
//   server MODEL.safetensors DATASET.npz PORT
//   $ echo 17                     | nc 127.0.0.1 PORT    class and probabilities of node 17: 2 0.01 0.02 0.97
//   $ echo set 17 5:1 9:0.5       | nc 127.0.0.1 PORT    node 17 has these features, and no others: ok
//   $ echo add 3,17 5:1 9:0.5     | nc 127.0.0.1 PORT    a node with edges to 3 and 17 (-: none); its number: 300
// While an update makes the next result, other threads answer from the last one. An update is answered once its result
// can be asked for. Without arguments the server trains a small model, tests itself, and ends.
#include <bitgraph/bitgraph.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace bitgraph;
constexpr std::size_t longest_line = 65536;
constexpr int workers = 4;

/// All of `text` as a number. Throws usage naming what it is not.
template <class T>
T number(std::string_view text, const char* what) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size())
    fail(ErrorCode::usage, "'" + std::string(text.substr(0, 32)) + "' is not " + what);
  return value;
}

/// Any number of threads may call answer().
class Classifier {
 public:
  Classifier(const nn::Model& model, const Dataset& dataset)
      : num_features_(static_cast<NodeId>(dataset.num_features())),
        plan_(model, dataset,
              {.capacity = {.nodes = dataset.graph.nrows() + most_new_nodes,
                            .entries = dataset.graph.nvals() + entries_left_}}) {
    refresh();
  }

  [[nodiscard]] std::string answer(const std::string& line) try {
    std::istringstream words(line);
    std::string first;
    words >> first;
    if (first == "set" || first == "add") return update(first == "add", words);
    if (std::string more; words >> more) fail(ErrorCode::usage, "expected a node, 'set' or 'add'");
    return classify(number<std::size_t>(first, "a node, 'set' or 'add'"));
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }

 private:
  static constexpr NodeId most_new_nodes = 1000;
  [[nodiscard]] std::string classify(std::size_t node) {
    std::unique_lock lock(finished_mutex_);
    const std::shared_ptr<const DenseMatrix<float>> finished = finished_;
    lock.unlock();
    if (node >= finished->nrows()) fail(ErrorCode::usage, "no such node");
    const auto row = finished->row(node);
    std::string text = std::to_string(std::max_element(row.begin(), row.end()) - row.begin());
    for (const float p : row) text += " " + std::to_string(p);
    return text;
  }

  /// "set NODE" or "add NODE,NODE", and features behind it.
  [[nodiscard]] std::string update(bool adds, std::istringstream& words) {
    std::string target, word;
    words >> target;
    std::vector<NodeId> nodes;
    std::istringstream list(adds && target == "-" ? "" : target + ",");
    while (std::getline(list, word, ',')) nodes.push_back(number<NodeId>(word, "a node"));
    const SparseFeatures features = read_features(words);
    const std::lock_guard lock(plan_mutex_);
    if (!adds && nodes.size() != 1) fail(ErrorCode::usage, "expected one node");
    for (const NodeId node : nodes) {
      if (node >= plan_.num_nodes()) fail(ErrorCode::usage, "no such node");
    }
    // Both or none: a node without its edges would stay.
    if (adds && 2 * nodes.size() > entries_left_) fail(ErrorCode::not_possible, "no room for more edges");
    const NodeId node = adds ? plan_.add_nodes(1) : nodes.front();
    if (adds) plan_.add_edges(std::vector(nodes.size(), node), nodes);
    if (adds) entries_left_ -= 2 * nodes.size();
    plan_.set_features(std::vector{node}, features);
    refresh();
    return adds ? std::to_string(node) : "ok";
  }

  /// The rest of a line, "column:value" by "column:value", as one row.
  [[nodiscard]] SparseFeatures read_features(std::istringstream& words) const {
    std::vector<std::pair<NodeId, float>> entries;
    for (std::string word; words >> word;) {
      const std::size_t colon = std::min(word.find(':'), word.size());
      const auto column = number<NodeId>(std::string_view(word).substr(0, colon), "a feature");
      if (column >= num_features_) fail(ErrorCode::usage, "no feature " + std::to_string(column));
      if (colon == word.size()) fail(ErrorCode::usage, "expected FEATURE:VALUE");
      entries.emplace_back(column, number<float>(std::string_view(word).substr(colon + 1), "a value"));
      if (!std::isfinite(entries.back().second)) fail(ErrorCode::usage, "a value is not finite");
    }
    std::sort(entries.begin(), entries.end());
    Buffer<NodeId> columns(entries.size());
    Buffer<float> values(entries.size());
    for (std::size_t e = 0; e < entries.size(); ++e) std::tie(columns[e], values[e]) = entries[e];
    return {CsrPattern(1, num_features_, Buffer<EdgeOffset>{0, entries.size()}, std::move(columns)), std::move(values)};
  }

  /// The plan is this thread's. Readers keep the result that they have.
  void refresh() {
    auto made = std::make_shared<const DenseMatrix<float>>(nn::softmax(plan_.run()));
    const std::lock_guard lock(finished_mutex_);
    finished_ = std::move(made);
  }

  NodeId num_features_;
  std::size_t entries_left_ = std::size_t{16} * most_new_nodes;
  std::mutex plan_mutex_, finished_mutex_;
  nn::InferencePlan plan_;
  std::shared_ptr<const DenseMatrix<float>> finished_;  ///< probabilities
};

sockaddr_in loopback(int port) {
  return {.sin_family = AF_INET,
          .sin_port = htons(static_cast<std::uint16_t>(port)),
          .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
          .sin_zero = {}};
}

int listen_on(int& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof(address);
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 64) != 0 || ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("server");
    std::exit(1);
  }
  port = ntohs(address.sin_port);
  return listener;
}

/// One line, without its end; of one that is too long, one byte more than is allowed.
std::string read_line(int connection) {
  std::string line;
  for (char c = 0; line.size() <= longest_line && ::read(connection, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void send(int connection, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto sent = ::send(connection, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

/// Until the listener is shut down.
void serve(Classifier& classifier, int listener) {
  for (int connection = 0; (connection = ::accept(listener, nullptr, nullptr)) >= 0; ::close(connection)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};  // a client that sends nothing does not keep a thread
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    const std::string line = read_line(connection);
    send(connection, line.size() > longest_line ? "error: the line is too long\n" : classifier.answer(line) + "\n");
  }
}

std::string ask(int port, const std::string& request) {
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return "no connection";
  send(connection, request + "\n");
  std::string reply = read_line(connection);
  ::close(connection);
  return reply;
}

/// Asks the server on `port`, over the data set that it serves, and returns how many answers are wrong.
int test(int port, const nn::Model& model, const Dataset& dataset) {
  int wrong = 0;
  const auto expect = [&](const std::string& request, const std::string& expected) {
    const std::string reply = ask(port, request);
    if (reply == expected) return;
    std::fprintf(stderr, "'%.40s': found '%s', expected '%s'\n", request.c_str(), reply.c_str(), expected.c_str());
    ++wrong;
  };
  Classifier other(model, dataset);  // what it says without a network
  const std::string before = other.answer("7");
  for (const char* request : {"0", "7", "299"}) expect(request, other.answer(request));
  expect("300", "error: no such node");
  expect("seven", "error: 'seven' is not a node, 'set' or 'add'");
  expect("set 7 1", "error: expected FEATURE:VALUE");
  expect("set 7 1:nan", "error: a value is not finite");
  expect("set 300 1:1", "error: no such node");
  expect("add 300 1:1", "error: no such node");
  expect(std::string(longest_line + 1, '1'), "error: the line is too long");
  expect("7", before);  // nothing of that changed anything
  std::atomic<int> failed{0};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) failed += ask(port, "7").rfind("error", 0) == 0 || ask(port, "7").empty() ? 1 : 0;
  });
  for (const char* update : {"set 7 1:1 2:1 3:1", "add 7,8 1:1", "add - 0:1", "set 300 5:2"})
    expect(update, other.answer(update));
  done = true;
  reader.join();
  for (const char* request : {"7", "8", "300", "301"}) expect(request, other.answer(request));
  return wrong + failed + (other.answer("7") == before ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool tested = argc <= 3;
    const Dataset dataset =
        tested ? generate_planted_partition({.num_nodes = 300, .num_classes = 4, .seed = 1}) : load_dataset(argv[2]);
    const nn::Model model =
        tested ? nn::train(dataset, {.precision = nn::Precision::bin, .hidden = 16, .epochs = 20}).model
               : nn::Model::load(argv[1]);
    Classifier classifier(model, dataset);
    int port = tested ? 0 : std::atoi(argv[3]);
    const int listener = listen_on(port);
    std::printf("listening on 127.0.0.1:%d\n", port), std::fflush(stdout);
    std::vector<std::thread> threads;
    for (int n = 0; n < workers; ++n) threads.emplace_back([&] { serve(classifier, listener); });
    const int wrong = tested ? test(port, model, dataset) : 0;
    if (tested) ::shutdown(listener, SHUT_RDWR);
    for (std::thread& thread : threads) thread.join();
    ::close(listener);
    return wrong == 0 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
