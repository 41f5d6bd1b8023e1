// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/hf_config.h"

#include "core/error.h"
#include "core/model/architectures.h"
#include "core/model/storage.h"
#include "core/model/utf8.h"
#include "core/model/weights.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

namespace inferoscope::core {
namespace {

using nlohmann::json;

// model_type in the file, and the architecture that computes the same.
struct KnownType {
  std::string_view type, architecture;
};
constexpr std::array<KnownType, 4> kKnownTypes{
    {{"llama", "llama"}, {"mistral", "llama"}, {"qwen2", "qwen2"}, {"qwen3", "qwen3"}}};

struct KnownDtype {
  std::string_view dtype, format;
};
constexpr std::array<KnownDtype, 3> kKnownDtypes{{{"bfloat16", "bf16"}, {"float16", "f16"}, {"float32", "f32"}}};

// Limits that no model comes near: they keep every later product of two of them far from overflow.
constexpr int kMaxLayers = 1024;
constexpr int kMaxDim = 1 << 20;
constexpr int kMaxHeads = 4096;
constexpr int kMaxVocab = 1 << 24;
constexpr int kMaxContext = 1 << 30;
constexpr std::streamsize kMaxFileBytes = 1 << 20;

class HfConfig {
 public:
  explicit HfConfig(const std::filesystem::path& path) : m_file(path.string()) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error(fmt::format("{}: cannot be read: {}", m_file, std::strerror(errno)));
    std::string text(kMaxFileBytes, '\0');
    in.read(text.data(), kMaxFileBytes);
    text.resize(static_cast<std::size_t>(in.gcount()));
    m_values = json::parse(text, nullptr, false);
    if (!m_values.is_object()) throw Error(fmt::format("{}: is not a JSON object", m_file));
  }

  // Null counts as absent, as the writers of these files mean it.
  const json* find(const char* key) const {
    const auto found = m_values.find(key);
    return found == m_values.end() || found->is_null() ? nullptr : &*found;
  }
  int count(const char* key, int max, std::optional<int> otherwise = {}) const {
    const json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) fail(key, "is missing");
    if (!value->is_number_integer() || *value < 1 || *value > max) {
      fail(key, fmt::format("must be a whole number from 1 to {}", max));
    }
    return value->get<int>();
  }
  bool flag(const char* key, bool otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, "must be true or false");
    return value->get<bool>();
  }
  std::string text(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) fail(key, "must be a text");
    return value->get<std::string>();
  }
  [[noreturn]] void fail(const char* key, std::string_view what) const {
    throw Error(fmt::format("{}: {}: {}", m_file, key, what));
  }

 private:
  std::string m_file;
  json m_values;
};

const Architecture& architectureOf(const HfConfig& file) {
  const std::string type = file.text("model_type");
  std::string names;
  for (const KnownType& known : kKnownTypes) {
    if (type == known.type) return *findArchitecture(known.architecture);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.type);
  }
  file.fail("model_type", fmt::format("\"{}\" is not known; {} are", shown(type), names));
}

ModelConfig configOf(const HfConfig& file, const std::filesystem::path& path) {
  ModelConfig config;
  applyArchitecture(architectureOf(file), config);
  config.name = shown(path.parent_path().filename().string());
  if (config.name.empty()) config.name = config.architecture;
  config.num_layers = file.count("num_hidden_layers", kMaxLayers);
  config.model_dim = file.count("hidden_size", kMaxDim);
  config.hidden_dim = file.count("intermediate_size", kMaxDim);
  config.num_heads = file.count("num_attention_heads", kMaxHeads);
  config.num_kv_heads = file.count("num_key_value_heads", kMaxHeads, config.num_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    file.fail("num_key_value_heads",
              fmt::format("{} do not divide the {} query heads", config.num_kv_heads, config.num_heads));
  }
  if (file.find("head_dim") == nullptr && config.model_dim % config.num_heads != 0) {
    file.fail("num_attention_heads",
              fmt::format("{} heads do not divide hidden_size {}", config.num_heads, config.model_dim));
  }
  config.head_dim = file.count("head_dim", kMaxHeads, std::max(1, config.model_dim / config.num_heads));
  config.rope_dim = config.head_dim;
  config.vocab_size = config.num_tokens = file.count("vocab_size", kMaxVocab);
  config.context_length = file.count("max_position_embeddings", kMaxContext, 2048);
  config.tied_embeddings = file.flag("tie_word_embeddings", false);
  return config;
}

const kernels::Format& storedFormat(const HfConfig& file, std::string_view asked, Model& model) {
  if (!asked.empty()) {
    const kernels::Format* format = kernels::findFormat(asked);
    if (format == nullptr) throw Error(fmt::format("--format: there is no format \"{}\"", asked));
    return *format;
  }
  if (file.find("quantization_config") != nullptr) {
    file.fail("quantization_config", "how these weights are stored is not known; say --format F to count them as F");
  }
  std::string dtype = file.text("torch_dtype");
  if (dtype.empty()) dtype = file.text("dtype");
  if (dtype.empty()) {
    model.notices.push_back("the file does not say how weights are stored (torch_dtype): they are counted as bf16");
    dtype = "bfloat16";
  }
  for (const KnownDtype& known : kKnownDtypes) {
    if (dtype == known.dtype) return *kernels::findFormat(known.format);
  }
  file.fail("torch_dtype", fmt::format("\"{}\" is not known; bfloat16, float16, float32 are", shown(dtype)));
}

// What costs time and is not counted.
void addNotices(const HfConfig& file, Model& model) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (file.flag(key, false)) model.notices.push_back(fmt::format("{}: biases are not counted", key));
  }
  if (file.find("sliding_window") != nullptr && file.flag("use_sliding_window", true)) {
    model.notices.push_back(fmt::format("attention is counted over all cached tokens, not over a window of {}",
                                        file.count("sliding_window", kMaxContext)));
  }
}

std::vector<PlacedWeight> weightsIn(const kernels::Format& wanted, Model& model) {
  std::vector<PlacedWeight> weights;
  std::vector<StoredMatrix> matrices;
  for (const WeightSlot& slot : weightSlots(model)) {
    const kernels::Format* format =
        slot.matrix != nullptr ? &formatThatHolds(wanted, slot.num_cols) : kernels::findFormat("f32");
    if (slot.matrix != nullptr) matrices.push_back({slot.name, format});
    weights.push_back({.slot = slot, .format = format});
  }
  for (std::string& notice : otherwiseStored(matrices, wanted)) model.notices.push_back(std::move(notice));
  return weights;
}

}  // namespace

std::shared_ptr<const Model> describeHfConfig(const std::filesystem::path& path, std::string_view format) {
  const HfConfig file(path);
  const auto model = std::make_shared<Model>();
  model->source = path.string();
  model->config = configOf(file, path);
  std::vector<PlacedWeight> weights = weightsIn(storedFormat(file, format, *model), *model);
  addNotices(file, *model);
  placeWeights(weights, nullptr);
  for (const PlacedWeight& weight : weights) {
    model->format_bytes[std::string(weight.format->name)] += static_cast<std::int64_t>(weight.bytes);
    model->weight_bytes += static_cast<std::int64_t>(weight.bytes);
  }
  bindWeights(*model, weights, nullptr);
  return model;
}

}  // namespace inferoscope::core
