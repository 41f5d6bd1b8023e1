// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/resources.h"

#include "core/error.h"

#include <fmt/format.h>

#include <system_error>

namespace inferoscope::core {

std::filesystem::path resourceFolder() {
  std::error_code error;
  const std::filesystem::path built_from = INFEROSCOPE_RESOURCES;
  if (std::filesystem::is_directory(built_from, error)) return built_from;

  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.parent_path().parent_path().parent_path() / "resources";
  if (std::filesystem::is_directory(beside, error)) return beside;

  throw Error(fmt::format("no folder of resources: neither {} nor {} exists", built_from.string(), beside.string()));
}

}  // namespace inferoscope::core
