// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <stdexcept>

namespace inferoscope::core {

// Something a person must know: what, where, what to do, in one line. Thrown for broken files, lack of memory and
// device faults; caught in one place by each program. Ordinary outcomes ("no block left") are return values.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A stop was requested and honoured; not a failure.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

}  // namespace inferoscope::core
