// SPDX-License-Identifier: GPL-3.0-or-later
// Random changes of random knobs at random steps under load. 150 of them; 1,000 with INFEROSCOPE_TORTURE=1.
#include "core/engine/engine.h"
#include "core/model/weight_variants.h"
#include "tests/support/engines.h"

#include <QTest>

#include <functional>
#include <map>
#include <random>
#include <set>

using namespace inferoscope;
using namespace inferoscope::core;
using namespace inferoscope::tests;

namespace {

constexpr int kAtOnce = 14;

int numChanges() {
  return qEnvironmentVariableIsSet("INFEROSCOPE_TORTURE") ? 1000 : 300;
}

// Values to draw from. Those marked false change sums or stored numbers, and so may change tokens.
struct Drawn {
  const char* id;
  bool exact;
  std::vector<const char*> values;
};
const std::vector<Drawn>& drawn() {
  static const std::vector<Drawn> kDrawn = {
      {"kv-layout", true, {"paged", "paged", "contiguous"}},
      {"block-size", true, {"1", "3", "8", "16", "64", "256"}},
      {"kv-budget", true, {"1", "2", "5", "0"}},
      {"max-len", true, {"0", "200", "700"}},
      {"batching", true, {"continuous", "static"}},
      {"max-sequences", true, {"1", "2", "5", "9", "16"}},
      {"step-tokens", true, {"1", "16", "100", "512"}},
      {"prefill-chunk", true, {"0", "5", "32", "256"}},
      {"policy", true, {"fcfs", "prefill-first"}},
      {"prefix-cache", true, {"on", "off"}},
      {"threads", true, {"1", "2", "3"}},
      {"kv-format", false, {"f16", "f32"}},
      {"attention", false, {"flash", "naive"}},
      {"linear", false, {"simd", "naive"}},
      {"weights", false, {"as-stored", "f32", "q8_0", "q4_0"}},
  };
  return kDrawn;
}

Request request(int index) {
  Request made = ask(someIds(1 + index * 37 % 120, index % 5), 1 + index * 13 % 40);
  made.sampling.temperature = index % 3 == 0 ? 0.9F : 0.0F;
  made.sampling.seed = static_cast<std::uint64_t>(index);
  return made;
}

// What of a knob's value can be seen in a step. Empty if all is as the options say.
QString contradiction(const EngineOptions& options, const StepRecord& step, const Snapshot& after, const Model& model) {
  const auto num_tokens = step.num_prefill_tokens + step.num_decode_tokens;
  if (step.num_threads != options.threads) return "threads";
  if (std::ssize(step.entries) > options.max_sequences) return "max-sequences";
  if (num_tokens > options.step_tokens && options.prefill_chunk > 0) return "step-tokens";
  for (const StepEntry& entry : step.entries) {
    if (options.prefill_chunk > 0 && entry.num_tokens > options.prefill_chunk) return "prefill-chunk";
    if (!options.prefix_cache && entry.num_hit_tokens > 0) return "prefix-cache";
  }
  if (options.policy == Policy::kPrefillFirst && step.num_prefill_tokens > 0 && step.num_decode_tokens > 0) {
    return "policy";
  }
  if (options.kv_layout == KvLayout::kPaged && after.block_size != options.block_size) return "block-size";
  if (options.kv_layout == KvLayout::kContiguous) {
    if (after.block_size < (options.max_len > 0 ? std::min(options.max_len, 512) : 512)) return "kv-layout";
    if (options.max_len > 0 && after.block_size > options.max_len) return "max-len";
  }
  if (after.kv_block_bytes != after.block_size * kvBytesPerToken(model.config, options.kv_format)) return "kv-format";
  for (const OpRecord& op : step.ops) {
    const std::string_view kernel = op.kernel;
    if (op.name == "attention" && kernel.find(options.attention) == kernel.npos) return "attention";
    if (op.name == "ffn_down" && (kernel == "linear.naive") != (options.linear == "naive")) return "linear";
    const std::string_view stored = options.weights == kAsStored ? "f16" : std::string_view(options.weights);
    if (op.name == "ffn_down" && op.format != stored) return "weights";
  }
  return {};
}

// What shows that a value makes a difference: seen at least once in a long run.
std::set<std::string> evidence(const EngineOptions& options, const StepRecord& step) {
  std::set<std::string> seen = {"attention " + options.attention, "linear " + options.linear,
                                "kv-format " + options.kv_format, "weights " + options.weights};
  for (const WaitEntry& wait : step.waiting) {
    if (wait.reason == WaitReason::kStaticBatch && options.batching == Batching::kStatic) seen.insert("static");
    if (wait.reason == WaitReason::kMaxSequences) seen.insert("max-sequences");
    if (wait.reason == WaitReason::kBlocks) seen.insert("kv-budget");
  }
  for (const StepEntry& entry : step.entries) {
    if (entry.num_hit_tokens > 0) seen.insert("prefix-cache on");
    if (entry.phase == Phase::kPrefill && entry.sampled < 0) seen.insert("chunks");
  }
  if (step.num_prefill_tokens > 0 && step.num_decode_tokens > 0) seen.insert("mixed steps");
  if (!step.admitted.empty() && std::ssize(step.admitted) < std::ssize(step.entries)) seen.insert("continuous");
  if (!step.preempted.empty()) seen.insert("preempted");
  return seen;
}

class Torture {
 public:
  Torture(bool exact_only, unsigned seed)
      : m_exact_only(exact_only), m_random(seed), m_engine(m_model, m_backend, with({{"threads", "1"}})) {}

  // Empty if nothing was wrong.
  QString go() {
    for (int change = 0; change < numChanges(); ++change) {
      turnAKnob();
      for (int steps = 1 + pick(4); steps > 0; --steps) {
        if (const QString fault = step(); !fault.isEmpty()) return fault;
      }
    }
    for (m_feeding = false; !m_engine.idle();) {
      if (const QString fault = step(); !fault.isEmpty()) return fault;
    }
    const Snapshot end = m_engine.snapshot();
    return end.numUsedBlocks() == 0 ? QString() : QString("%1 blocks leaked").arg(end.numUsedBlocks());
  }

  // Tokens of every request, by its index.
  std::map<int, std::vector<TokenId>> answers;
  std::set<std::string> seen;
  int num_applied = 0;

 private:
  int pick(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

  void turnAKnob() {
    const Drawn& knob = drawn()[static_cast<std::size_t>(pick(static_cast<int>(drawn().size())))];
    if (m_exact_only && !knob.exact) return;
    const char* value = knob.values[static_cast<std::size_t>(pick(static_cast<int>(knob.values.size())))];
    const EngineOptions wanted = with({{knob.id, value}}, m_engine.options());
    if (m_engine.apply(wanted, m_variants.get(wanted.weights, *m_backend, {}, {})).empty() &&
        m_engine.options() == wanted)
      ++num_applied;
  }

  QString step() {
    while (m_feeding && m_num_active < kAtOnce) {
      const SeqId seq = m_engine.submit(request(m_next)).seq;
      if (!seq.valid()) return QString("request %1 was refused").arg(m_next);
      m_index[seq] = m_next++;
      ++m_num_active;
    }
    const auto record = m_engine.step({});
    m_engine.takeText();
    if (!record) return "nothing was computed";
    for (const StepEntry& entry : record->entries) {
      if (entry.sampled >= 0) answers[m_index.at(entry.seq)].push_back(entry.sampled);
      if (entry.finished) --m_num_active;
    }
    if (const std::string broken = m_engine.check(); !broken.empty()) return QString::fromStdString(broken);
    const QString knob = contradiction(m_engine.options(), *record, m_engine.snapshot(), *m_model);
    if (!knob.isEmpty()) return "no trace of " + knob;
    seen.merge(evidence(m_engine.options(), *record));
    return {};
  }

  bool m_exact_only;
  bool m_feeding = true;
  std::mt19937 m_random;
  std::shared_ptr<Backend> m_backend = makeCpuBackend(1);
  std::shared_ptr<const Model> m_model = loadOn(*m_backend, "synthetic:tiny");
  WeightVariants m_variants{m_model, m_model->weight_bytes * 3};  // f32 and one more: the others are made anew
  Engine m_engine;
  std::map<SeqId, int> m_index;
  int m_num_active = 0;
  int m_next = 0;
};

}  // namespace

class TestKnobTorture : public QObject {
  Q_OBJECT

 private slots:
  // What can't change numbers changes no token.
  void exactKnobsChangeNoToken() {
    Torture torture(true, 7);
    QCOMPARE(torture.go(), QString());
    QVERIFY(torture.num_applied > numChanges() / 3);
    const std::shared_ptr<Backend> backend = makeCpuBackend(1);
    Engine undisturbed(loadOn(*backend, "synthetic:tiny"), backend, with({{"threads", "1"}}));
    for (const auto& [index, tokens] : torture.answers) {
      const SeqId seq = undisturbed.submit(request(index)).seq;
      QVERIFY2(runAll(undisturbed)[seq].tokens == tokens, qPrintable(QString("request %1").arg(index)));
    }
    QVERIFY(torture.answers.size() > 30);
  }

  void everyKnobLeavesATrace() {
    Torture torture(false, 11);
    QCOMPARE(torture.go(), QString());
    for (const char* trace : {"attention flash", "attention naive", "linear simd", "linear naive", "kv-format f16",
                              "kv-format f32", "weights as-stored", "weights f32", "weights q8_0", "weights q4_0",
                              "static", "continuous", "max-sequences", "prefix-cache on", "chunks", "mixed steps"}) {
      QVERIFY2(torture.seen.contains(trace), trace);
    }
    QVERIFY(torture.num_applied > numChanges() / 2);
    for (const auto& [index, tokens] : torture.answers) {
      QCOMPARE(std::ssize(tokens), std::ptrdiff_t(request(index).max_new_tokens));
    }
  }
};

QTEST_GUILESS_MAIN(TestKnobTorture)
#include "tst_knob_torture.moc"
