// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cli/arguments.h"
#include "core/cli/commands.h"
#include "core/cli/output.h"
#include "core/error.h"
#include "core/model/model_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace inferoscope::cli {
namespace {

struct Options {
  std::string model;
  std::string text;
  std::string file;
  bool no_special = false;
  bool json = false;
};

void run(const Options& options) {
  const auto model = core::describeModel(options.model);
  if (!model->tokenizer) throw core::Error(fmt::format("{}: {}", options.model, model->notices.back()));
  const core::Tokenizer& tokenizer = *model->tokenizer;
  const std::string text = options.file.empty() ? options.text : readFile("--file", options.file);
  const bool special = !options.no_special;
  const std::vector<core::TokenId> ids = tokenizer.encode(text, {.add_bos = special, .parse_special = special});
  // The text alone, without the token that is put before it.
  const std::string again =
      tokenizer.decode(tokenizer.encode(text, {.add_bos = false, .parse_special = special}), /*show_special=*/true);
  if (options.json) {
    printJson({{"ids", ids}, {"text", again}});
  } else {
    print(fmt::format("{}\n{}\n", fmt::join(ids, " "), again));
  }
}

}  // namespace

void addTokenizeCommand(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App& command = *program.add_subcommand("tokenize", "Text to token ids, and back again");
  addModel(command, options->model);
  CLI::Option_group& input = *command.add_option_group("Text");
  input.add_option("--text", options->text, "The text");
  input.add_option("--file", options->file, "The file that holds it");
  input.require_option(1);
  command.add_flag("--no-special", options->no_special,
                   "Add no BOS, and take special tokens in the text as plain text");
  addJson(command, options->json);
  command.callback([options] { run(*options); });
}

}  // namespace inferoscope::cli
