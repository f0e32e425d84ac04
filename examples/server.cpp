// SPDX-License-Identifier: Apache-2.0
// A server that classifies nodes: the model is loaded once, a run answers for all nodes, and requests are answered from
// its result. On the loopback address, one line a request:
//   server MODEL.safetensors DATASET.npz PORT
//   $ echo 17 | nc 127.0.0.1 PORT
// Without arguments it trains a small model, takes any free port, asks itself about three nodes, and ends.
#include <bitgraph/bitgraph.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using namespace bitgraph;

/// What a server keeps: plan and result. classify() may be called by any number of threads; refresh() by one, alone.
class Classifier {
 public:
  Classifier(const nn::Model& model, const Dataset& dataset) : plan_(model, dataset) { refresh(); }

  /// After a change of features or weights; allocates nothing but the classes.
  void refresh() { classes_ = nn::predict(plan_.run()); }

  [[nodiscard]] std::string answer(const std::string& request) const {
    std::size_t node = 0;
    const auto [stop, error] = std::from_chars(request.data(), request.data() + request.size(), node);
    if (error != std::errc() || stop != request.data() + request.size()) return "error: not the number of a node\n";
    if (node >= classes_.size()) return "error: no such node\n";
    return std::to_string(classes_[node]) + "\n";
  }

 private:
  nn::InferencePlan plan_;
  Buffer<std::int32_t> classes_;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int listen_on(int& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(port);
  socklen_t size = sizeof(address);
  if (listener < 0 || ::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener, 8) != 0 || ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("server");
    std::exit(1);
  }
  port = ntohs(address.sin_port);
  return listener;
}

/// One line, without its end; of a long one the first bytes.
std::string read_line(int connection) {
  std::string line;
  for (char c = 0; line.size() < 64 && ::read(connection, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void send(int connection, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto sent = ::send(connection, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

void serve(const Classifier& classifier, int listener, int requests) {
  for (int n = 0; requests == 0 || n < requests; ++n) {
    const int connection = ::accept(listener, nullptr, nullptr);
    if (connection < 0) continue;
    send(connection, classifier.answer(read_line(connection)));
    ::close(connection);
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

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 3) {
      const Classifier classifier(nn::Model::load(argv[1]), load_dataset(argv[2]));
      int port = std::atoi(argv[3]);
      const int listener = listen_on(port);
      std::printf("listening on 127.0.0.1:%d\n", port);
      std::fflush(stdout);
      serve(classifier, listener, 0);
      return 0;
    }
    const Dataset dataset = generate_planted_partition({.num_nodes = 300, .num_classes = 4, .seed = 1});
    const auto trained = nn::train(dataset, {.precision = nn::Precision::bin, .hidden = 16, .epochs = 20});
    const Classifier classifier(trained.model, dataset);
    int port = 0;
    const int listener = listen_on(port);
    std::thread server([&] { serve(classifier, listener, 3); });
    for (const char* request : {"0", "299", "300"}) std::printf("node %s: %s\n", request, ask(port, request).c_str());
    server.join();
    ::close(listener);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
