// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/tiny_model.h"

#include "kernels/format.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

namespace inferoscope::tests {
namespace {

constexpr int kNumLayers = 2, kNumHeads = 4, kNumKvHeads = 2;
constexpr int kDim = 256;  // a whole block of every format
constexpr std::uint32_t kAlignment = 32;

// The little-endian parts of a GGUF file.
class Bytes {
 public:
  template <class Number>
  Bytes& number(Number value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    m_bytes.append(raw, sizeof value);
    return *this;
  }
  Bytes& text(std::string_view value) {
    number<std::uint64_t>(value.size());
    m_bytes += value;
    return *this;
  }
  void pad() { m_bytes.resize((m_bytes.size() + kAlignment - 1) / kAlignment * kAlignment); }
  const std::string& bytes() const { return m_bytes; }
  Bytes& operator+=(std::string_view more) {
    m_bytes += more;
    return *this;
  }

 private:
  std::string m_bytes;
};

class File {
 public:
  void add(std::string_view key, std::uint32_t value) { entry(key, 4).number(value); }
  void add(std::string_view key, float value) { entry(key, 6).number(value); }
  void add(std::string_view key, std::string_view value) { entry(key, 8).text(value); }
  void add(std::string_view key, const std::vector<std::string>& values) {
    entry(key, 9).number<std::uint32_t>(8).number<std::uint64_t>(values.size());
    for (const std::string& value : values) m_metadata.text(value);
  }

  void addTensor(std::string_view name, const kernels::Format& format, const std::vector<float>& values, int num_cols,
                 bool is_matrix) {
    const auto num_elems = static_cast<std::int64_t>(values.size());
    m_tensors.text(name)
        .number<std::uint32_t>(is_matrix ? 2 : 1)
        .number<std::uint64_t>(static_cast<std::uint64_t>(num_cols));
    if (is_matrix) m_tensors.number(static_cast<std::uint64_t>(num_elems / num_cols));
    m_data.pad();
    m_tensors.number(static_cast<std::uint32_t>(format.id)).number<std::uint64_t>(m_data.bytes().size());
    std::string stored(static_cast<std::size_t>(kernels::storedBytes(format, num_elems)), '\0');
    format.encode(values.data(), reinterpret_cast<std::byte*>(stored.data()), num_elems);
    m_data += stored;
    ++m_num_tensors;
  }

  void write(const std::string& path) const {
    Bytes file;
    file += "GGUF";
    file.number<std::uint32_t>(3).number(m_num_tensors).number(m_num_entries);
    file += m_metadata.bytes();
    file += m_tensors.bytes();
    file.pad();
    file += m_data.bytes();
    std::ofstream(path, std::ios::binary) << file.bytes();
  }

 private:
  Bytes& entry(std::string_view key, std::uint32_t type) {
    ++m_num_entries;
    return m_metadata.text(key).number(type);
  }

  Bytes m_metadata, m_tensors, m_data;
  std::uint64_t m_num_entries = 0, m_num_tensors = 0;
};

void addTokenizer(File& file) {
  std::vector<std::string> tokens;
  for (int c = 0x21; c < 0x7F; ++c) tokens.emplace_back(1, static_cast<char>(c));
  tokens.insert(tokens.end(), {"\xC4\xA0", "\xC4\x8A"});  // space and newline, as byte-level BPE writes them
  file.add("tokenizer.ggml.model", "gpt2");
  file.add("tokenizer.ggml.pre", "gpt-2");
  file.add("tokenizer.ggml.tokens", tokens);
  file.add("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
}

}  // namespace

void writeTinyModel(const TinyModel& model, const std::string& path) {
  const kernels::Format* format = kernels::findFormat(model.format);
  const kernels::Format& f32 = *kernels::findFormat("f32");
  if (!format) throw std::runtime_error("no format " + model.format);

  File file;
  const auto key = [&](const char* name) { return model.architecture + "." + name; };
  file.add("general.architecture", model.architecture);
  file.add(key("block_count"), std::uint32_t{kNumLayers});
  file.add(key("context_length"), std::uint32_t{512});
  file.add(key("embedding_length"), std::uint32_t{kDim});
  file.add(key("feed_forward_length"), std::uint32_t{kDim});
  file.add(key("attention.head_count"), std::uint32_t{kNumHeads});
  file.add(key("attention.head_count_kv"), std::uint32_t{kNumKvHeads});
  file.add(key("attention.key_length"), static_cast<std::uint32_t>(model.head_dim));
  file.add(key("attention.layer_norm_rms_epsilon"), 1e-6F);
  file.add(key("rope.freq_base"), 10000.0F);
  if (model.linear_scaling > 0) {
    file.add(key("rope.scaling.type"), "linear");
    file.add(key("rope.scaling.factor"), static_cast<float>(model.linear_scaling));
  }
  addTokenizer(file);

  std::mt19937 random(7);  // its numbers are the same everywhere, unlike those of the distributions
  const auto values = [&](int count, double mean, double deviation) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float& number : numbers) {
      const double uniform = static_cast<double>(random()) / 4294967296.0 - 0.5;
      number = static_cast<float>(mean + uniform * std::sqrt(12.0) * deviation);
    }
    return numbers;
  };
  const auto matrix = [&](const std::string& name, int num_rows, int num_cols, double gain) {
    file.addTensor(name + ".weight", *format, values(num_rows * num_cols, 0, gain / std::sqrt(num_cols)), num_cols,
                   true);
  };
  const auto vector = [&](const std::string& name, int size, double mean) {
    file.addTensor(name, f32, values(size, mean, 0.3), size, false);
  };

  const int q_dim = kNumHeads * model.head_dim, kv_dim = kNumKvHeads * model.head_dim;
  matrix("token_embd", kTinyModelTokens, kDim, 4);
  if (!model.rope_factors.empty()) {
    file.addTensor("rope_freqs.weight", f32, model.rope_factors, static_cast<int>(model.rope_factors.size()), false);
  }
  for (int layer = 0; layer < kNumLayers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    vector(block + "attn_norm.weight", kDim, 1);
    matrix(block + "attn_q", q_dim, kDim, 1.5);
    matrix(block + "attn_k", kv_dim, kDim, 1.5);
    matrix(block + "attn_v", kv_dim, kDim, 1);
    if (model.architecture == "qwen2") {
      vector(block + "attn_q.bias", q_dim, 0);
      vector(block + "attn_k.bias", kv_dim, 0);
      vector(block + "attn_v.bias", kv_dim, 0);
    }
    if (model.architecture == "qwen3") {
      vector(block + "attn_q_norm.weight", model.head_dim, 1);
      vector(block + "attn_k_norm.weight", model.head_dim, 1);
    }
    matrix(block + "attn_output", kDim, q_dim, 1);
    vector(block + "ffn_norm.weight", kDim, 1);
    matrix(block + "ffn_gate", kDim, kDim, 1);
    matrix(block + "ffn_up", kDim, kDim, 1);
    matrix(block + "ffn_down", kDim, kDim, 1);
  }
  vector("output_norm.weight", kDim, 1);
  if (!model.tied) matrix("output", kTinyModelTokens, kDim, 4);
  file.write(path);
}

}  // namespace inferoscope::tests
