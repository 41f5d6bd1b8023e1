// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"
#include "core/model/gguf.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace inferoscope::tests {

using Vector = std::vector<double>;

struct Matrix {
  int num_rows = 0;
  int num_cols = 0;
  Vector values;  // [num_rows, num_cols]
};

// A model read from a GGUF file and computed in double precision, one plain loop after the other. It shares with the
// engine the reader of the file and the decoding of the formats, and none of the arithmetic.
class ReferenceModel {
 public:
  explicit ReferenceModel(const std::string& path);

  // Leaves out every bias, norm of heads or list of factors whose name has this in it.
  void forget(std::string_view part);

  // Logits after the last of the ids. [vocab_size]
  Vector logits(const std::vector<core::TokenId>& ids) const;

 private:
  double number(const char* key, double otherwise) const;  // "rope.freq_base" of the file's architecture
  Matrix read(const std::string& name) const;              // no values if the file has no such tensor
  const Matrix& weight(const std::string& name) const { return m_weights.at(name); }
  bool has(const std::string& name) const { return m_weights.contains(name); }

  void attend(const std::string& block, std::vector<Vector>& hidden) const;
  void feedForward(const std::string& block, std::vector<Vector>& hidden) const;
  Vector project(const std::string& name, const Vector& x) const;
  Vector normed(const Vector& x, const std::string& name) const;
  void rotate(double* head, int position) const;

  core::GgufFile m_file;
  std::string m_architecture;
  std::map<std::string, Matrix> m_weights;
  int m_num_layers, m_num_heads, m_num_kv_heads, m_head_dim;
  double m_freq_base, m_position_divisor, m_epsilon;
};

}  // namespace inferoscope::tests
