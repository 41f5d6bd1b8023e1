// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string>
#include <vector>

namespace inferoscope::tests {

// A model of two layers to be written as a GGUF file, its weights random.
struct TinyModel {
  std::string architecture = "llama";
  std::string format = "f32";  // of the matrices
  int head_dim = 64;
  double linear_scaling = 0;          // 0: none
  std::vector<float> rope_factors{};  // [head_dim / 2]; empty: none
  bool tied = true;
};

inline constexpr int kTinyModelTokens = 96;  // plain characters: ids below it are good prompts

void writeTinyModel(const TinyModel& model, const std::string& path);

}  // namespace inferoscope::tests
