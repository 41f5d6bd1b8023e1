// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace inferoscope::core {

void inParallel(int count, const std::function<void(int begin, int end)>& work) {
  const int num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int share = (count + num_threads - 1) / num_threads;
  std::vector<std::jthread> threads;
  for (int begin = 0; begin < count; begin += share) {
    threads.emplace_back([&work, begin, end = std::min(begin + share, count)] { work(begin, end); });
  }
}

}  // namespace inferoscope::core
