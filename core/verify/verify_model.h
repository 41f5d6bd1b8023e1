// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/model.h"

#include <memory>
#include <stop_token>

namespace inferoscope::core::verify {

// A whole model with the kernels that run by default, beside the same with naive ones.
struct ModelCheck {
  int num_prompts = 0;
  int num_same_choice = 0;  // prompts after which the same token is the likeliest
  double difference = 0;    // of logits: root mean square, in standard deviations of the logits; the largest of all
  double mean_kl = 0;       // Kullback-Leibler divergence of the next token, in nats
  double tolerance = 0;     // of difference

  bool passed() const { return difference <= tolerance; }
};

// Throws Error or Cancelled.
ModelCheck verifyModel(const std::shared_ptr<const Model>& model, const std::shared_ptr<Backend>& backend,
                       const std::stop_token& stop);

}  // namespace inferoscope::core::verify
