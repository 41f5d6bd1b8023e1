// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/probe_cache.h"
#include "core/cli/arguments.h"
#include "core/cli/ceilings.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/error.h"
#include "core/model/hf_config.h"
#include "core/model/weight_variants.h"
#include "core/run/phase_floor.h"

#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace inferoscope::cli {
namespace {

using core::ByteKind;
using core::PhaseFloor;
using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  std::string format;
  core::EngineOptions engine;
  int batch = 1;
  int depth = 512;
  double tok_s = 0;  // 0: not given
  bool json = false;
};

// All that there is to print.
struct Explained {
  std::shared_ptr<const core::Model> model;
  core::MachineLimits limits;
  PhaseFloor decode;
  PhaseFloor prefill;
  std::optional<core::OpWork> measured;  // the decode step, with the time that the user's tokens/s give it
  core::Bound measured_bound = core::Bound::kUnknown;
};

std::shared_ptr<const core::Model> describe(const Options& options) {
  const std::string& weights = options.engine.weights;
  if (options.model.ends_with(".json")) {
    return core::describeAs(core::describeHfConfig(options.model, options.format), weights);
  }
  if (!options.format.empty())
    throw core::Error("--format: only for a config.json; a model is stored as it is, see --weights");
  auto model = core::describeModel(options.model);
  if (!model->config.unsupported.empty()) {
    throw core::Error(fmt::format("{}: {}", options.model, model->config.unsupported));
  }
  return core::describeAs(std::move(model), weights);
}

Explained explain(const Options& options, const std::stop_token& stop) {
  Explained all;
  all.model = describe(options);
  const std::unique_ptr<core::Backend> cpu = core::makeCpuBackend(options.engine.threads);
  all.limits = core::limitsFor(*cpu, stop);
  all.decode = core::decodeFloor(*all.model, options.engine, all.limits, options.batch, options.depth);
  all.prefill = core::prefillFloor(*all.model, options.engine, all.limits, options.depth);
  if (options.tok_s > 0) {
    all.measured = all.decode.work;
    all.measured->measured_ns = static_cast<std::int64_t>(options.batch * 1e9 / options.tok_s);
    all.measured_bound = core::boundOf(*all.measured, all.decode.stays_in_cache, all.limits);
  }
  return all;
}

// ---- JSON

Json bytesJson(const PhaseFloor& floor) {
  Json bytes = Json::object();
  for (int i = 0; i < core::kNumByteKinds; ++i) {
    const auto kind = static_cast<ByteKind>(i);
    bytes[std::string(core::byteKindName(kind))] = floor.bytesPerToken(kind);
  }
  return bytes;
}

Json workJson(const core::OpWork& work, core::Bound bound) {
  return {{"ops", work.num_ops},
          {"bytes", work.cost.bytes()},
          {"flops", work.cost.flops},
          {"floor_ms", work.floor_ns * 1e-6},
          {"memory_ms", work.roof.memory_ns * 1e-6},
          {"compute_ms", work.roof.compute_ns * 1e-6},
          {"bound", core::boundName(bound)}};
}

Json floorJson(const PhaseFloor& floor) {
  Json phase = workJson(floor.work, floor.bound);
  phase["tokens"] = floor.num_tokens;
  phase["tok_s"] = floor.tokensPerSecond();
  phase["fits_in_cache"] = floor.stays_in_cache;
  phase["bytes_per_token"] = bytesJson(floor);
  phase["by_op"] = Json::object();
  for (const PhaseFloor::OfOp& op : floor.ops) phase["by_op"][std::string(op.name)] = workJson(op.work, op.bound);
  return phase;
}

Json measuredJson(const Explained& all, double tok_s) {
  if (!all.measured) return nullptr;
  return {{"tok_s", tok_s},
          {"step_ms", static_cast<double>(all.measured->measured_ns) * 1e-6},
          {"share_of_floor", all.measured->shareOfRoof().value_or(0)},
          {"read_gb_s", all.measured->bytesPerSecond().value_or(0) * 1e-9},
          {"gflop_s", all.measured->flopPerSecond().value_or(0) * 1e-9},
          {"verdict", core::boundName(all.measured_bound)}};
}

void printAsJson(const Explained& all, const Options& options) {
  printJson({{"model", all.model->config.name},
             {"architecture", all.model->config.architecture},
             {"weight_bytes", all.model->weight_bytes},
             {"batch", options.batch},
             {"depth", options.depth},
             {"ceilings", ceilingsJson(all.limits)},
             {"decode", floorJson(all.decode)},
             {"prefill", floorJson(all.prefill)},
             {"measured", measuredJson(all, options.tok_s)},
             {"notices", all.model->notices}});
}

// ---- Text

std::string bytesText(double bytes) {
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes * 1e-3);
  return bytes < 1e9 ? fmt::format("{:.1f} MB", bytes * 1e-6) : fmt::format("{:.2f} GB", bytes * 1e-9);
}

std::string ageText(const core::MachineLimits& limits) {
  const std::int64_t minutes = (std::time(nullptr) - limits.measured_at_unix_s) / 60;
  return minutes <= 0 ? "measured just now" : fmt::format("measured {} min ago", minutes);
}

void printFloor(const PhaseFloor& floor, const std::string& heading) {
  const core::OpWork& work = floor.work;
  print(fmt::format("\n{}\n", heading));
  print(fmt::format("  floor {:.3f} ms, at most {:.1f} tokens/s: {} (memory {:.3f} ms, compute {:.3f} ms)\n",
                    work.floor_ns * 1e-6, floor.tokensPerSecond(), core::boundName(floor.bound),
                    work.roof.memory_ns * 1e-6, work.roof.compute_ns * 1e-6));
  if (floor.stays_in_cache) {
    print("  its weights and keys fit in this machine's cache: it may be faster than this floor\n");
  }
  print(fmt::format("  {} a token:", bytesText(static_cast<double>(work.cost.bytes()) / floor.num_tokens)));
  for (int i = 0; i < core::kNumByteKinds; ++i) {
    const auto kind = static_cast<ByteKind>(i);
    print(fmt::format("{} {} {}", i == 0 ? "" : ",", core::byteKindName(kind), bytesText(floor.bytesPerToken(kind))));
  }
  print(fmt::format("\n  {:<16} {:>5} {:>10} {:>12} {:>10} {:>6}  {}\n", "op", "ops", "bytes", "MFLOP", "floor ms",
                    "share", "bound"));
  for (const PhaseFloor::OfOp& op : floor.ops) {
    print(fmt::format("  {:<16} {:>5} {:>10} {:>12.1f} {:>10.4f} {:>5.1f}%  {}\n", op.name, op.work.num_ops,
                      bytesText(static_cast<double>(op.work.cost.bytes())),
                      static_cast<double>(op.work.cost.flops) * 1e-6, op.work.floor_ns * 1e-6,
                      100 * op.work.floor_ns / work.floor_ns, core::boundName(op.bound)));
  }
}

void printMeasured(const Explained& all, double tok_s) {
  const core::OpWork& work = *all.measured;
  print(fmt::format("\nMEASURED {} tokens/s: {:.3f} ms a step, {:.0f}% of what the floor allows: {}\n", tok_s,
                    static_cast<double>(work.measured_ns) * 1e-6, 100 * work.shareOfRoof().value_or(0),
                    core::boundName(all.measured_bound)));
  print(fmt::format("  moves {:.1f} of {:.1f} GB/s, computes {:.1f} GFLOP/s\n",
                    work.bytesPerSecond().value_or(0) * 1e-9, all.limits.read_bytes_per_s * 1e-9,
                    work.flopPerSecond().value_or(0) * 1e-9));
}

void printAsText(const Explained& all, const Options& options) {
  const core::EngineOptions& engine = options.engine;
  print(fmt::format("{}, architecture {}: {} of weights\n", all.model->config.name, all.model->config.architecture,
                    bytesText(static_cast<double>(all.model->weight_bytes))));
  for (const std::string& notice : all.model->notices) print(fmt::format("  notice: {}\n", notice));
  print(fmt::format("{} ({})\n", ceilingsText(all.limits), ageText(all.limits)));
  printFloor(
      all.decode,
      fmt::format("DECODE, {} sequence{} with {} tokens in the cache (KV {}, attention {}, linear {})", options.batch,
                  options.batch == 1 ? "" : "s", options.depth, engine.kv_format, engine.attention, engine.linear));
  printFloor(all.prefill, fmt::format("PREFILL, a prompt of {} tokens in {} pass{}", options.depth,
                                      all.prefill.num_passes, all.prefill.num_passes == 1 ? "" : "es"));
  if (all.measured) printMeasured(all, options.tok_s);
}

void run(const Options& options, const std::stop_token& stop) {
  const Explained all = explain(options, stop);
  if (options.json) {
    printAsJson(all, options);
  } else {
    printAsText(all, options);
  }
}

}  // namespace

void addExplainCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand(
      "explain", "The least time a model needs on this machine, by op and kind of bytes; nothing is computed");
  command
      .add_option("MODEL", options->model,
                  "A GGUF file, \"default\", \"synthetic:NAME[:FORMAT]\", or a Hugging Face config.json")
      ->required();
  addCount(command, "--batch", options->batch, 1, "Sequences decoded together");
  addCount(command, "--depth", options->depth, 1, "Tokens in the cache of each; the length of the prompt in prefill");
  command.add_option("--tok-s", options->tok_s, "Decode tokens/s that you measured, of all sequences together")
      ->check(CLI::PositiveNumber.description(""))
      ->type_name("X");
  command.add_option("--format", options->format, "Count the weights of a config.json in this format")->type_name("F");
  for (const char* knob : {"weights", "kv-format", "attention", "linear", "prefill-chunk", "step-tokens", "threads"}) {
    addKnob(command, options->engine, knob);
  }
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
