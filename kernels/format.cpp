// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/format.h"

#include "kernels/quant/formats.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace inferoscope::kernels {
namespace {

template <class F>
void decode(const std::byte* blocks, float* values, std::int64_t num_elems) {
  const auto* block = reinterpret_cast<const typename F::Block*>(blocks);
  for (std::int64_t i = 0; i < num_elems; i += F::kBlockElems) F::decodeBlock(*block++, values + i);
}

template <class F>
void encode(const float* values, std::byte* blocks, std::int64_t num_elems) {
  auto* block = reinterpret_cast<typename F::Block*>(blocks);
  for (std::int64_t i = 0; i < num_elems; i += F::kBlockElems) F::encodeBlock(values + i, *block++);
}

template <class F>
constexpr int headHalves() {
  if constexpr (requires { F::kHeadHalves; }) return F::kHeadHalves;
  return 0;
}

template <class... Fs>
constexpr std::array<Format, sizeof...(Fs)> rowsOf(quant::FormatList<Fs...>) {
  return {Format{Fs::kId, Fs::kName, Fs::kBlockElems, sizeof(typename Fs::Block), &decode<Fs>, &encode<Fs>,
                 headHalves<Fs>()}...};
}

constexpr auto kFormats = rowsOf(quant::AllFormats{});

const Format* orNull(const Format* row) {
  return row == kFormats.end() ? nullptr : row;
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* findFormat(FormatId id) {
  return orNull(std::ranges::find(kFormats, id, &Format::id));
}

const Format* findFormat(std::string_view name) {
  return orNull(std::ranges::find(kFormats, name, &Format::name));
}

const Format& formatOf(FormatId id) {
  const Format* format = findFormat(id);
  assert(format != nullptr);
  return *format;
}

}  // namespace inferoscope::kernels
