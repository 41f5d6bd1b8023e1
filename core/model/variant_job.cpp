// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/variant_job.h"

#include "core/backend/module_backend.h"
#include "core/backend/thread_priority.h"

#include <chrono>
#include <utility>

namespace inferoscope::core {

VariantJob::VariantJob(std::shared_ptr<const Model> source, std::string weights, std::string device,
                       LoadProgress progress, std::function<void()> on_end)
    : m_weights(std::move(weights)) {
  std::promise<std::shared_ptr<const Model>> promise;
  m_result = promise.get_future();
  // It owns all it uses: nothing here is shared but the source, which never changes.
  m_thread = std::jthread([source = std::move(source), wanted = m_weights, device = std::move(device),
                           progress = std::move(progress), on_end = std::move(on_end),
                           promise = std::move(promise)](std::stop_token stop) mutable {
    lowerThreadPriority();
    try {
      promise.set_value(makeWeights(std::move(source), wanted, *makeBackend(device, 1), progress, std::move(stop)));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
    on_end();
  });
}

bool VariantJob::ended() const {
  return m_result.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace inferoscope::core
