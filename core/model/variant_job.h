// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/weight_variants.h"

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace inferoscope::core {

// Makes a variant of a model on threads of its own, while another thread goes on running the model.
class VariantJob {
 public:
  // progress and on_end are called on the job's thread. device: as in makeBackend().
  VariantJob(std::shared_ptr<const Model> source, std::string weights, std::string device, LoadProgress progress,
             std::function<void()> on_end);
  // Cancels and waits for it: milliseconds.
  ~VariantJob() = default;

  const std::string& weights() const { return m_weights; }
  bool ended() const;
  // Once it has ended. Throws Error.
  std::shared_ptr<const Model> take() { return m_result.get(); }

 private:
  std::string m_weights;
  std::future<std::shared_ptr<const Model>> m_result;
  std::jthread m_thread;
};

}  // namespace inferoscope::core
