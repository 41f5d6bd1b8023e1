// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/dry_run.h"

#include "core/error.h"
#include "core/model/weights.h"
#include "core/run/forward.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <deque>
#include <thread>

namespace inferoscope::core {
namespace {

// Addresses without memory behind them: whoever touched one would crash.
class Addresses final : public Buffer {
 public:
  explicit Addresses(std::size_t bytes) : m_bytes(std::max<std::size_t>(bytes, 1)) {
    m_data = mmap(nullptr, m_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m_data == MAP_FAILED) throw Error(fmt::format("a dry run needs {} bytes of addresses; there are none", bytes));
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() override { munmap(m_data, m_bytes); }

  std::byte* data() override { return static_cast<std::byte*>(m_data); }
  std::size_t bytes() const override { return m_bytes; }

 private:
  std::size_t m_bytes;
  void* m_data;
};

// A device of which only the catalog is there.
class DryBackend final : public Backend {
 public:
  DryBackend(kernels::Device device, int num_threads) : m_device(device) { setThreads(num_threads); }

  std::string_view id() const override { return "dry"; }
  kernels::Device device() const override { return m_device; }
  int numThreads() const override { return m_num_threads; }
  void setThreads(int num_threads) override {
    m_num_threads = num_threads > 0 ? num_threads : std::max(1, int(std::thread::hardware_concurrency()));
  }
  std::shared_ptr<Buffer> allocate(std::size_t bytes, std::string_view) override {
    return std::make_shared<Addresses>(bytes);
  }
  void upload(Buffer&, std::size_t, std::span<const std::byte>) override {}
  void download(const Buffer&, std::size_t, std::span<std::byte>) override {}
  kernels::Exec exec(std::size_t, std::stop_token) override { return {}; }
  void resetMarks() override { m_times.clear(); }
  void mark() override { m_times.push_back(0); }
  std::span<const std::int64_t> times() override { return m_times; }
  MachineLimits probe(std::stop_token) override { return {}; }

 private:
  kernels::Device m_device;
  int m_num_threads = 1;
  std::vector<std::int64_t> m_times;
};

// The rows of a kernel set, each with a run that does nothing.
template <class Args>
class DryRows {
 public:
  explicit DryRows(KernelSet::Rows<Args>& rows) {
    for (const kernels::Kernel<Args>*& row : rows) {
      m_rows.push_back(*row);
      m_rows.back().run = [](const Args&, const kernels::Exec&) {};
      row = &m_rows.back();
    }
  }

 private:
  std::deque<kernels::Kernel<Args>> m_rows;  // addresses stay
};

struct DryKernels {
  explicit DryKernels(const KernelSet& real) : set(real) {}

  KernelSet set;
  DryRows<kernels::EmbedArgs> embed{set.embed};
  DryRows<kernels::RmsNormArgs> rms_norm{set.rms_norm};
  DryRows<kernels::LinearArgs> linear{set.linear};
  DryRows<kernels::RopeArgs> rope{set.rope};
  DryRows<kernels::KvAppendArgs> kv_append{set.kv_append};
  DryRows<kernels::AttentionArgs> attention{set.attention};
  DryRows<kernels::SwiGluArgs> swiglu{set.swiglu};
  DryRows<kernels::AddArgs> add{set.add};
};

// As the device would hold it: a model that is only described has its matrices as files hold them.
Model laidOut(Model model, kernels::Device device) {
  for (const WeightSlot& slot : weightSlots(model)) {
    if (slot.matrix) slot.matrix->layout = kernels::preferredLayout(device, *slot.matrix);
  }
  if (model.config.tied_embeddings) model.output = model.token_embedding;
  return model;
}

}  // namespace

std::vector<OpRecord> dryRun(const Model& described, const Batch& batch, const EngineOptions& options) {
  DryBackend backend(kernels::Device::kCpu, options.threads);
  const Model model = laidOut(described, backend.device());
  const DryKernels kernels(chooseKernels(backend.device(), options));
  const KvCache kv(model.config, backend, options.kv_format, 1, 1);  // costs depend on lengths, not on the cache's size
  Workspace workspace(model.config, backend);
  OpRunner ops(backend, kernels.set);
  ops.begin({}, nullptr);
  forward(model, batch, kv, ops, workspace);
  return ops.finish();
}

Batch uniformBatch(int num_seqs, int num_tokens, int kv_len, bool wants_logits) {
  Batch batch;
  batch.q_starts.push_back(0);
  for (int seq = 0; seq < num_seqs; ++seq) {
    batch.entries.push_back({.seq = SeqId{seq},
                             .phase = kv_len > 0 && num_tokens == 1 ? Phase::kDecode : Phase::kPrefill,
                             .first_row = batch.numTokens(),
                             .num_tokens = num_tokens,
                             .start_position = kv_len,
                             .samples = wants_logits,
                             .logit_row = wants_logits ? seq : -1});
    for (int i = 0; i < num_tokens; ++i) {
      batch.token_ids.push_back(0);
      batch.positions.push_back(kv_len + i);
      batch.token_seqs.push_back(seq);
    }
    batch.q_starts.push_back(batch.numTokens());
    batch.kv_lens.push_back(kv_len + num_tokens);
    if (wants_logits) batch.logit_rows.push_back(batch.numTokens() - 1);
  }
  return batch;
}

}  // namespace inferoscope::core
