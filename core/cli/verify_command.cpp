// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/backend/module_backend.h"
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/error.h"
#include "core/model/model_store.h"
#include "core/verify/verify_kernels.h"
#include "core/verify/verify_model.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace inferoscope::cli {
namespace {

namespace verify = core::verify;

struct Options {
  std::string model = std::string(core::kFallbackModel);
  std::string device = "cpu";
  core::EngineOptions engine;
  bool json = false;
};

std::string_view outcomeOf(const verify::KernelCheck& check) {
  if (!check.skipped.empty()) return "skipped";
  return check.passed() ? "passed" : "FAILED";
}

nlohmann::ordered_json describe(const verify::KernelCheck& check) {
  nlohmann::ordered_json row = {{"kernel", check.kernel}};
  if (!check.format.empty()) row["format"] = check.format;
  row["outcome"] = outcomeOf(check);
  if (!check.skipped.empty()) {
    row["reason"] = check.skipped;
    return row;
  }
  row["cases"] = check.num_cases;
  row["failed"] = check.num_failed;
  // JSON has no infinity: what is not a number is null.
  row["largest_error"] =
      std::isfinite(check.largest_error) ? nlohmann::ordered_json(check.largest_error) : nlohmann::ordered_json();
  row["tolerance"] = check.tolerance;
  row["worst_case"] = check.worst_case;
  return row;
}

std::string lineOf(const verify::KernelCheck& check) {
  std::string line = fmt::format("{:<24} {:<6} {:<8}", check.kernel, check.format, outcomeOf(check));
  if (!check.skipped.empty()) return line + fmt::format(" {}\n", check.skipped);
  line += fmt::format(" {:>3} cases, largest error {:.1e} of {:.0e}", check.num_cases, check.largest_error,
                      check.tolerance);
  if (!check.passed()) line += fmt::format(": {} failed, worst: {}", check.num_failed, check.worst_case);
  return line + "\n";
}

std::string lineOf(const std::string& model, const verify::ModelCheck& check) {
  return fmt::format(
      "{}: fast against naive kernels {}: logits differ by {:.4f} of their deviation (at most {}), KL {:.1e}, the same "
      "likeliest token after {} of {} prompts\n",
      model, check.passed() ? "passed" : "FAILED", check.difference, check.tolerance, check.mean_kl,
      check.num_same_choice, check.num_prompts);
}

void run(const Options& options, const std::stop_token& stop) {
  const std::shared_ptr<core::Backend> backend = core::makeBackend(options.device, options.engine.threads);
  const std::vector<verify::KernelCheck> checks = verify::verifyKernels(*backend, {}, stop);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  int num_failed = 0;
  for (const verify::KernelCheck& check : checks) {
    num_failed += !check.passed();
    rows.push_back(describe(check));
    if (!options.json) print(lineOf(check));
  }
  const auto model = core::loadModel(options.model, *backend, {}, stop);
  const verify::ModelCheck whole = verify::verifyModel(model, backend, stop);
  num_failed += !whole.passed();
  if (options.json) {
    printJson({{"device", options.device},
               {"kernels", rows},
               {"model",
                {{"model", options.model},
                 {"outcome", whole.passed() ? "passed" : "FAILED"},
                 {"difference", whole.difference},
                 {"tolerance", whole.tolerance},
                 {"kl_mean", whole.mean_kl},
                 {"same_choice", whole.num_same_choice},
                 {"prompts", whole.num_prompts}}},
               {"failed", num_failed}});
  } else {
    print(lineOf(options.model, whole));
  }
  if (num_failed > 0) throw core::Error(fmt::format("{}: {} checks failed", options.device, num_failed));
}

}  // namespace

void addVerifyCommand(CLI::App& program, std::stop_token stop) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand(
      "verify", "Every kernel of a device against its definition, then a model with fast kernels against naive ones");
  command.add_option("MODEL", options->model, "A GGUF file, \"default\", or \"synthetic:NAME[:FORMAT]\"")
      ->capture_default_str();
  command.add_option("--device", options->device, "The device")->capture_default_str();
  addKnob(command, options->engine, "threads");
  addJson(command, options->json);
  command.callback([options, stop = std::move(stop)] { run(*options, stop); });
}

}  // namespace inferoscope::cli
