// SPDX-License-Identifier: GPL-3.0-or-later
// How long the weights of a file take to be read, repacked and put in place, against a plain memcpy of the file, mapped
// and in the page cache, into fresh 2 MB pages; the vocabulary and the rest of the header apart. Goal: 1.5 times the
// memcpy. Usage: bench_load MODEL.gguf [REPEATS]
#include "core/backend/huge_memory.h"
#include "core/backend/module_backend.h"
#include "core/model/model_store.h"
#include "core/options.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using namespace inferoscope::core;
using Clock = std::chrono::steady_clock;

namespace {

double msSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double memcpyMs(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info {};
  if (file < 0 || fstat(file, &info) != 0) return -1;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return -1;
  const Clock::time_point begin = Clock::now();
  const auto memory = allocateHuge(size, "a copy of the file");
  std::memcpy(memory->data(), mapped, size);
  const double ms = msSince(begin);
  munmap(mapped, size);
  return ms;
}

struct LoadTimes {
  double header_ms;  // metadata, vocabulary, checks
  double weights_ms;
};

LoadTimes load(const std::string& path, Backend& backend) {
  Clock::time_point weights_began{};
  const LoadProgress progress = [&](std::string_view stage, double) {
    if (stage == "copying weights" && weights_began == Clock::time_point{}) weights_began = Clock::now();
  };
  const Clock::time_point begin = Clock::now();
  const auto model = loadModel(path, backend, progress, {});
  const double total = msSince(begin);
  const double weights = msSince(weights_began);
  return {total - weights, weights};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || memcpyMs(argv[1]) < 0) {
    std::fprintf(stderr, "usage: bench_load MODEL.gguf [REPEATS]\n");
    return 2;
  }
  const int num_repeats = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  const auto backend = makeBackend(EngineOptions{}.device, 0);
  std::vector<double> copies, headers, weights;
  for (int i = 0; i < num_repeats; ++i) {
    copies.push_back(memcpyMs(argv[1]));
    const LoadTimes times = load(argv[1], *backend);
    headers.push_back(times.header_ms);
    weights.push_back(times.weights_ms);
  }
  std::printf("memcpy %.1f ms, weights %.1f ms = %.2f x, header and vocabulary %.1f ms (medians of %d)\n",
              median(copies), median(weights), median(weights) / median(copies), median(headers), num_repeats);
  return 0;
}
