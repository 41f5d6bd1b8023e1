// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/backend/backend.h"
#include "core/model/model.h"
#include "core/observe/limits.h"
#include "core/options.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace inferoscope::cli {

// Measures a model at one batch size: `batch` prompts at once, then `batch` answers at once, so that no step mixes
// prefill and decode. The machine's ceilings are probed before and after every repeat; a repeat between probes that
// differ by more than 10% is dropped, since it does not say what it was measured against.
struct BenchCase {
  int batch = 1;
  int prompt_tokens = 256;
  int new_tokens = 64;
  int depth = 0;  // tokens already in the cache, from an earlier request with the same beginning
  int repeats = 3;
};

// Medians over the repeats kept. Empty: it could not be told.
struct BenchResult {
  int batch = 0;
  std::optional<double> prefill_tok_s;
  std::optional<double> decode_tok_s;
  std::optional<double> prefill_mfu;  // of the arithmetic ceiling
  std::optional<double> decode_mbu;   // of the read bandwidth
  std::optional<double> decode_gb_s;  // bytes that had to move, over the time
  double read_gb_s = 0;               // the probe beside these percentages
  int num_kept = 0;
  int num_dropped = 0;
  bool unsteady = false;  // all were dropped: the medians are over the dropped ones
};

class Bench {
 public:
  Bench(std::shared_ptr<const core::Model> model, std::shared_ptr<core::Backend> backend, core::EngineOptions options);

  // Throws Error (it cannot fit) or Cancelled.
  BenchResult run(const BenchCase& wanted, const std::stop_token& stop);

  core::MachineLimits ceilings() const;                           // medians over all probes
  std::int64_t peakRssBytes() const { return m_peak_rss_bytes; }  // of loading and running, the probe's memory left out

 private:
  core::MachineLimits probe(const std::stop_token& stop);

  std::shared_ptr<const core::Model> m_model;
  std::shared_ptr<core::Backend> m_backend;
  core::EngineOptions m_options;
  std::vector<core::MachineLimits> m_probes;
  std::int64_t m_peak_rss_bytes = 0;
};

}  // namespace inferoscope::cli
