// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"

#include <cstddef>
#include <memory>
#include <string_view>

namespace inferoscope::core {

// Bytes the system says can still be had; 0 if it does not say.
std::size_t availableMemory();

// Zeroed memory of its own mapping, on a 2 MB boundary and backed by 2 MB pages where the system has them: a stream
// over 4 KB pages waits for address translation. Throws Error with what it was for and both numbers.
std::shared_ptr<Buffer> allocateHuge(std::size_t bytes, std::string_view what);

}  // namespace inferoscope::core
