// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/gguf_model.h"

#include "core/error.h"
#include "core/model/bpe_tokenizer.h"
#include "core/model/config_reader.h"
#include "core/model/gguf.h"
#include "core/model/read_ahead.h"
#include "core/model/spm_tokenizer.h"
#include "core/model/utf8.h"
#include "core/model/weights.h"

#include <fmt/format.h>
#include <algorithm>
#include <set>

namespace inferoscope::core {
namespace {

const GgufTensor& checkedTensor(const GgufFile& file, const WeightSlot& slot) {
  const GgufTensor* tensor = file.findTensor(slot.name);
  if (!tensor) throw Error(fmt::format("{}: tensor {}: is missing", file.name(), slot.name));
  std::vector<std::int64_t> expected{slot.num_cols};
  if (slot.matrix) expected.push_back(slot.num_rows);
  if (tensor->dims != expected) {
    throw Error(fmt::format("{}: tensor {}: has the shape {}, but this model needs {} (its data is at byte {})",
                            file.name(), slot.name, shownDims(tensor->dims), shownDims(expected), tensor->position));
  }
  return *tensor;
}

// Tensors that nothing asks for are worth a notice, unless they would have changed the result.
void checkExtraTensors(const GgufFile& file, const std::vector<WeightSlot>& slots, std::string_view architecture,
                       std::vector<std::string>& notices) {
  std::set<std::string_view> known;
  for (const WeightSlot& slot : slots) known.insert(slot.name);
  known.insert(kRopeFactorsTensor);
  std::vector<std::string> extra;
  for (const GgufTensor& tensor : file.tensors()) {
    if (known.contains(tensor.name)) continue;
    if (tensor.name.ends_with(".bias") || tensor.name.ends_with("_norm.weight")) {
      throw Error(fmt::format("{}: tensor {}: biases and norms beyond those of {} are not supported", file.name(),
                              shown(tensor.name), architecture));
    }
    extra.push_back(shown(tensor.name));
  }
  if (extra.size() == 1) notices.push_back(fmt::format("tensor {} is not used", extra[0]));
  if (extra.size() > 1) notices.push_back(fmt::format("{} tensors are not used: {}, ...", extra.size(), extra[0]));
}

// Norms and biases are read as f32 by every kernel, however they are stored.
std::vector<PlacedWeight> weightsAsKept(const GgufFile& file, const std::vector<WeightSlot>& slots) {
  std::vector<PlacedWeight> weights;
  for (const WeightSlot& slot : slots) {
    const kernels::Format* stored = kernels::findFormat(checkedTensor(file, slot).format);
    weights.push_back({slot, slot.vector ? kernels::findFormat("f32") : stored});
  }
  return weights;
}

void addStoredBytes(const GgufTensor& tensor, Model& model) {
  model.format_bytes[std::string(kernels::formatOf(tensor.format).name)] += tensor.bytes;
  model.weight_bytes += tensor.bytes;
}

// A part of a weight on its way from the file to the device: some rows of a matrix, or all of what must be decoded.
struct Part {
  const PlacedWeight* weight;
  const GgufTensor* tensor;
  int first_row;
  std::size_t bytes;

  bool isDecoded() const { return tensor->format != weight->format->id; }
  ReadAhead::Piece piece() const {
    const std::size_t row_bytes = weight->bytes / static_cast<std::size_t>(weight->slot.num_rows);
    return {tensor, static_cast<std::uint64_t>(first_row) * row_bytes, bytes};
  }
};

std::vector<Part> partsOf(const GgufFile& file, const std::vector<PlacedWeight>& weights) {
  constexpr std::size_t kPartBytes = 1 << 20;  // stays in a core's cache between the read and the upload
  std::vector<Part> parts;
  for (const PlacedWeight& weight : weights) {
    const GgufTensor& tensor = *file.findTensor(weight.slot.name);
    const Part whole{&weight, &tensor, 0, static_cast<std::size_t>(tensor.bytes)};
    if (whole.isDecoded()) {
      parts.push_back(whole);
      continue;
    }
    const int num_rows = weight.slot.num_rows;
    const std::size_t row_bytes = weight.bytes / static_cast<std::size_t>(num_rows);
    const int most_rows =
        std::max(1, static_cast<int>(kPartBytes / row_bytes) / Backend::kUploadRows) * Backend::kUploadRows;
    for (int row = 0; row < num_rows; row += most_rows) {
      const auto rows = static_cast<std::size_t>(std::min(most_rows, num_rows - row));
      parts.push_back({&weight, &tensor, row, rows * row_bytes});
    }
  }
  return parts;
}

void upload(const Part& part, std::span<const std::byte> stored, Backend& backend, Buffer& to) {
  if (!part.isDecoded()) {
    return backend.uploadRows(to, part.weight->offset, part.weight->matrix(), part.first_row, stored);
  }
  std::vector<float> values(static_cast<std::size_t>(part.tensor->dims[0]));
  kernels::formatOf(part.tensor->format).decode(stored.data(), values.data(), part.tensor->dims[0]);
  backend.upload(to, part.weight->offset, std::as_bytes(std::span(values)));
}

// Copies weights from a file to a device: while a part is uploaded, the next one is read.
void copyWeights(const GgufFile& file, const std::vector<PlacedWeight>& weights, Backend& backend, Buffer& to,
                 std::int64_t total_bytes, const LoadProgress& progress, const std::stop_token& stop) {
  const std::vector<Part> parts = partsOf(file, weights);
  std::vector<ReadAhead::Piece> pieces;
  for (const Part& part : parts) pieces.push_back(part.piece());
  ReadAhead reader(file, std::move(pieces));
  std::size_t done_bytes = 0;
  for (const Part& part : parts) {
    upload(part, reader.next(), backend, to);
    if (stop.stop_requested()) throw Cancelled();
    done_bytes += part.bytes;
    if (progress) progress("copying weights", static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  }
}

std::shared_ptr<const Tokenizer> tokenizerOf(const GgufMetadata& metadata, std::vector<std::string>& notices) {
  constexpr std::string_view kModel = "tokenizer.ggml.model";
  const std::string_view kind = metadata.required(kModel, metadata.text(kModel));
  if (kind == "gpt2") return readBpeTokenizer(metadata, notices);
  if (kind == "llama") return readSpmTokenizer(metadata, notices);
  metadata.fail(kModel, fmt::format("tokenizer \"{}\" is not supported (gpt2 and llama are)", shown(kind)));
}

void readTokenizer(const GgufFile& file, Model& model) {
  auto tokenizer = tokenizerOf(file.metadata(), model.notices);
  model.config.num_tokens = tokenizer->numTokens();
  if (model.config.num_tokens > model.config.vocab_size) {
    file.metadata().fail("tokenizer.ggml.tokens",
                         fmt::format("the tokenizer has {} tokens, but token_embd.weight has only {} rows",
                                     model.config.num_tokens, model.config.vocab_size));
  }
  const auto text = file.metadata().text("tokenizer.chat_template");
  const auto shown_text = [&](TokenId id) { return tokenizer->bytes(id, /*show_special=*/true); };
  const std::string bos = shown_text(tokenizer->bos()), eos = shown_text(tokenizer->eos());
  model.chat = recogniseChatTemplate(text.value_or(""), {bos, eos}, model.notices);
  model.tokenizer = std::move(tokenizer);
}

// A model that can't run is still described: its tensors, and its texts if we know its tokenizer.
void describeOnly(const GgufFile& file, Model& model) {
  model.notices.push_back(fmt::format("{}: it can be described, not run", model.config.unsupported));
  for (const GgufTensor& tensor : file.tensors()) addStoredBytes(tensor, model);
  try {
    readTokenizer(file, model);
  } catch (const Error& error) {
    model.notices.emplace_back(error.what());
  }
}

}  // namespace

std::shared_ptr<const Model> loadGgufModel(const std::filesystem::path& path, Backend* backend,
                                           const LoadProgress& progress, std::stop_token stop) {
  if (progress) progress("reading the header", 0.0);
  const GgufFile file = GgufFile::open(path);
  const auto model = std::make_shared<Model>();
  model->source = path.string();
  model->config = readConfig(file);
  if (!model->config.unsupported.empty()) {
    if (backend) throw Error(fmt::format("{}: {}", file.name(), model->config.unsupported));
    describeOnly(file, *model);
    return model;
  }
  const std::vector<WeightSlot> slots = weightSlots(*model);
  std::vector<PlacedWeight> weights = weightsAsKept(file, slots);
  checkExtraTensors(file, slots, model->config.architecture, model->notices);
  readTokenizer(file, *model);
  for (const WeightSlot& slot : slots) addStoredBytes(*file.findTensor(slot.name), *model);
  if (const GgufTensor* factors = file.findTensor(kRopeFactorsTensor)) addStoredBytes(*factors, *model);
  const std::size_t memory_bytes = placeWeights(weights, backend);
  std::shared_ptr<Buffer> memory;
  if (backend) {
    memory = backend->allocate(memory_bytes, fmt::format("the weights of {}", model->config.name));
    copyWeights(file, weights, *backend, *memory, model->weight_bytes, progress, stop);
    file.checkUnchanged();
  }
  bindWeights(*model, weights, std::move(memory));
  return model;
}

}  // namespace inferoscope::core
