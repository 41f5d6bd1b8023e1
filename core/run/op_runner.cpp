// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/op_runner.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace inferoscope::core {
namespace {

using namespace kernels;

const KernelSet::Rows<EmbedArgs>& rowsOf(const KernelSet& set, const EmbedArgs&) {
  return set.embed;
}
const KernelSet::Rows<RmsNormArgs>& rowsOf(const KernelSet& set, const RmsNormArgs&) {
  return set.rms_norm;
}
const KernelSet::Rows<LinearArgs>& rowsOf(const KernelSet& set, const LinearArgs&) {
  return set.linear;
}
const KernelSet::Rows<RopeArgs>& rowsOf(const KernelSet& set, const RopeArgs&) {
  return set.rope;
}
const KernelSet::Rows<KvAppendArgs>& rowsOf(const KernelSet& set, const KvAppendArgs&) {
  return set.kv_append;
}
const KernelSet::Rows<AttentionArgs>& rowsOf(const KernelSet& set, const AttentionArgs&) {
  return set.attention;
}
const KernelSet::Rows<SwiGluArgs>& rowsOf(const KernelSet& set, const SwiGluArgs&) {
  return set.swiglu;
}
const KernelSet::Rows<AddArgs>& rowsOf(const KernelSet& set, const AddArgs&) {
  return set.add;
}
const KernelSet::Rows<SampleArgs>& rowsOf(const KernelSet& set, const SampleArgs&) {
  return set.sample;
}

std::string_view weightFormat(const EmbedArgs& args) {
  return formatOf(args.table.format).name;
}
std::string_view weightFormat(const LinearArgs& args) {
  return formatOf(args.w.format).name;
}
template <class Args>
std::string_view weightFormat(const Args&) {
  return {};
}

template <class Args>
const Kernel<Args>& firstAble(const KernelSet::Rows<Args>& rows, std::string_view name, const Args& args) {
  std::string reasons;
  for (const Kernel<Args>* kernel : rows) {
    const std::string reason = kernel->supports(args);
    if (reason.empty()) return *kernel;
    reasons += fmt::format("; {}: {}", kernel->id, reason);
  }
  throw Error(fmt::format("no kernel can run {}{}", name, reasons));
}

}  // namespace

OpRunner::OpRunner(Backend& backend, KernelSet kernels) : m_backend(backend), m_kernels(std::move(kernels)) {}

void OpRunner::setKernels(KernelSet kernels) {
  m_kernels = std::move(kernels);
}

void OpRunner::begin(std::stop_token stop, std::atomic<int>* ops_done) {
  m_stop = std::move(stop);
  m_ops_done = ops_done;
  m_records.clear();
  m_records.reserve(m_num_records);
  m_backend.resetMarks();
}

template <class Args>
void OpRunner::run(std::string_view name, int layer, const Args& args) {
  const Kernel<Args>& kernel = firstAble(rowsOf(m_kernels, args), name, args);
  const std::size_t scratch_bytes = kernel.scratchBytes(args, m_backend.numThreads());
  const Exec exec = m_backend.exec(scratch_bytes, m_stop);

  m_backend.mark();
  kernel.run(args, exec);
  m_backend.mark();

  if (m_stop.stop_requested()) throw Cancelled();
  m_records.push_back({.kind = Args::kKind,
                       .layer = static_cast<std::int16_t>(layer),
                       .name = name,
                       .kernel = kernel.id,
                       .format = weightFormat(args),
                       .num_tokens = args.num_tokens,
                       .scratch_bytes = scratch_bytes,
                       .cost = kernel.cost(args)});
  if (m_ops_done != nullptr) m_ops_done->fetch_add(1, std::memory_order_relaxed);
}

template <class Args>
bool OpRunner::canRun(const Args& args) const {
  return std::ranges::any_of(rowsOf(m_kernels, args),
                             [&](const Kernel<Args>* row) { return row->supports(args).empty(); });
}

std::vector<OpRecord> OpRunner::finish() {
  const std::span<const std::int64_t> times = m_backend.times();
  for (std::size_t i = 0; i < m_records.size(); ++i) {
    m_records[i].start_ns = times[2 * i];
    m_records[i].duration_ns = times[2 * i + 1] - times[2 * i];
  }
  m_num_records = m_records.size();
  return std::exchange(m_records, {});
}

template void OpRunner::run(std::string_view, int, const EmbedArgs&);
template void OpRunner::run(std::string_view, int, const RmsNormArgs&);
template void OpRunner::run(std::string_view, int, const LinearArgs&);
template void OpRunner::run(std::string_view, int, const RopeArgs&);
template void OpRunner::run(std::string_view, int, const KvAppendArgs&);
template void OpRunner::run(std::string_view, int, const AttentionArgs&);
template void OpRunner::run(std::string_view, int, const SwiGluArgs&);
template void OpRunner::run(std::string_view, int, const AddArgs&);
template void OpRunner::run(std::string_view, int, const SampleArgs&);
template bool OpRunner::canRun(const RmsNormArgs&) const;
template bool OpRunner::canRun(const SampleArgs&) const;

}  // namespace inferoscope::core
