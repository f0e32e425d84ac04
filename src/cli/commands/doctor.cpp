// SPDX-License-Identifier: Apache-2.0
#include <bitgraph/core/version.hpp>
#include <bitgraph/ops/gemm.hpp>

#include "cli/command.hpp"
#include "core/devices/backend.hpp"
#include "core/devices/isa.hpp"

#include <fmt/format.h>

#include <omp.h>
#include <unistd.h>

#include <memory>

namespace bitgraph::cli {

namespace {

Json examine() {
  Json isas = Json::array();
  for (const Isa isa : available_isas()) isas.push_back(to_string(isa));
  const auto pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"version", version()},
          {"processors", omp_get_num_procs()},
          {"threads", Device().threads()},
          {"memory_bytes", pages},
          {"instruction_sets", isas},
          {"kernels", to_string(active_isa())},
          {"float_gemm", float_gemm_kernels(Device::best())},
          {"backend", to_string(backend_for(Device::host()))},
          {"cuda_built", Device::cuda_built()},
          {"default_device", Device::best().name()}};
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto common = std::make_shared<Common>();
  CLI::App* command = app.add_subcommand("doctor", "Show what this machine has and which kernels bitgraph will use");
  add_common(*command, *common);
  add_examples(*command, "  bitgraph doctor\n  BITGRAPH_ISA=avx2 bitgraph doctor --json\n");
  command->callback([common] {
    const Json result = examine();
    if (common->json) {
      fmt::print("{}\n", result.dump(2));
      return;
    }
    for (const auto& [key, value] : result.items()) {
      fmt::print("{:<18}{}\n", key,
                 key == "memory_bytes" ? human_bytes(value.get<double>())
                 : value.is_string()   ? value.get<std::string>()
                                       : value.dump());
    }
  });
}

}  // namespace bitgraph::cli
