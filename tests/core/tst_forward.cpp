// SPDX-License-Identifier: GPL-3.0-or-later
// The forward pass by itself, without a scheduler: batches made by hand on scattered blocks.
#include "core/error.h"
#include "core/run/forward.h"
#include "tests/support/data.h"
#include "tests/support/engines.h"
#include "tests/support/tried_backend.h"

#include <QTest>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

std::atomic<int> num_allocations = 0;  // of this program so far

}  // namespace

void* operator new(std::size_t bytes) {
  ++num_allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++num_allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

constexpr int kMaxTokens = 96;  // of a sequence
constexpr int kNumSeqs = 4;

// Sequence `seq` computes its next `num_tokens` tokens.
struct Share {
  int seq;
  int num_tokens;
};
using Logits = std::vector<float>;  // [num_tokens, vocab_size]: of all tokens of a sequence so far

// A model, its cache and sequences of known tokens, stepped by hand.
class Lab {
 public:
  Lab(const std::string& source, int block_size, int num_threads, const EngineOptions& options = {})
      : backend(num_threads),
        model(loadOn(backend, source)),
        m_table_stride((kMaxTokens + block_size - 1) / block_size),
        m_kv(model->config, backend, options.kv_format, kNumSeqs * m_table_stride, block_size),
        m_ops(backend, chooseKernels(kernels::Device::kCpu, options)),
        m_workspace(model->config, backend) {
    for (int seq = 0; seq < kNumSeqs; ++seq) m_tokens.push_back(someIds(kMaxTokens, 100 + seq));
    spoilCache();
  }

  void setTokens(int seq, int first) { m_tokens[static_cast<std::size_t>(seq)] = someIds(kMaxTokens, first); }

  // The logits of all tokens of the step, beside those of earlier steps.
  void step(const std::vector<Share>& shares, std::stop_token stop = {}) {
    Batch batch = batchOf(shares);
    batch.logit_rows.resize(static_cast<std::size_t>(batch.numTokens()));
    std::iota(batch.logit_rows.begin(), batch.logit_rows.end(), 0);
    const std::span<const float> rows = run(batch, stop);
    std::size_t row = 0;
    for (const Share& share : shares) {
      const std::size_t count = static_cast<std::size_t>(share.num_tokens) * vocabSize();
      Logits& kept = logits[share.seq];
      kept.insert(kept.end(), rows.begin() + static_cast<std::ptrdiff_t>(row),
                  rows.begin() + static_cast<std::ptrdiff_t>(row + count));
      m_lengths[static_cast<std::size_t>(share.seq)] += share.num_tokens;
      row += count;
    }
  }

  std::span<const float> run(const Batch& batch, std::stop_token stop = {}) {
    ops_done = 0;
    m_ops.begin(std::move(stop), &ops_done);
    const int before = num_allocations;
    const std::span<const float> rows = forward(*model, batch, m_kv, m_ops, m_workspace);
    allocations = num_allocations - before;
    records = m_ops.finish();
    return rows;
  }

  Batch batchOf(const std::vector<Share>& shares) const {
    Batch batch;
    batch.block_table_stride = m_table_stride;
    batch.q_starts.push_back(0);
    for (const Share& share : shares) {
      const auto seq = static_cast<std::size_t>(share.seq);
      const int index = static_cast<int>(batch.entries.size());
      for (int i = 0; i < share.num_tokens; ++i) {
        const int position = m_lengths[seq] + i;
        batch.token_ids.push_back(m_tokens[seq][static_cast<std::size_t>(position)]);
        batch.positions.push_back(position);
        batch.token_seqs.push_back(index);
      }
      batch.entries.push_back({.seq = SeqId{share.seq}, .num_tokens = share.num_tokens});
      batch.q_starts.push_back(batch.numTokens());
      batch.kv_lens.push_back(m_lengths[seq] + share.num_tokens);
      appendTable(batch, share.seq);
    }
    return batch;
  }

  TriedBackend backend;
  std::shared_ptr<const Model> model;
  int allocations = 0;           // in the last forward()
  std::map<int, Logits> logits;  // by sequence
  std::vector<OpRecord> records;
  std::atomic<int> ops_done = 0;

 private:
  std::size_t vocabSize() const { return static_cast<std::size_t>(model->config.vocab_size); }

  // The blocks of a sequence lie backwards, those of all sequences in turn; none beyond its length.
  void appendTable(Batch& batch, int seq) const {
    const int num_blocks = (batch.kv_lens.back() + m_kv.blockSize() - 1) / m_kv.blockSize();
    for (int i = 0; i < m_table_stride; ++i) {
      batch.block_tables.push_back(i < num_blocks ? (m_table_stride - 1 - i) * kNumSeqs + seq : -1);
    }
  }

  // NaN in every slot: whoever reads one that was not written shows it.
  void spoilCache() {
    for (int layer = 0; layer < model->config.num_layers; ++layer) {
      const kernels::PagedKvView view = m_kv.layer(layer);
      const auto bytes = static_cast<std::size_t>(kernels::kvOffset(view, view.num_blocks, 0, 0));
      std::memset(view.keys, 0xff, bytes);
      std::memset(view.values, 0xff, bytes);
    }
  }

  int m_table_stride;
  KvCache m_kv;
  OpRunner m_ops;
  Workspace m_workspace;
  std::vector<std::vector<TokenId>> m_tokens;               // [kNumSeqs]
  std::vector<int> m_lengths = std::vector<int>(kNumSeqs);  // tokens computed
};

const std::string kTiny = "synthetic:tiny";
const std::string kTinyQ8 = "synthetic:tiny:q8_0";
constexpr int kLength = 70;  // of sequence 0: past one block of 64

// Sequence 0 by itself, whole, in blocks of 16, on one thread.
const Logits& alone(const std::string& source, const EngineOptions& options = {}) {
  static std::map<std::string, Logits> known;
  Logits& logits = known[source + " " + options.attention + " " + options.linear];
  if (logits.empty()) {
    Lab lab(source, 16, 1, options);
    lab.step({{0, kLength}});
    logits = lab.logits[0];
  }
  return logits;
}

bool sameBits(const Logits& a, const Logits& b) {
  return !a.empty() && a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::uint64_t layerWeightBytes(const Model& model) {
  std::int64_t bytes = 0;
  for (const LayerWeights& layer : model.layers) {
    for (const kernels::WeightMatrix* w : {&layer.attn_q, &layer.attn_k, &layer.attn_v, &layer.attn_output,
                                           &layer.ffn_gate, &layer.ffn_up, &layer.ffn_down}) {
      bytes += kernels::matrixBytes(*w);
    }
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

Q_DECLARE_METATYPE(std::vector<int>)

class TestForward : public QObject {
  Q_OBJECT

 private slots:
  // Once the largest step was seen, a forward pass takes no memory: neither its ops nor their records.
  void warmStepsAllocateNothing() {
    for (const std::string source : {"synthetic:tiny", "synthetic:tiny:q8_0"}) {
      Lab lab(source, 16, 2);
      lab.step({{0, 20}, {1, 1}, {2, 1}});
      QVERIFY(lab.allocations > 0);
      lab.step({{0, 1}, {1, 1}, {2, 19}});
      QCOMPARE(lab.allocations, 0);
      lab.step({{0, 1}});
      QCOMPARE(lab.allocations, 0);
    }
  }

  // All logits of the same tokens, however they were cut, stored and shared out.
  void chunksBlocksAndThreadsChangeNothing_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("attention");
    QTest::addColumn<std::vector<int>>("chunks");
    QTest::addColumn<int>("block_size");
    QTest::addColumn<int>("threads");
    const std::vector<int> whole = {kLength};
    for (const std::string& source :
         {kTiny, kTinyQ8, std::string("synthetic:tiny-qwen2"), std::string("synthetic:tiny-qwen3")}) {
      for (const char* attention : {"flash", "naive"}) {
        const auto add = [&](const char* what, const std::vector<int>& chunks, int block_size, int threads) {
          QTest::addRow("%s, %s, %s", source.c_str(), attention, what)
              << QString::fromStdString(source) << attention << chunks << block_size << threads;
        };
        add("blocks of 1", whole, 1, 1);
        add("blocks of 8", whole, 8, 1);
        add("blocks of 64", whole, 64, 1);
        add("one block", whole, kMaxTokens, 1);
        add("2 threads", whole, 16, 2);
        add("3 threads", whole, 16, 3);
        add("one by one", std::vector<int>(kLength, 1), 16, 1);
        add("odd chunks", {1, 15, 17, 2, 31, 4}, 16, 1);
        add("all of it", {3, 33, 1, 1, 32}, 5, 3);
      }
    }
  }

  void chunksBlocksAndThreadsChangeNothing() {
    QFETCH(QString, source);
    QFETCH(QString, attention);
    QFETCH(std::vector<int>, chunks);
    QFETCH(int, block_size);
    QFETCH(int, threads);
    EngineOptions options;
    options.attention = attention.toStdString();
    Lab lab(source.toStdString(), block_size, threads, options);
    for (const int chunk : chunks) lab.step({{0, chunk}});
    QVERIFY(sameBits(lab.logits[0], alone(source.toStdString(), options)));
  }

  // Prefill and decode of others in the same step, before and behind; then others of another content.
  void neighboursChangeNothing_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<int>("first");
    for (const std::string& source : {kTiny, kTinyQ8}) {
      for (const int first : {500, 600})
        QTest::addRow("%s, %d", source.c_str(), first) << QString::fromStdString(source) << first;
    }
  }

  void neighboursChangeNothing() {
    QFETCH(QString, source);
    QFETCH(int, first);
    Lab lab(source.toStdString(), 16, 2);
    for (const int seq : {1, 2, 3}) lab.setTokens(seq, first + seq);
    lab.step({{1, 20}, {0, 30}});
    lab.step({{2, 40}, {1, 1}, {0, 39}, {3, 7}});
    lab.step({{3, 1}, {0, 1}, {1, 1}, {2, 1}});
    QVERIFY(sameBits(lab.logits[0], alone(source.toStdString())));
  }

  void recordsTellWhatRan() {
    Lab lab(kTiny, 16, 1);
    lab.step({{0, 5}, {1, 3}});
    const ModelConfig& config = lab.model->config;
    QCOMPARE(lab.records.size(), static_cast<std::size_t>(numOps(config)));
    QCOMPARE(lab.ops_done.load(), numOps(config));
    QCOMPARE(lab.records.front().name, std::string_view("token_embedding"));
    QCOMPARE(lab.records.back().name, std::string_view("output"));
    QCOMPARE(lab.records.back().layer, std::int16_t(-1));
    std::int64_t end = 0;
    for (const OpRecord& op : lab.records) {
      QVERIFY(!op.kernel.empty());
      QCOMPARE(op.num_tokens, 8);
      QVERIFY(op.start_ns >= end && op.duration_ns >= 0);
      QVERIFY(op.cost.bytes() > 0);
      end = op.start_ns + op.duration_ns;
    }
    const auto attentions = std::ranges::count(lab.records, kernels::OpKind::kAttention, &OpRecord::kind);
    QCOMPARE(attentions, std::ptrdiff_t(config.num_layers));
  }

  // The point of batching: the matrices cross the bus once a step, for one token or for many.
  void weightsAreReadOnceAStep() {
    Lab lab(kTinyQ8, 16, 1);
    for (const std::vector<Share>& shares : {std::vector<Share>{{0, 1}}, {{0, 1}, {1, 1}, {2, 1}}, {{0, 40}, {1, 1}}}) {
      lab.step(shares);
      std::uint64_t layers = 0, output = 0;
      for (const OpRecord& op : lab.records) {
        if (op.kind == kernels::OpKind::kLinear) (op.layer < 0 ? output : layers) += op.cost.weights;
      }
      QCOMPARE(layers, layerWeightBytes(*lab.model));
      QCOMPARE(output, static_cast<std::uint64_t>(kernels::matrixBytes(lab.model->output)));
    }
  }

  // All that a decode step reads of the weights is what is stored of them: each tensor once, but of the embedding one
  // row only, and of a tied one, which is the output too, one row more.
  void aDecodeStepReadsWhatIsStored_data() {
    QTest::addColumn<QString>("source");
    for (const char* name : {"tiny", "tiny-qwen2", "tiny-qwen3"}) {
      for (const char* format : {"f32", "f16", "q8_0", "q4_1"})
        QTest::addRow("%s %s", name, format) << QString("synthetic:%1:%2").arg(name, format);
    }
    for (const char* file : {"valid_tiny", "valid_q8_0_untied", "valid_q4_0"})
      QTest::newRow(file) << QString::fromStdString(dataPath("valid/") + file + ".gguf");
  }

  void aDecodeStepReadsWhatIsStored() {
    QFETCH(QString, source);
    Lab lab(source.toStdString(), 16, 1);
    lab.step({{0, 7}});
    lab.step({{0, 1}});
    std::uint64_t counted = 0;
    for (const OpRecord& op : lab.records) counted += op.cost.weights;
    const kernels::WeightMatrix& embedding = lab.model->token_embedding;
    const std::int64_t row_bytes = kernels::storedBytes(kernels::formatOf(embedding.format), embedding.num_cols);
    const std::int64_t unread = lab.model->config.tied_embeddings ? 0 : kernels::matrixBytes(embedding);
    QCOMPARE(static_cast<std::int64_t>(counted), lab.model->weight_bytes - unread + row_bytes);
  }

  // The middle of a prompt gives no token: the output matrix is not read.
  void withoutWantedRowsThereIsNoOutput() {
    Lab lab(kTiny, 16, 1);
    QVERIFY(lab.run(lab.batchOf({{0, 8}})).empty());
    QCOMPARE(lab.records.size(), static_cast<std::size_t>(numOps(lab.model->config)) - 2);
  }

  void onlyWantedRowsAreGiven() {
    Lab lab(kTiny, 16, 1);
    Batch batch = lab.batchOf({{0, 8}, {1, 4}});
    batch.logit_rows = {7, 11};
    const std::span<const float> rows = lab.run(batch);
    const auto vocab = static_cast<std::size_t>(lab.model->config.vocab_size);
    QCOMPARE(rows.size(), 2 * vocab);
    QVERIFY(std::memcmp(rows.data(), alone(kTiny).data() + 7 * vocab, vocab * sizeof(float)) == 0);
  }

  void aStopEndsItWithinAnOp() {
    Lab lab(kTiny, 16, 2);
    std::stop_source source;
    int calls = 0;
    lab.backend.before_op = [&] {
      if (++calls == 10) source.request_stop();
    };
    QVERIFY_THROWS_EXCEPTION(Cancelled, lab.step({{0, kLength}}, source.get_token()));
    QCOMPARE(calls, 10);
    lab.backend.before_op = nullptr;
    lab.step({{0, kLength}});  // over again, as if nothing had been
    QVERIFY(sameBits(lab.logits[0], alone(kTiny)));
  }

  void activationsAreAllocatedOnce() {
    Lab lab(kTiny, 16, 2);
    lab.step({{0, 40}, {1, 1}});
    int calls = 0;
    lab.backend.before_allocate = [&] { ++calls; };
    lab.step({{2, 40}, {1, 1}});
    lab.step({{0, 1}});
    QCOMPARE(calls, 0);
  }
};

QTEST_GUILESS_MAIN(TestForward)
#include "tst_forward.moc"
