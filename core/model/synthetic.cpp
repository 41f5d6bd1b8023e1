// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/synthetic.h"

#include "core/error.h"
#include "core/model/architectures.h"
#include "core/model/random_weights.h"
#include "core/model/storage.h"
#include "core/model/synthetic_tokenizer.h"
#include "core/model/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>

namespace inferoscope::core {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::string_view kDefaultFormat = "f16";

struct Shape {
  std::string_view name, architecture;
  int num_layers, model_dim, hidden_dim, num_heads, num_kv_heads, head_dim, vocab_size, context_length;
  double rope_freq_base;
  bool tied_embeddings;
};

// From the published configurations of the models. The tiny ones are our own, for tests.
constexpr std::array<Shape, 9> kShapes{{
    {"tiny", "llama", 2, 64, 192, 4, 2, 16, 512, 2048, 10000.0, true},
    {"tiny-64", "llama", 2, 256, 512, 4, 2, 64, 512, 2048, 10000.0, true},
    {"tiny-qwen2", "qwen2", 2, 64, 192, 4, 2, 16, 512, 2048, 1000000.0, true},
    {"tiny-qwen3", "qwen3", 2, 64, 192, 4, 2, 32, 512, 2048, 1000000.0, true},
    {"smollm2-135m", "llama", 30, 576, 1536, 9, 3, 64, 49152, 8192, 100000.0, true},
    {"qwen2.5-0.5b", "qwen2", 24, 896, 4864, 14, 2, 64, 151936, 32768, 1000000.0, true},
    {"qwen3-0.6b", "qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 40960, 1000000.0, true},
    {"llama-3.2-1b", "llama", 16, 2048, 8192, 32, 8, 64, 128256, 131072, 500000.0, true},
    {"llama-3.1-8b", "llama", 32, 4096, 14336, 32, 8, 128, 128256, 131072, 500000.0, false},
}};

struct Request {
  const Shape* shape;
  const kernels::Format* format;
};

Request parse(const std::string& source) {
  const std::string_view rest = std::string_view(source).substr(kPrefix.size());
  const std::size_t colon = rest.find(':');
  const std::string_view name = rest.substr(0, colon);
  const std::string_view format_name = colon == std::string_view::npos ? kDefaultFormat : rest.substr(colon + 1);
  const auto shape = std::ranges::find(kShapes, name, &Shape::name);
  if (shape == kShapes.end()) {
    std::vector<std::string_view> names;
    for (const Shape& known : kShapes) names.push_back(known.name);
    throw Error(
        fmt::format("{}: there is no synthetic model of that name; there are {}", source, fmt::join(names, ", ")));
  }
  const kernels::Format* format = kernels::findFormat(format_name);
  if (!format) {
    std::vector<std::string_view> names;
    for (const kernels::Format& known : kernels::formats()) names.push_back(known.name);
    throw Error(fmt::format("{}: there is no format of that name; there are {}", source, fmt::join(names, ", ")));
  }
  return {&*shape, format};
}

ModelConfig configOf(const Shape& shape) {
  ModelConfig config;
  applyArchitecture(*findArchitecture(shape.architecture), config);
  config.name = fmt::format("{}{}", kPrefix, shape.name);
  config.num_layers = shape.num_layers;
  config.model_dim = shape.model_dim;
  config.hidden_dim = shape.hidden_dim;
  config.num_heads = shape.num_heads;
  config.num_kv_heads = shape.num_kv_heads;
  config.head_dim = shape.head_dim;
  config.vocab_size = shape.vocab_size;
  config.num_tokens = shape.vocab_size;
  config.context_length = shape.context_length;
  config.rope_dim = shape.head_dim;
  config.rope_freq_base = shape.rope_freq_base;
  config.tied_embeddings = shape.tied_embeddings;
  config.random_weights = true;
  return config;
}

std::vector<PlacedWeight> weightsIn(const kernels::Format& wanted, Model& model) {
  std::vector<PlacedWeight> weights;
  std::vector<StoredMatrix> matrices;
  for (const WeightSlot& slot : weightSlots(model)) {
    const kernels::Format* format = slot.vector ? kernels::findFormat("f32") : &formatThatHolds(wanted, slot.num_cols);
    weights.push_back({slot, format});
    if (slot.matrix) matrices.push_back({slot.name, format});
  }
  std::ranges::move(otherwiseStored(matrices, wanted), std::back_inserter(model.notices));
  return weights;
}

constexpr float kVectorDeviation = 0.2F;  // of norms, around 1, and of biases, around 0: enough to be missed

// The standard deviation of a matrix's elements. With 1 / sqrt(num_cols) a product keeps the size of its input. The
// output is a little larger: logits then have a standard deviation of about 3, so that sampling has favourites and no
// certainties.
float deviationOf(const PlacedWeight& weight, const Model& model) {
  const bool gives_logits = weight.slot.matrix == &model.output ||
                            (model.config.tied_embeddings && weight.slot.matrix == &model.token_embedding);
  return (gives_logits ? 3.0F : 1.0F) / std::sqrt(static_cast<float>(weight.slot.num_cols));
}

void fill(const std::vector<PlacedWeight>& weights, const Model& model, Backend& backend, Buffer& memory,
          const LoadProgress& progress, const std::stop_token& stop) {
  RandomWeights random(backend, memory);
  std::int64_t done_bytes = 0;
  const auto advance = [&](std::size_t bytes) {
    if (stop.stop_requested()) throw Cancelled();
    done_bytes += static_cast<std::int64_t>(bytes);
    if (progress) {
      progress("making random weights", static_cast<double>(done_bytes) / static_cast<double>(model.weight_bytes));
    }
  };
  for (const PlacedWeight& weight : weights) {
    if (weight.slot.vector) {
      const bool is_bias = weight.slot.name.ends_with(".bias");
      random.fillVector(weight, is_bias ? 0.0F : 1.0F, kVectorDeviation);
      advance(weight.bytes);
    } else {
      random.fill(weight, deviationOf(weight, model), advance);
    }
  }
}

}  // namespace

bool isSynthetic(std::string_view source) {
  return source.starts_with(kPrefix);
}

std::shared_ptr<const Model> makeSyntheticModel(const std::string& source, Backend* backend,
                                                const LoadProgress& progress, std::stop_token stop) {
  const Request request = parse(source);
  const auto model = std::make_shared<Model>();
  model->source = source;
  model->config = configOf(*request.shape);
  model->tokenizer = makeSyntheticTokenizer(model->config.vocab_size);
  model->chat.family = ChatFamily::kChatMl;
  model->notices.push_back("random weights: this model has the shape of a real one, but what it says means nothing");
  std::vector<PlacedWeight> weights = weightsIn(*request.format, *model);
  const std::size_t memory_bytes = placeWeights(weights, backend);
  for (const PlacedWeight& weight : weights) {
    model->format_bytes[std::string(weight.format->name)] += static_cast<std::int64_t>(weight.bytes);
    model->weight_bytes += static_cast<std::int64_t>(weight.bytes);
  }
  std::shared_ptr<Buffer> memory;
  if (backend) {
    memory = backend->allocate(memory_bytes, fmt::format("the weights of {}", source));
    fill(weights, *model, *backend, *memory, progress, stop);
  }
  bindWeights(*model, weights, std::move(memory));
  return model;
}

}  // namespace inferoscope::core
