// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/model/model_store.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  bool json = false;
};

nlohmann::ordered_json describe(const core::Model& model) {
  const core::ModelConfig& config = model.config;
  return {{"architecture", config.architecture},
          {"name", config.name},
          {"num_layers", config.num_layers},
          {"model_dim", config.model_dim},
          {"num_heads", config.num_heads},
          {"num_kv_heads", config.num_kv_heads},
          {"head_dim", config.head_dim},
          {"hidden_dim", config.hidden_dim},
          {"vocab_size", config.vocab_size},
          {"context_length", config.context_length},
          {"tokenizer", model.tokenizer ? model.tokenizer->kind() : ""},
          {"pre_tokenizer", model.tokenizer ? model.tokenizer->preTokenizer() : ""},
          {"formats", model.format_bytes},
          {"weight_bytes", model.weight_bytes},
          {"kv_bytes_per_token", core::kvBytesPerToken(config, core::EngineOptions{}.kv_format)},
          {"notices", model.notices}};
}

std::string tokenizerText(const core::Model& model) {
  if (!model.tokenizer) return "an unknown tokenizer";
  const std::string_view rule = model.tokenizer->preTokenizer();
  return fmt::format("{} tokenizer{}{}", model.tokenizer->kind(), rule.empty() ? "" : ", pre-split rule ", rule);
}

void printText(const core::Model& model) {
  const core::ModelConfig& config = model.config;
  print(fmt::format("{}, architecture {}\n", config.name, config.architecture));
  print(fmt::format("  layers            {}\n", config.num_layers));
  print(fmt::format("  model dim         {}, hidden {}\n", config.model_dim, config.hidden_dim));
  print(fmt::format("  heads             {} of {}, {} for keys and values\n", config.num_heads, config.head_dim,
                    config.num_kv_heads));
  print(fmt::format("  context           {} tokens\n", config.context_length));
  print(fmt::format("  vocabulary        {}, {}\n", config.vocab_size, tokenizerText(model)));
  print(fmt::format("  weights           {:.1f} MB{}\n", double(model.weight_bytes) / 1e6,
                    config.tied_embeddings ? ", the embedding counted once" : ""));
  for (const auto& [format, bytes] : model.format_bytes)
    print(fmt::format("    {:<15} {:.1f} MB\n", format, double(bytes) / 1e6));
  const core::EngineOptions defaults;
  print(fmt::format("  KV cache          {} bytes a token in {}\n", core::kvBytesPerToken(config, defaults.kv_format),
                    defaults.kv_format));
  for (const std::string& notice : model.notices) print(fmt::format("  notice: {}\n", notice));
}

void run(const Options& options) {
  const auto model = core::describeModel(options.model);
  if (options.json) {
    printJson(describe(*model));
  } else {
    printText(*model);
  }
}

}  // namespace

void addInfoCommand(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("info", "What a model is: shape, formats, bytes, notices");
  addModel(command, options->model);
  addJson(command, options->json);
  command.callback([options] { run(*options); });
}

}  // namespace inferoscope::cli
