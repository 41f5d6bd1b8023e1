// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/output.h"

#include "core/error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace inferoscope::cli {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw core::Error(fmt::format("standard output cannot be written: {}", std::strerror(errno)));
  }
}

void printJson(const nlohmann::ordered_json& value) {
  print(value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace inferoscope::cli
