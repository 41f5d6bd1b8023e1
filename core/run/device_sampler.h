// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/ids.h"
#include "core/run/op_runner.h"
#include "core/run/sampler.h"
#include "core/schedule/request.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace inferoscope::core {

// The Sampler of devices with memory of their own: an op that picks the tokens where the logits lie, so that only ids
// are copied back. The same rules and random numbers, and so the same tokens.
class DeviceSampler {
 public:
  // What one row of logits is for.
  struct Ask {
    const SamplingParams* params = nullptr;
    std::span<const TokenId> history = {};  // the sequence's tokens so far
    std::int64_t position = 0;              // of the token to come
  };

  DeviceSampler(int vocab_size, int num_ids, Backend& backend);

  bool canSample(const OpRunner& ops) const;

  // Runs the op and waits for it. logits: [asks, vocab_size], on the device.
  std::vector<Sampler::Result> sample(float* logits, std::span<const Ask> asks, OpRunner& ops);

 private:
  kernels::SampleArgs argsOf(float* logits) const;
  void addChanges(int row, const Ask& ask);

  int m_vocab_size;
  int m_num_ids;
  Backend& m_backend;
  std::shared_ptr<Buffer> m_ids;  // [asks] on the device; grows
  std::vector<kernels::SampleParams> m_params;
  std::vector<kernels::LogitChange> m_changes;
};

}  // namespace inferoscope::core
