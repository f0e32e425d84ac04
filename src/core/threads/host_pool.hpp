// SPDX-License-Identifier: Apache-2.0
// What fork() does to the host's pool of threads. Not installed.
#pragma once

namespace bitgraph::host_pool {

/// Says that the pool's threads start now. A child that is forked later has the pool's records but not its threads, and
/// a parallel region would wait for them for ever: see lost_in_fork(). A child that is forked earlier has a pool of its
/// own.
void about_to_start();

/// True in a child that has no pool: its loops run on the one thread that fork() left.
[[nodiscard]] bool lost_in_fork() noexcept;

}  // namespace bitgraph::host_pool
