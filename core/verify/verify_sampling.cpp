// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/verify/verify_sampling.h"

#include "core/run/device_sampler.h"
#include "core/run/op_runner.h"
#include "core/run/sampler.h"
#include "core/verify/device_memory.h"
#include "core/verify/kernel_cases.h"

#include <fmt/format.h>
#include <limits>
#include <utility>

namespace inferoscope::core::verify {
namespace {

constexpr int kUnknownIds = 3;  // rows of the vocabulary that no token has, with the largest logits

// Greedy, each filter alone, and all of them.
std::vector<SamplingParams> someSettings() {
  constexpr float kBanned = -std::numeric_limits<float>::infinity();
  std::vector<SamplingParams> settings = {{.logit_bias = {}},
                                          {.temperature = 0.2F, .logit_bias = {}},
                                          {.temperature = 1, .logit_bias = {}},
                                          {.temperature = 5, .logit_bias = {}},
                                          {.temperature = 2, .top_k = 7, .logit_bias = {}},
                                          {.temperature = 2, .top_p = 0.8F, .logit_bias = {}},
                                          {.temperature = 2, .min_p = 0.05F, .logit_bias = {}},
                                          {.repeat_penalty = 1.5F, .logit_bias = {}},
                                          {.temperature = 1, .repeat_penalty = 2, .logit_bias = {}},
                                          {.temperature = 1, .repeat_penalty = 0.5F, .logit_bias = {}},
                                          {.temperature = 2,
                                           .top_k = 20,
                                           .top_p = 0.9F,
                                           .min_p = 0.01F,
                                           .repeat_penalty = 1.2F,
                                           .logit_bias = {{3, 4.0F}, {5, kBanned}}}};
  for (std::size_t i = 0; i < settings.size(); ++i) settings[i].seed = 100 + i;
  return settings;
}

std::string describe(const SamplingParams& p, int num_ids) {
  return fmt::format("{} ids, temperature {}, top-k {}, top-p {}, min-p {}, repeat penalty {}", num_ids, p.temperature,
                     p.top_k, p.top_p, p.min_p, p.repeat_penalty);
}

// Logits of a row for each of `settings`, and a last one with a NaN in it.
std::vector<float> someLogits(int num_rows, int num_ids) {
  const int vocab_size = num_ids + kUnknownIds;
  std::vector<float> logits = Random(11).floats(std::int64_t{num_rows} * vocab_size, -9, 9);
  for (int row = 0; row < num_rows; ++row) {
    std::fill_n(logits.begin() + (row + 1) * vocab_size - kUnknownIds, kUnknownIds, 1e9F);
  }
  logits[static_cast<std::size_t>((num_rows - 1) * vocab_size + num_ids / 2)] = NAN;
  return logits;
}

void judge(KernelCheck& check, const Sampler::Result& got, const Sampler::Result& expected, const std::string& what) {
  ++check.num_cases;
  const bool same = got.token == expected.token && got.error == expected.error;
  if (same) return;
  ++check.num_failed;
  check.largest_error = 1;
  if (check.worst_case.empty()) check.worst_case = fmt::format("{}: {}, not {}", what, got.token, expected.token);
}

}  // namespace

KernelCheck verifySampling(Backend& backend, const kernels::Kernel<kernels::SampleArgs>& row, std::stop_token stop) {
  KernelCheck check{.kernel = std::string(row.id), .format = {}};
  KernelSet set;
  set.sample = {&row};
  OpRunner ops(backend, std::move(set));
  std::vector<SamplingParams> settings = someSettings();
  settings.emplace_back();  // of the row with the NaN
  const auto num_rows = static_cast<int>(settings.size());
  for (const int num_ids : {40, 3000}) {
    const auto vocab_size = static_cast<std::size_t>(num_ids + kUnknownIds);
    const std::vector<float> logits = someLogits(num_rows, num_ids);
    DeviceMemory memory(backend, logits.size() * sizeof(float));
    DeviceSampler device_sampler(num_ids + kUnknownIds, num_ids, backend);
    const std::vector<TokenId> history = {1, 7, 7, 20, 33};
    std::vector<DeviceSampler::Ask> asks;
    for (const SamplingParams& params : settings) asks.push_back({&params, history, 50 + std::ssize(asks)});

    ops.begin(stop, nullptr);
    const std::vector<Sampler::Result> got = device_sampler.sample(memory.put(logits), asks, ops);
    for (std::size_t i = 0; i < asks.size(); ++i) {
      const std::span own = std::span(logits).subspan(i * vocab_size, vocab_size);
      const auto expected = Sampler().sample(own, num_ids, settings[i], history, asks[i].position);
      judge(check, got[i], expected, describe(settings[i], num_ids));
    }
  }
  return check;
}

}  // namespace inferoscope::core::verify
