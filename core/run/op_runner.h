// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/observe/records.h"
#include "core/run/kernel_set.h"

#include <atomic>
#include <stop_token>
#include <string_view>
#include <vector>

namespace inferoscope::core {

// Runs ops and measures them: the only place that does. For each op: pick the row, count its cost, run it between two
// time marks, keep an OpRecord.
class OpRunner {
 public:
  OpRunner(Backend& backend, KernelSet kernels);

  void setKernels(KernelSet kernels);
  const KernelSet& kernels() const { return m_kernels; }

  // ops_done counts the ops of the step, for those who watch. May be null.
  void begin(std::stop_token stop, std::atomic<int>* ops_done);
  // name: a literal, "attn_q". layer -1: outside the layers. Throws Cancelled once a stop is requested.
  template <class Args>
  void run(std::string_view name, int layer, const Args& args);
  template <class Args>
  bool canRun(const Args& args) const;
  // Waits for the device and resolves the times.
  std::vector<OpRecord> finish();

 private:
  Backend& m_backend;
  KernelSet m_kernels;
  std::stop_token m_stop;
  std::atomic<int>* m_ops_done = nullptr;
  std::vector<OpRecord> m_records;
  std::size_t m_num_records = 0;  // of the last step: room is made before the first op, so that none stops to make it
};

}  // namespace inferoscope::core
