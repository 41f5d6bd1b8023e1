// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/error.h"

#include <string>

namespace inferoscope::tests {

// The message of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string errorOf(Action&& action) {
  try {
    action();
  } catch (const core::Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace inferoscope::tests
