// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/config_reader.h"

#include "core/error.h"
#include "core/model/architectures.h"
#include "core/model/utf8.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace inferoscope::core {
namespace {

// Limits that no model of this kind comes near: they keep every later product of two of them far from overflow.
constexpr int kMaxLayers = 1024;
constexpr int kMaxDim = 1 << 20;
constexpr int kMaxHeads = 4096;
constexpr int kMaxHeadDim = 4096;
constexpr int kMaxVocab = 1 << 24;
constexpr int kMaxContext = 1 << 30;

// Keys of one architecture: "llama.block_count" for "block_count".
class ConfigKeys {
 public:
  ConfigKeys(const GgufMetadata& metadata, std::string architecture)
      : m_metadata(metadata), m_architecture(std::move(architecture)) {}

  std::string full(std::string_view key) const { return fmt::format("{}.{}", m_architecture, key); }

  int count(std::string_view key, int max) const {
    const std::string k = full(key);
    return checked(k, m_metadata.required(k, m_metadata.integer(k)), max);
  }

  int count(std::string_view key, int max, int otherwise) const {
    const std::string k = full(key);
    const auto value = m_metadata.integer(k);
    return value ? checked(k, *value, max) : otherwise;
  }

  // 0 where there is no such count, or none a model of this kind could have.
  int countIfSane(std::string_view key, int max) const {
    const auto values = m_metadata.integers(full(key));
    const bool is_sane = values && !values->empty() && values->front() >= 1 && values->front() <= max;
    return is_sane ? static_cast<int>(values->front()) : 0;
  }

  // A scalar, or an array with one equal value a layer.
  std::optional<int> perLayer(std::string_view key, int max, int num_layers) const {
    const std::string k = full(key);
    const auto values = m_metadata.integers(k);
    if (!values) return {};
    const bool is_array = m_metadata.find(k)->type == GgufType::kArray;
    if (is_array && values->size() != static_cast<std::size_t>(num_layers)) {
      m_metadata.fail(k, fmt::format("has {} values for {} layers", values->size(), num_layers));
    }
    for (const std::int64_t value : *values) checked(k, value, max);
    if (std::ranges::adjacent_find(*values, std::ranges::not_equal_to{}) != values->end()) {
      m_metadata.fail(k, "layers of different shapes are not supported");
    }
    return static_cast<int>(values->front());
  }

  double positive(std::string_view key, double otherwise) const {
    const std::string k = full(key);
    const double value = m_metadata.number(k).value_or(otherwise);
    if (!std::isfinite(value) || value <= 0) m_metadata.fail(k, fmt::format("is {}; it must be above 0", value));
    return value;
  }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const { m_metadata.fail(full(key), what); }

 private:
  int checked(const std::string& key, std::int64_t value, int max) const {
    if (value < 1 || value > max) m_metadata.fail(key, fmt::format("is {}; it must be from 1 to {}", value, max));
    return static_cast<int>(value);
  }

  const GgufMetadata& m_metadata;
  std::string m_architecture;
};

// What a model may ask for that forward() doesn't do, by name; empty: nothing.
std::string unsupportedFeature(const GgufMetadata& metadata, const ConfigKeys& keys) {
  if (metadata.integer(keys.full("expert_count")).value_or(0) != 0) {
    return fmt::format("key {}: mixtures of experts are not supported", keys.full("expert_count"));
  }
  const std::string_view scaling = metadata.text(keys.full("rope.scaling.type")).value_or("none");
  if (scaling != "none" && scaling != "linear") {
    return fmt::format("key {}: RoPE scaling \"{}\" is not supported (linear is)", keys.full("rope.scaling.type"),
                       shown(scaling));
  }
  if (metadata.number(keys.full("rope.scaling.attn_factor")).value_or(1.0) != 1.0) {
    return fmt::format("key {}: is not supported", keys.full("rope.scaling.attn_factor"));
  }
  return {};
}

// The linear factor has two names, the second one older. Without a type it counts all the same; "none" turns it off.
double readRopeScale(const GgufMetadata& metadata, const ConfigKeys& keys) {
  if (metadata.text(keys.full("rope.scaling.type")).value_or("linear") == "none") return 1.0;
  return keys.positive("rope.scaling.factor", keys.positive("rope.scale_linear", 1.0));
}

// One factor a frequency, as the files of Llama 3 carry them.
std::vector<float> readRopeFactors(const GgufFile& file, int rope_dim) {
  const GgufTensor* tensor = file.findTensor(kRopeFactorsTensor);
  if (!tensor) return {};
  if (tensor->dims != std::vector<std::int64_t>{rope_dim / 2}) {
    throw Error(fmt::format("{}: tensor {}: has the shape {}, but this model needs [{}]", file.name(),
                            kRopeFactorsTensor, shownDims(tensor->dims), rope_dim / 2));
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(tensor->bytes));
  std::vector<float> factors(static_cast<std::size_t>(rope_dim / 2));
  file.read(*tensor, 0, stored);
  kernels::formatOf(tensor->format).decode(stored.data(), factors.data(), rope_dim / 2);
  for (const float factor : factors) {
    if (!std::isfinite(factor) || factor <= 0) {
      throw Error(
          fmt::format("{}: tensor {}: has the value {}; it must be above 0", file.name(), kRopeFactorsTensor, factor));
    }
  }
  return factors;
}

// What can be told of a model that can't run. Nothing must be there; what is missing or odd stays 0.
void describeOnly(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config) {
  config.num_layers = keys.countIfSane("block_count", kMaxLayers);
  config.model_dim = keys.countIfSane("embedding_length", kMaxDim);
  config.context_length = keys.countIfSane("context_length", kMaxContext);
  config.hidden_dim = keys.countIfSane("feed_forward_length", kMaxDim);
  config.num_heads = keys.countIfSane("attention.head_count", kMaxHeads);
  config.num_kv_heads = keys.countIfSane("attention.head_count_kv", kMaxHeads);
  if (config.num_kv_heads == 0) config.num_kv_heads = config.num_heads;
  config.head_dim = keys.countIfSane("attention.key_length", kMaxHeadDim);
  if (config.head_dim == 0 && config.num_heads > 0) config.head_dim = config.model_dim / config.num_heads;
  if (const GgufTensor* embedding = file.findTensor("token_embd.weight")) {
    if (embedding->dims.size() == 2 && embedding->dims[1] <= kMaxVocab) {
      config.vocab_size = static_cast<int>(embedding->dims[1]);
    }
  }
  config.tied_embeddings = !file.findTensor("output.weight");
}

void readHeads(const ConfigKeys& keys, ModelConfig& config) {
  config.num_heads = keys.perLayer("attention.head_count", kMaxHeads, config.num_layers).value_or(0);
  if (config.num_heads == 0) keys.fail("attention.head_count", "is missing");
  config.num_kv_heads =
      keys.perLayer("attention.head_count_kv", kMaxHeads, config.num_layers).value_or(config.num_heads);
  if (config.num_heads % config.num_kv_heads != 0) {
    keys.fail("attention.head_count_kv", fmt::format("{} key-value heads do not divide the {} query heads",
                                                     config.num_kv_heads, config.num_heads));
  }
  config.head_dim = keys.count("attention.key_length", kMaxHeadDim, 0);
  if (config.head_dim == 0) {
    if (config.model_dim % config.num_heads != 0) {
      keys.fail("attention.head_count",
                fmt::format("{} heads do not divide the embedding length {}", config.num_heads, config.model_dim));
    }
    config.head_dim = config.model_dim / config.num_heads;
  }
  const int value_dim = keys.count("attention.value_length", kMaxHeadDim, config.head_dim);
  if (value_dim != config.head_dim) {
    keys.fail("attention.value_length",
              fmt::format("is {} where keys have {}: not supported", value_dim, config.head_dim));
  }
}

void readRope(const GgufFile& file, const ConfigKeys& keys, ModelConfig& config) {
  config.rope_dim = keys.count("rope.dimension_count", kMaxHeadDim, config.head_dim);
  if (config.rope_dim > config.head_dim || config.rope_dim % 2 != 0) {
    keys.fail("rope.dimension_count", fmt::format("is {}; it must be even and at most the {} elements of a head",
                                                  config.rope_dim, config.head_dim));
  }
  config.rope_freq_base = keys.positive("rope.freq_base", config.rope_freq_base);
  config.rope_scale = readRopeScale(file.metadata(), keys);
  config.rope_factors = readRopeFactors(file, config.rope_dim);
}

int readVocabSize(const GgufFile& file) {
  const GgufTensor* embedding = file.findTensor("token_embd.weight");
  if (!embedding) throw Error(fmt::format("{}: tensor token_embd.weight: is missing", file.name()));
  if (embedding->dims.size() != 2 || embedding->dims[1] > kMaxVocab) {
    throw Error(
        fmt::format("{}: tensor token_embd.weight: has the shape {}; [embedding length, vocabulary] is expected",
                    file.name(), shownDims(embedding->dims)));
  }
  return static_cast<int>(embedding->dims[1]);
}

}  // namespace

ModelConfig readConfig(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata();
  ModelConfig config;
  config.architecture = metadata.required("general.architecture", metadata.text("general.architecture"));
  config.name = shown(metadata.text("general.name").value_or(config.architecture));
  const ConfigKeys keys(metadata, config.architecture);
  const Architecture* architecture = findArchitecture(config.architecture);
  config.unsupported = architecture
                           ? unsupportedFeature(metadata, keys)
                           : fmt::format("key general.architecture: architecture \"{}\" is not supported ({} are)",
                                         shown(config.architecture), architectureNames());
  if (!config.unsupported.empty()) {
    describeOnly(file, keys, config);
    return config;
  }
  applyArchitecture(*architecture, config);
  config.num_layers = keys.count("block_count", kMaxLayers);
  config.model_dim = keys.count("embedding_length", kMaxDim);
  config.context_length = keys.count("context_length", kMaxContext);
  config.hidden_dim = keys.perLayer("feed_forward_length", kMaxDim, config.num_layers).value_or(0);
  if (config.hidden_dim == 0) keys.fail("feed_forward_length", "is missing");
  readHeads(keys, config);
  readRope(file, keys, config);
  config.norm_epsilon = static_cast<float>(keys.positive("attention.layer_norm_rms_epsilon", 1e-5));
  config.vocab_size = readVocabSize(file);
  config.tied_embeddings = !file.findTensor("output.weight");
  return config;
}

}  // namespace inferoscope::core
