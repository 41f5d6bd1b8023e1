// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/engine/engine.h"
#include "tests/support/engines.h"
#include "tests/support/tried_backend.h"

#include <QtGlobal>

#include <memory>
#include <string>
#include <utility>

namespace inferoscope::tests {

// An engine on a backend that can be made to fail.
struct EngineBench {
  explicit EngineBench(const std::string& source = "synthetic:tiny",
                       const core::EngineOptions& options = with({{"threads", "1"}}),
                       core::TimeSource time = core::steadyNow)
      : model(loadOn(*backend, source)), engine(model, backend, options, std::move(time)) {}

  core::RequestInfo info(core::SeqId seq) const {
    for (const core::RequestInfo& request : engine.snapshot().requests) {
      if (request.seq == seq) return request;
    }
    qFatal("no such request");
  }

  std::shared_ptr<TriedBackend> backend = std::make_shared<TriedBackend>();
  std::shared_ptr<const core::Model> model;
  core::Engine engine;
};

}  // namespace inferoscope::tests
