// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/observe/limits.h"

#include <filesystem>
#include <optional>
#include <stop_token>

namespace inferoscope::core {

// Ceilings probed on this machine before, so that a start need not wait for them. They are shown with their age, and a
// benchmark is never judged by them: it probes for itself.

// Those of the last hour for the backend and its present number of threads, else probed now. Throws Cancelled.
MachineLimits limitsFor(Backend& backend, std::stop_token stop);

// Probed now, and kept for the next time.
MachineLimits probeAndKeep(Backend& backend, std::stop_token stop);

// $XDG_CACHE_HOME/inferoscope/probes.json
std::filesystem::path probeCacheFile();

// None if there are none of the last hour, or if the file can't be understood.
std::optional<MachineLimits> keptLimits(const std::filesystem::path& file, const Backend& backend);

// Replaces those of as many threads. Where the file can't be written there is no cache, and that is all.
void keepLimits(const std::filesystem::path& file, const Backend& backend, const MachineLimits& limits);

}  // namespace inferoscope::core
