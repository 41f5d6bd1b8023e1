// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace inferoscope::core {
namespace {

std::optional<int> parseInt(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// get and set of a field, by its type.

template <int EngineOptions::*kField>
Knob number(Knob knob) {
  knob.get = [](const EngineOptions& options) { return std::to_string(options.*kField); };
  knob.set = [](EngineOptions& options, std::string_view value) { options.*kField = *parseInt(value); };
  return knob;
}

template <std::string EngineOptions::*kField>
Knob word(Knob knob) {
  knob.get = [](const EngineOptions& options) { return options.*kField; };
  knob.set = [](EngineOptions& options, std::string_view value) { options.*kField = value; };
  return knob;
}

template <bool EngineOptions::*kField>
Knob onOff(Knob knob) {
  knob.choices = {"on", "off"};
  knob.get = [](const EngineOptions& options) { return std::string(options.*kField ? "on" : "off"); };
  knob.set = [](EngineOptions& options, std::string_view value) { options.*kField = value == "on"; };
  return knob;
}

// kFirst and kSecond: the names of the enum's values 0 and 1.
template <auto kField, const char* kFirst, const char* kSecond>
Knob either(Knob knob) {
  using Enum = std::remove_reference_t<decltype(EngineOptions{}.*kField)>;
  knob.choices = {kFirst, kSecond};
  knob.get = [](const EngineOptions& options) { return std::string(options.*kField == Enum{0} ? kFirst : kSecond); };
  knob.set = [](EngineOptions& options, std::string_view value) {
    options.*kField = value == kFirst ? Enum{0} : Enum{1};
  };
  return knob;
}

constexpr char kPagedName[] = "paged", kContiguousName[] = "contiguous";
constexpr char kContinuousName[] = "continuous", kStaticName[] = "static";
constexpr char kFcfsName[] = "fcfs", kPrefillFirstName[] = "prefill-first";

std::vector<Knob> makeTable() {
  std::vector<Knob> table;

  table.push_back(either<&EngineOptions::kv_layout, kPagedName, kContiguousName>({
      .id = "kv-layout",
      .label = "KV layout",
      .explanation = "Paged: a request takes small KV blocks as it grows. Contiguous: it reserves room for the longest "
                     "possible text at once, so that far fewer requests fit and most of their room stays empty.",
      .rebuilds = Rebuilds::kKvCache,
  }));
  table.push_back(number<&EngineOptions::block_size>({
      .id = "block-size",
      .label = "Block size",
      .explanation = "Token slots in a KV block (paged layout). Small blocks waste less of a request's last block and "
                     "share shorter prefixes; large ones need fewer look-ups.",
      .unit = "tokens",
      .min = 1,
      .max = 256,
      .steps = {8, 16, 32, 64, 128, 256},
      .rebuilds = Rebuilds::kKvCache,
  }));
  table.push_back(number<&EngineOptions::kv_budget_mib>({
      .id = "kv-budget",
      .label = "KV budget",
      .explanation = "Memory for keys and values. Too little, and running requests are preempted: their blocks are "
                     "taken and what they held is computed again later. 0: what 8 sequences of 2,048 tokens need.",
      .unit = "MiB",
      .min = 0,
      .max = 1 << 20,
      .steps = {0, 32, 64, 128, 256, 512, 1024},
      .zero_means = "8 × 2,048 tokens",
      .rebuilds = Rebuilds::kKvCache,
  }));
  table.push_back(number<&EngineOptions::max_len>({
      .id = "max-len",
      .label = "Longest text",
      .explanation =
          "Tokens of a request at most, prompt and answer together. The contiguous layout reserves this much "
          "for each; pages are only taken for what is written. 0: as much as the model's context holds.",
      .unit = "tokens",
      .min = 0,
      .max = 1 << 20,
      .steps = {0, 256, 512, 1024, 2048, 4096},
      .zero_means = "the model's context",
      .rebuilds = Rebuilds::kKvCache,
  }));
  table.push_back(word<&EngineOptions::kv_format>({
      .id = "kv-format",
      .label = "KV format",
      .explanation = "How keys and values are stored. q8_0 halves the bytes of f16 that every decoded token must read, "
                     "at a small loss of precision; f32 doubles them.",
      .choices = {"f16", "f32", "q8_0"},
      .rebuilds = Rebuilds::kKvCache,
  }));
  table.push_back(word<&EngineOptions::attention>({
      .id = "attention",
      .label = "Attention",
      .explanation = "Flash: keys and values stream through the cache once, scores never reach memory. Naive: the "
                     "layer's whole score matrix is written to memory and read back, which a long prompt feels.",
      .choices = {"flash", "naive"},
  }));
  table.push_back(either<&EngineOptions::batching, kContinuousName, kStaticName>({
      .id = "batching",
      .label = "Batching",
      .explanation = "Continuous: a request joins the batch as soon as there is room. Static: new requests wait until "
                     "the whole batch has finished, so that its last request runs alone.",
  }));
  table.push_back(number<&EngineOptions::max_sequences>({
      .id = "max-sequences",
      .label = "Most sequences",
      .explanation = "Sequences in a batch at most. Decoding reads the weights once a step whatever their number, so "
                     "that more of them give more tokens per byte, and each waits longer for its next token.",
      .min = 1,
      .max = 1024,
      .steps = {1, 2, 4, 8, 16, 32},
  }));
  table.push_back(number<&EngineOptions::step_tokens>({
      .id = "step-tokens",
      .label = "Step tokens",
      .explanation = "Tokens computed in a step at most, over all its sequences. Decoding goes first, prompts get the "
                     "rest; a large step computes prompts sooner but holds up everyone's next token.",
      .unit = "tokens",
      .min = 1,
      .max = 65536,
      .steps = {64, 128, 256, 512, 1024, 2048},
  }));
  table.push_back(number<&EngineOptions::prefill_chunk>({
      .id = "prefill-chunk",
      .label = "Prefill chunk",
      .explanation = "Prompt tokens of one request in a step at most: a long prompt is cut into chunks that run beside "
                     "the others' decoding. 0: whole prompts, during which everyone else waits.",
      .unit = "tokens",
      .min = 0,
      .max = 65536,
      .steps = {0, 32, 64, 128, 256, 512},
      .zero_means = "whole prompts",
  }));
  table.push_back(either<&EngineOptions::policy, kFcfsName, kPrefillFirstName>({
      .id = "policy",
      .label = "Policy",
      .explanation =
          "fcfs: running requests first, then prompts in order of arrival, in one mixed step. prefill-first: "
          "prompts run in steps of their own before any decoding, so that first tokens come sooner and "
          "running answers stall.",
  }));
  table.push_back(onOff<&EngineOptions::prefix_cache>({
      .id = "prefix-cache",
      .label = "Prefix cache",
      .explanation = "Blocks of finished requests keep their content until they are needed again: a prompt that begins "
                     "with the same tokens takes them over instead of computing them.",
  }));
  table.push_back(word<&EngineOptions::weights>({
      .id = "weights",
      .label = "Weights",
      .explanation = "The format of the weights in memory. Every decoded token reads them all: half the bits are half "
                     "the bytes, at some loss. Made anew from what the file stores, so that more bits than those make "
                     "nothing more exact.",
      .choices = {"as-stored", "f32", "f16", "q8_0", "q4_0"},
      .rebuilds = Rebuilds::kWeights,
  }));
  table.push_back(word<&EngineOptions::linear>({
      .id = "linear",
      .label = "Linear kernel",
      .explanation = "How matrices of weights are multiplied. simd: vector instructions on blocks of rows. naive: one "
                     "plain loop, the reference that shows what the instructions are worth. On a GPU own: kernels that "
                     "read the stored weights, for up to 8 tokens; cublas: weights made halves first, always.",
      .choices = {"simd", "naive"},
      .gpu_choices = {"own", "cublas"},
  }));
  table.push_back(number<&EngineOptions::threads>({
      .id = "threads",
      .label = "Threads",
      .explanation = "Threads that compute. Decoding stops gaining once memory is busy, prompts gain up to the number "
                     "of cores; more threads than cores lose. 0: one a core.",
      .min = 0,
      .max = 256,
      .steps = {0, 1, 2, 4, 8, 16},
      .zero_means = "all cores",
  }));
  table.push_back(word<&EngineOptions::device>({
      .id = "device",
      .label = "Device",
      .explanation = "Where the model lies and its kernels run: this machine's processor, or the memory of a GPU that "
                     "CUDA can use, where bandwidth and compute are many times higher.",
      .choices = {"cpu", "cuda:0"},
      .unlisted_choices = {"cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7", "cuda-emu"},
      .rebuilds = Rebuilds::kWeights,
  }));
  table.push_back(onOff<&EngineOptions::cuda_graphs>({
      .id = "cuda-graphs",
      .label = "CUDA graphs",
      .explanation = "On a GPU: a step that only decodes is handed over as one graph. Starting its hundreds of small "
                     "kernels one by one takes longer than some of them run.",
  }));
  return table;
}

bool isIn(const std::vector<std::string>& choices, std::string_view value) {
  return std::ranges::find(choices, value) != choices.end();
}

// Of any device: what this one has is the engine's to say.
std::string problem(const Knob& knob, std::string_view value) {
  if (!knob.choices.empty()) {
    if (isIn(knob.choices, value) || isIn(knob.gpu_choices, value) || isIn(knob.unlisted_choices, value)) return {};
    const std::string gpu_choices =
        knob.gpu_choices.empty() ? "" : fmt::format(", or on a GPU {}", fmt::join(knob.gpu_choices, ", "));
    return fmt::format("{}: \"{}\" is not one of {}{}", knob.id, value, fmt::join(knob.choices, ", "), gpu_choices);
  }
  const std::optional<int> number = parseInt(value);
  if (number && *number >= knob.min && *number <= knob.max) return {};
  return fmt::format("{}: \"{}\" is not a whole number from {} to {}", knob.id, value, knob.min, knob.max);
}

}  // namespace

std::span<const Knob> knobs() {
  static const std::vector<Knob> kTable = makeTable();
  return kTable;
}

const Knob* findKnob(std::string_view id) {
  const auto found = std::ranges::find(knobs(), id, &Knob::id);
  return found == knobs().end() ? nullptr : &*found;
}

const std::vector<std::string>& choicesOn(const Knob& knob, const EngineOptions& options) {
  return options.device == "cpu" || knob.gpu_choices.empty() ? knob.choices : knob.gpu_choices;
}

std::string nextValue(const Knob& knob, const EngineOptions& options) {
  const std::string now = knob.get(options);
  if (!knob.choices.empty()) {
    const std::vector<std::string>& choices = choicesOn(knob, options);
    const auto found = std::ranges::find(choices, now);
    return found == choices.end() || found + 1 == choices.end() ? choices.front() : *(found + 1);
  }
  const auto next = std::ranges::upper_bound(knob.steps, *parseInt(now));
  return std::to_string(next == knob.steps.end() ? knob.steps.front() : *next);
}

void settleChoices(EngineOptions& options) {
  for (const Knob& knob : knobs()) {
    if (knob.gpu_choices.empty()) continue;
    const std::vector<std::string>& choices = choicesOn(knob, options);
    if (!isIn(choices, knob.get(options))) knob.set(options, choices.front());
  }
}

std::string setKnob(EngineOptions& options, std::string_view id, std::string_view value) {
  const Knob* knob = findKnob(id);
  if (knob == nullptr) return fmt::format("\"{}\" is not a knob", id);
  std::string wrong = problem(*knob, value);
  if (wrong.empty()) knob->set(options, value);
  return wrong;
}

std::vector<std::string_view> changedKnobs(const EngineOptions& a, const EngineOptions& b) {
  std::vector<std::string_view> ids;
  for (const Knob& knob : knobs()) {
    if (knob.get(a) != knob.get(b)) ids.push_back(knob.id);
  }
  return ids;
}

}  // namespace inferoscope::core
