// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// For helpers in files compiled for one instruction set. They have internal linkage and are always inlined: a function
// shared with files compiled for another could be merged by the linker into the wrong copy.
#define INFEROSCOPE_SIMD [[gnu::always_inline]] inline
