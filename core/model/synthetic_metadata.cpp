// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/synthetic_metadata.h"

#include "core/model/byte_text.h"

#include <fmt/format.h>

namespace inferoscope::core {
namespace {

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

void addShape(const ModelConfig& config, GgufEntries& entries) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", config.architecture, name); };
  const auto count = [&](std::string_view name, int number) {
    entries[key(name)] = ggufUint32(static_cast<std::uint32_t>(number));
  };
  entries["general.architecture"] = ggufText(config.architecture);
  entries["general.name"] = ggufText(config.name);
  count("block_count", config.num_layers);
  count("context_length", config.context_length);
  count("embedding_length", config.model_dim);
  count("feed_forward_length", config.hidden_dim);
  count("attention.head_count", config.num_heads);
  count("attention.head_count_kv", config.num_kv_heads);
  count("attention.key_length", config.head_dim);
  count("attention.value_length", config.head_dim);
  count("rope.dimension_count", config.rope_dim);
  count("vocab_size", config.vocab_size);
  entries[key("rope.freq_base")] = ggufFloat32(static_cast<float>(config.rope_freq_base));
  entries[key("attention.layer_norm_rms_epsilon")] = ggufFloat32(config.norm_epsilon);
}

// A byte-level vocabulary without merges: a text is then its bytes, as the synthetic tokenizer has it.
void addTokenizer(const Tokenizer& tokenizer, GgufEntries& entries) {
  constexpr std::int32_t kNormal = 1, kControl = 3;
  const ByteText byte_text;
  StringList tokens;
  std::vector<std::int32_t> types;
  for (TokenId id = 0; id < tokenizer.numTokens(); ++id) {
    const bool is_mark = tokenizer.bytes(id, false).empty();
    const std::string bytes = tokenizer.bytes(id, true);
    tokens.add(is_mark ? bytes : byte_text.fromBytes(bytes));
    types.push_back(is_mark ? kControl : kNormal);
  }
  entries["tokenizer.ggml.model"] = ggufText("gpt2");
  entries["tokenizer.ggml.pre"] = ggufText("gpt-2");
  entries["tokenizer.ggml.tokens"] = ggufTexts(std::move(tokens));
  entries["tokenizer.ggml.token_type"] = ggufInt32s(types);
  entries["tokenizer.ggml.merges"] = ggufTexts({});
  entries["tokenizer.ggml.bos_token_id"] = ggufUint32(static_cast<std::uint32_t>(tokenizer.bos()));
  entries["tokenizer.ggml.eos_token_id"] = ggufUint32(static_cast<std::uint32_t>(tokenizer.eos()));
  entries["tokenizer.ggml.add_bos_token"] = ggufFlag(false);
}

}  // namespace

GgufEntries syntheticMetadata(const Model& model) {
  GgufEntries entries;
  addShape(model.config, entries);
  addTokenizer(*model.tokenizer, entries);
  entries["tokenizer.chat_template"] = ggufText(std::string(kChatMl));
  return entries;
}

}  // namespace inferoscope::core
