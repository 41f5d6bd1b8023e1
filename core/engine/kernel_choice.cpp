// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/kernel_choice.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace inferoscope::core {
namespace {

// Empty if a row of that choice can run one of the cases, else the first reason met.
template <class Args>
std::string refusal(const KernelSet::Rows<Args>& rows, std::string_view knob, std::string_view choice,
                    const std::vector<Args>& cases) {
  std::string first_reason;
  for (const kernels::Kernel<Args>* row : rows) {
    if (row->choice != choice) continue;
    for (const Args& args : cases) {
      const std::string reason = row->supports(args);
      if (reason.empty()) return {};
      if (first_reason.empty()) first_reason = reason;
    }
  }
  return fmt::format("{}: {} can't run here: {}", knob, choice, first_reason);
}

}  // namespace

std::string attentionRefusal(const KernelSet& kernels, const EngineOptions& options, const Model& model,
                             const kernels::PagedKvView& kv) {
  kernels::AttentionArgs args{};
  args.kv = kv;
  args.num_tokens = 1;
  args.num_heads = model.config.num_heads;
  args.scale = 1.0F;
  return refusal<kernels::AttentionArgs>(kernels.attention, "attention", options.attention, {args});
}

std::string linearRefusal(const KernelSet& kernels, const Model& model) {
  std::vector<kernels::LinearArgs> cases;
  const auto add = [&](const kernels::WeightMatrix& w) {
    cases.push_back({.x = nullptr, .w = w, .out = nullptr, .num_tokens = 1});
  };
  for (const LayerWeights& layer : model.layers) {
    for (const kernels::WeightMatrix* w : {&layer.attn_q, &layer.attn_k, &layer.attn_v, &layer.attn_output,
                                           &layer.ffn_gate, &layer.ffn_up, &layer.ffn_down}) {
      add(*w);
    }
  }
  add(model.output);
  return refusal<kernels::LinearArgs>(kernels.linear, "linear", kernels.linear.front()->choice, cases);
}

}  // namespace inferoscope::core
