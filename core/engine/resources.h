// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <filesystem>

namespace inferoscope::core {

// The folder resources/: where it was when the program was built, else beside the folder of the program.
// Throws Error if it is in neither place.
std::filesystem::path resourceFolder();

}  // namespace inferoscope::core
