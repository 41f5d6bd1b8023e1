// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/model/model_store.h"

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

namespace inferoscope::core {

// `synthetic:NAME[:FORMAT]`: a model of a known shape with random weights, the same ones every time. It costs what a
// real one costs; its text means nothing.
bool isSynthetic(std::string_view source);

// Without a backend it is only described: all of it but the weights.
std::shared_ptr<const Model> makeSyntheticModel(const std::string& source, Backend* backend,
                                                const LoadProgress& progress, std::stop_token stop);

}  // namespace inferoscope::core
