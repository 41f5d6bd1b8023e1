// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/session/frame.h"

namespace inferoscope::tests {

// Frames for the tests of views, from a toy scheduler: plausible states, no engine, no time, no chance.

gui::ModelInfo toyModel();
core::MachineLimits toyLimits();

gui::Frame emptyFrame();  // a loaded model before its first step: blocks, all free
gui::Frame smallFrame();  // one request in its third step
gui::Frame fullFrame();   // a full cache and batch, a queue, shared and cached blocks, preempted and failed requests

// The same requests in two lanes at the same time of their clocks: paged and flash attention against contiguous and
// naive.
gui::Frame comparedFrame();

// A snapshot with that many blocks, every state and many owners among them.
gui::Frame blocksFrame(int num_blocks);

// One more step, for benches: new decode tokens and text for all that run.
gui::Frame nextFrame(const gui::Frame& frame);

}  // namespace inferoscope::tests
