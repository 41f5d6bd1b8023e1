// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/cuda/kernel_checks.h"

#include <cstdio>
#include <string_view>

// The checks of the kernel tests on a real device. --quick: a third of them, for tools that slow everything down.
int main(int argc, char** argv) {
  using namespace inferoscope;
  const kernels::cuda::Module& module = *inferoscopeCudaModule();
  std::string why;
  const auto devices = module.devices(why);
  if (devices.empty()) {
    std::printf("no device: %s\n", why.c_str());
    return 1;
  }
  std::printf("%s, compute capability %d.%d\n", devices[0].name.c_str(), devices[0].compute_major,
              devices[0].compute_minor);
  const std::size_t stride = argc > 1 && std::string_view(argv[1]) == "--quick" ? 3 : 1;
  const auto queue = module.open(0);
  const std::vector<tests::Check> checks = tests::allChecks(module);
  int num_run = 0;
  int num_failed = 0;
  for (std::size_t i = 0; i < checks.size(); i += stride, ++num_run) {
    std::string error;
    double worst = 0.0;
    try {
      tests::Lab lab(module, *queue);
      const tests::Outcome outcome = checks[i].run(lab);
      worst = outcome.worstError();
      if (!outcome.holds()) error = "error above " + std::to_string(outcome.tolerance);
    } catch (const std::exception& fault) {
      error = fault.what();
    }
    num_failed += error.empty() ? 0 : 1;
    std::printf("%-6s %-55s %.2e %s\n", error.empty() ? "ok" : "FAILED", checks[i].name.c_str(), worst, error.c_str());
  }
  std::printf("%d checks, %d failed\n", num_run, num_failed);
  return num_failed == 0 ? 0 : 1;
}
