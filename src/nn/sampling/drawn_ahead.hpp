// SPDX-License-Identifier: Apache-2.0
// Values that worker threads make in order, ahead of the thread that uses them.
#pragma once

#include <bitgraph/core/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace bitgraph::nn {

/// Value n is what draw(worker, n, value) makes of it, whichever worker draws it: a function of n alone. The workers
/// keep at most a few values ahead, and begin with the first get(). All but `draw` is for one thread.
template <class T>
class DrawnAhead {
 public:
  using Draw = std::function<void(std::size_t worker, std::size_t number, T& value)>;

  /// Values below `end` are drawn ahead. With no workers get() draws, as worker 0.
  DrawnAhead(std::size_t workers, std::size_t end, Draw draw)
      : workers_(workers), state_(std::make_unique<State>(workers == 0 ? 2 : 2 * workers + 2, end, std::move(draw))) {}

  DrawnAhead(const DrawnAhead&) = delete;
  DrawnAhead& operator=(const DrawnAhead&) = delete;

  /// Ends the workers: each draws the value that it has begun.
  ~DrawnAhead() {
    // A forked child has no workers to wait for; conditions and mutex are as they were then.
    if (forked()) static_cast<void>(state_.release());
  }

  /// Value `number`, which stays until the next call but one. Quick where `number` is one more than before; else the
  /// workers begin anew, with all that was drawn ahead lost. What draw() has thrown for this value is thrown again,
  /// now and in each call for it.
  T& get(std::size_t number) {
    if (forked()) fail(ErrorCode::not_possible, "samples are drawn by threads, which a forked child does not have");
    State& s = *state_;
    if (workers_ == 0) {
      T& value = s.slot(number).value;
      s.draw(0, number, value);
      return value;
    }
    std::unique_lock lock(s.mutex);
    if (s.threads.size() < workers_ || number != s.next) s.begin_at(number, lock);
    while (s.threads.size() < workers_)
      s.threads.emplace_back([&s, worker = s.threads.size()](const std::stop_token& stop) { s.work(stop, worker); });
    s.open(number);
    Slot& slot = s.slot(number);
    s.drawn.wait(lock, [&] { return slot.number == number; });
    if (slot.error) std::rethrow_exception(slot.error);
    s.next = number + 1;
    return slot.value;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct Slot {
    T value;
    std::size_t number = none;  ///< that is drawn
    std::exception_ptr error;
  };

  struct State {
    State(std::size_t num_slots, std::size_t the_end, Draw the_draw)
        : draw(std::move(the_draw)), slots(num_slots), end(the_end) {}

    ~State() {
      for (std::jthread& thread : threads) thread.request_stop();  // all, before the first is waited for
    }

    Draw draw;
    std::vector<Slot> slots;
    std::size_t end;
    std::size_t next = 0;      ///< that get() is called for
    std::size_t claimed = 0;   ///< numbers below it are drawn, or some worker draws them
    std::size_t open_end = 0;  ///< numbers below it may be drawn
    std::size_t busy = 0;      ///< workers that draw
    std::mutex mutex;
    std::condition_variable_any room;  ///< a number may be claimed
    std::condition_variable drawn;     ///< a worker is done with a number
    std::vector<std::jthread> threads;

    [[nodiscard]] Slot& slot(std::size_t number) noexcept { return slots[number % slots.size()]; }

    /// `number` and the value before it stay: what comes behind may take the other slots.
    void open(std::size_t number) {
      end = std::max(end, number + 1);
      open_end = std::min(end, number - std::min<std::size_t>(number, 1) + slots.size());
      room.notify_all();
    }

    void begin_at(std::size_t number, std::unique_lock<std::mutex>& lock) {
      open_end = 0;
      drawn.wait(lock, [this] { return busy == 0; });
      for (Slot& slot : slots) slot.number = none;
      claimed = next = number;
    }

    void work(const std::stop_token& stop, std::size_t worker) {
      std::unique_lock lock(mutex);
      while (room.wait(lock, stop, [this] { return claimed < open_end; }) && !stop.stop_requested()) {
        const std::size_t number = claimed++;
        Slot& to = slot(number);
        to.number = none;
        to.error = nullptr;
        ++busy;
        lock.unlock();
        std::exception_ptr error;
        try {
          draw(worker, number, to.value);
        } catch (...) {
          error = std::current_exception();
        }
        lock.lock();
        to.number = number;
        to.error = std::move(error);
        --busy;
        drawn.notify_all();
      }
    }
  };

  [[nodiscard]] bool forked() const noexcept { return ::getpid() != process_; }

  std::size_t workers_;
  pid_t process_ = ::getpid();
  std::unique_ptr<State> state_;
};

}  // namespace bitgraph::nn
