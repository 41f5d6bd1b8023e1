// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace inferoscope::tests {
namespace {

Vector product(const Matrix& w, const Vector& x) {
  Vector out(static_cast<std::size_t>(w.num_rows));
  for (int row = 0; row < w.num_rows; ++row) {
    double sum = 0;
    for (int col = 0; col < w.num_cols; ++col)
      sum += w.values[static_cast<std::size_t>(row * w.num_cols + col)] * x[static_cast<std::size_t>(col)];
    out[static_cast<std::size_t>(row)] = sum;
  }
  return out;
}

void add(Vector& x, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

// x / rms(x) * weight, of `dim` elements in place.
void norm(double* x, const Vector& weight, double epsilon) {
  double squares = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) squares += x[i] * x[i];
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(weight.size()) + epsilon);
  for (std::size_t i = 0; i < weight.size(); ++i) x[i] *= scale * weight[i];
}

void softmax(Vector& scores) {
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

double dot(const double* a, const double* b, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

ReferenceModel::ReferenceModel(const std::string& path) : m_file(core::GgufFile::open(path)) {
  m_architecture = *m_file.metadata().text("general.architecture");
  for (const core::GgufTensor& tensor : m_file.tensors()) m_weights[tensor.name] = read(tensor.name);
  m_num_layers = static_cast<int>(number("block_count", 0));
  m_num_heads = static_cast<int>(number("attention.head_count", 0));
  m_num_kv_heads = static_cast<int>(number("attention.head_count_kv", m_num_heads));
  m_head_dim = weight("blk.0.attn_q.weight").num_rows / m_num_heads;
  m_freq_base = number("rope.freq_base", 10000);
  m_position_divisor = number("rope.scaling.factor", 1);
  m_epsilon = number("attention.layer_norm_rms_epsilon", 1e-5);
}

double ReferenceModel::number(const char* key, double otherwise) const {
  return m_file.metadata().number(m_architecture + "." + key).value_or(otherwise);
}

Matrix ReferenceModel::read(const std::string& name) const {
  const core::GgufTensor& tensor = *m_file.findTensor(name);
  std::vector<std::byte> stored(static_cast<std::size_t>(tensor.bytes));
  m_file.read(tensor, 0, stored);
  const std::int64_t num_rows = tensor.dims.size() > 1 ? tensor.dims[1] : 1;
  std::vector<float> values(static_cast<std::size_t>(num_rows * tensor.dims[0]));
  kernels::formatOf(tensor.format).decode(stored.data(), values.data(), num_rows * tensor.dims[0]);
  return {static_cast<int>(num_rows), static_cast<int>(tensor.dims[0]), Vector(values.begin(), values.end())};
}

void ReferenceModel::forget(std::string_view part) {
  std::erase_if(m_weights, [&](const auto& entry) { return entry.first.find(part) != std::string::npos; });
}

Vector ReferenceModel::logits(const std::vector<core::TokenId>& ids) const {
  const Matrix& embedding = weight("token_embd.weight");
  std::vector<Vector> hidden;  // one a token
  for (const core::TokenId id : ids) {
    const auto row = embedding.values.begin() + std::ptrdiff_t{id} * embedding.num_cols;
    hidden.emplace_back(row, row + embedding.num_cols);
  }
  for (int layer = 0; layer < m_num_layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    attend(block, hidden);
    feedForward(block, hidden);
  }
  return product(has("output.weight") ? weight("output.weight") : embedding,
                 normed(hidden.back(), "output_norm.weight"));
}

void ReferenceModel::attend(const std::string& block, std::vector<Vector>& hidden) const {
  std::vector<Vector> queries, keys, values;  // one a token, its heads one after the other
  for (std::size_t t = 0; t < hidden.size(); ++t) {
    const Vector x = normed(hidden[t], block + "attn_norm.weight");
    queries.push_back(project(block + "attn_q", x));
    keys.push_back(project(block + "attn_k", x));
    values.push_back(project(block + "attn_v", x));
    for (const auto& [vector, name] : {std::pair{&queries[t], "attn_q_norm"}, {&keys[t], "attn_k_norm"}}) {
      for (std::size_t start = 0; start < vector->size(); start += static_cast<std::size_t>(m_head_dim)) {
        double* const head = vector->data() + start;
        if (has(block + name + ".weight")) norm(head, weight(block + name + ".weight").values, m_epsilon);
        rotate(head, static_cast<int>(t));
      }
    }
  }
  for (std::size_t t = 0; t < hidden.size(); ++t) {
    Vector attended(queries[t].size(), 0.0);
    for (int h = 0; h < m_num_heads; ++h) {
      const int kv_start = h / (m_num_heads / m_num_kv_heads) * m_head_dim;
      Vector weights;  // of the tokens up to this one
      for (std::size_t past = 0; past <= t; ++past) {
        weights.push_back(dot(&queries[t][static_cast<std::size_t>(h * m_head_dim)],
                              &keys[past][static_cast<std::size_t>(kv_start)], m_head_dim) /
                          std::sqrt(m_head_dim));
      }
      softmax(weights);
      for (std::size_t past = 0; past <= t; ++past) {
        for (int i = 0; i < m_head_dim; ++i)
          attended[static_cast<std::size_t>(h * m_head_dim + i)] +=
              weights[past] * values[past][static_cast<std::size_t>(kv_start + i)];
      }
    }
    add(hidden[t], project(block + "attn_output", attended));
  }
}

void ReferenceModel::feedForward(const std::string& block, std::vector<Vector>& hidden) const {
  for (Vector& x : hidden) {
    const Vector in = normed(x, block + "ffn_norm.weight");
    Vector gate = project(block + "ffn_gate", in);
    const Vector up = project(block + "ffn_up", in);
    for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    add(x, project(block + "ffn_down", gate));
  }
}

// The product with NAME.weight, and NAME.bias if there is one.
Vector ReferenceModel::project(const std::string& name, const Vector& x) const {
  Vector out = product(weight(name + ".weight"), x);
  if (has(name + ".bias")) add(out, weight(name + ".bias").values);
  return out;
}

Vector ReferenceModel::normed(const Vector& x, const std::string& name) const {
  Vector out = x;
  norm(out.data(), weight(name).values, m_epsilon);
  return out;
}

// Llama files have the elements of a pair side by side, those of Qwen half a head apart.
void ReferenceModel::rotate(double* head, int position) const {
  const int num_pairs = m_head_dim / 2;
  const bool side_by_side = m_architecture == "llama";
  for (int i = 0; i < num_pairs; ++i) {
    double angle = position / m_position_divisor * std::pow(m_freq_base, -2.0 * i / m_head_dim);
    if (has("rope_freqs.weight")) angle /= weight("rope_freqs.weight").values[static_cast<std::size_t>(i)];
    double& a = head[side_by_side ? 2 * i : i];
    double& b = head[side_by_side ? 2 * i + 1 : i + num_pairs];
    const double old_a = a;
    a = old_a * std::cos(angle) - b * std::sin(angle);
    b = old_a * std::sin(angle) + b * std::cos(angle);
  }
}

}  // namespace inferoscope::tests
