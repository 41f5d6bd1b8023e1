// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/counter_random.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/rows.h"
#include "kernels/op_costs.h"

#include <bit>

namespace inferoscope::kernels::cuda {
namespace {

// A block picks a row's token, by the rules of core's Sampler: each filter leaves the best so many ids, and a draw
// finds the one where the summed weight of the best passes a random share of all. So all it takes is to find, without
// sorting, where the best ids reach an amount: a count or a weight. Weights are whole numbers, whose sums no order
// changes.
constexpr int kThreads = 1024;
constexpr int kBins = 1024;
constexpr int kDigitBits = 10;
constexpr int kIdBits = 18;
constexpr int kDigits = (32 + kIdBits) / kDigitBits;
constexpr int kMostIds = 1 << kIdBits;
constexpr int kChangeThreads = 64;
constexpr float kOne = 0x1p44F;  // the best id's weight
static_assert(kDigits * kDigitBits == 32 + kIdBits && kBins == 1 << kDigitBits);

using Rank = std::uint64_t;
constexpr Rank kNone = 0;  // nobody's rank
constexpr Rank kBroken = ~std::uint64_t{0};

// The larger, the better: by logit, the lower id first among equals.
GPU_DEVICE Rank rankOf(float logit, int id) {
  const float value = logit + 0.0F;  // one zero only
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t key = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return Rank{key} << kIdBits | static_cast<Rank>(kMostIds - 1 - id);
}
GPU_DEVICE int idOf(Rank rank) {
  return kMostIds - 1 - static_cast<int>(rank & (kMostIds - 1));
}

// Logits that are -infinity are banned: neither counted nor weighed.
struct Row {
  const float* logits;
  int num_ids;
  float largest;
  float temperature;

  template <class Body>
  GPU_MEMBER void forEach(const Body& body) const {
    for (auto id = static_cast<int>(threadIdx.x); id < num_ids; id += kThreads) {
      if (logits[id] != -INFINITY) body(logits[id], id);
    }
  }
  GPU_MEMBER float weight(float logit) const { return expf((logit - largest) / temperature); }
  GPU_MEMBER std::uint64_t amount(float logit, bool counting) const {
    return counting ? 1 : static_cast<std::uint64_t>(weight(logit) * kOne);
  }
  // A first, coarse digit of the rank that spreads likely ids over many bins, and unlikely ones over few.
  GPU_MEMBER int binOf(float logit) const {
    return static_cast<int>(fminf((largest - logit) / temperature * 32.0F, float{kBins - 1}));
  }
};

struct WarpLargest {
  GPU_MEMBER Rank operator()(Rank value) const {
    for (int distance = 16; distance > 0; distance /= 2) {
      const Rank other = shuffleXor(value, distance);
      value = value < other ? other : value;
    }
    return value;
  }
};

// Where the bins, from the first on, reach `target`, and what those before it hold.
struct Reached {
  int bin;
  std::uint64_t before;
};
GPU_DEVICE void findBin(const std::uint64_t* bins, std::uint64_t target, Reached& reached) {
  constexpr int kOfLane = kBins / 32;
  const auto lane = static_cast<int>(threadIdx.x);
  std::uint64_t mine = 0;
  for (int i = 0; i < kOfLane; ++i) mine += bins[lane * kOfLane + i];
  std::uint64_t before = 0;
  for (int other = 0; other < 32; ++other) {
    const std::uint64_t theirs = shuffle(mine, other);
    if (other < lane) before += theirs;
  }
  if (before >= target || before + mine < target) return;
  int bin = lane * kOfLane;
  while (before + bins[bin] < target) before += bins[bin++];
  reached = {bin, before};
}

// The rank of the last of the fewest, best ids that together reach `target`, which all together do and none does not:
// digit by digit, the best digit in the first bin.
GPU_DEVICE Rank rankThatReaches(const Row& row, bool counting, std::uint64_t target) {
  using Bins = std::uint64_t[kBins];
  GPU_SHARED(Bins, bins);
  GPU_SHARED(Reached, reached);
  int coarse = 0;
  Rank prefix = 0;
  for (int level = 0; level <= kDigits; ++level) {
    const int shift = kDigitBits * (kDigits - level);
    for (auto i = static_cast<int>(threadIdx.x); i < kBins; i += kThreads) bins[i] = 0;
    syncBlock();
    row.forEach([&](float logit, int id) {
      int bin = row.binOf(logit);
      if (level > 0) {
        const Rank rank = rankOf(logit, id);
        if (bin != coarse || rank >> shift >> kDigitBits != prefix) return;
        bin = kBins - 1 - static_cast<int>(rank >> shift & (kBins - 1));
      }
      addAtomically(bins + bin, row.amount(logit, counting));
    });
    syncBlock();
    if (threadIdx.x < 32) findBin(bins, target, reached);
    syncBlock();
    target -= reached.before;
    if (level == 0) {
      coarse = reached.bin;
    } else {
      prefix = prefix << kDigitBits | static_cast<Rank>(kBins - 1 - reached.bin);
    }
  }
  return prefix;
}

// Of the ids from `last` up that weigh at least min_weight.
GPU_DEVICE std::uint64_t amountOf(const Row& row, Rank last, float min_weight, bool counting) {
  std::uint64_t sum = 0;
  row.forEach([&](float logit, int id) {
    if (rankOf(logit, id) >= last && row.weight(logit) >= min_weight) sum += row.amount(logit, counting);
  });
  return blockSum(sum);
}

GPU_DEVICE Rank draw(const Row& row, const SampleParams& params) {
  Rank last = kNone;
  const auto top_k = static_cast<std::uint64_t>(params.top_k > 0 ? params.top_k : 0);
  if (top_k > 0 && top_k < amountOf(row, kNone, 0.0F, true)) last = rankThatReaches(row, true, top_k);
  std::uint64_t total = amountOf(row, last, 0.0F, false);
  if (params.top_p < 1.0F) {
    const double share = ceil(static_cast<double>(params.top_p) * static_cast<double>(total));
    last = rankThatReaches(row, false, share < 1.0 ? 1 : static_cast<std::uint64_t>(share));
    total = amountOf(row, last, 0.0F, false);
  }
  if (params.min_p > 0.0F) total = amountOf(row, last, fminf(params.min_p, 1.0F), false);
  const double passed = uniformAt(params.seed, params.position) * static_cast<double>(total);
  const std::uint64_t target = static_cast<std::uint64_t>(passed) + 1;
  return rankThatReaches(row, false, target < total ? target : total);
}

GPU_KERNEL void sampleRow(const float* logits, const SampleParams* params, std::int32_t* out, int vocab_size,
                          int num_ids) {
  const float* row_logits = logits + std::int64_t{blockIdx.x} * vocab_size;
  Rank best = kNone;
  for (auto id = static_cast<int>(threadIdx.x); id < num_ids; id += kThreads) {
    const float logit = row_logits[id];
    Rank rank = logit != -INFINITY ? rankOf(logit, id) : kNone;
    if (!(logit < INFINITY)) rank = kBroken;  // NaN is not less either
    best = best < rank ? rank : best;
  }
  best = blockReduce(best, kNone, WarpLargest{});
  std::int32_t token = kNoToken;
  if (best != kNone && best != kBroken) {
    const SampleParams own = params[blockIdx.x];
    const bool greedy = !(own.temperature >= kLeastTemperature);
    token = idOf(greedy ? best : draw({row_logits, num_ids, row_logits[idOf(best)], own.temperature}, own));
  }
  if (threadIdx.x == 0) out[blockIdx.x] = token;
}

// Those of row -1 fill the launch up.
GPU_KERNEL void changeLogits(float* logits, const LogitChange* changes, int vocab_size) {
  const LogitChange change = changes[blockIdx.x * kChangeThreads + threadIdx.x];
  if (change.row < 0) return;
  float& logit = logits[std::int64_t{change.row} * vocab_size + change.id];
  const float biased = logit + change.bias;
  logit = biased > 0.0F ? biased / change.penalty : biased * change.penalty;
}

// As many as a power of two: the number differs from step to step, and a graph holds the size of a launch fast.
void launchChanges(const SampleArgs& args, DeviceQueue& queue) {
  if (args.num_changes == 0) return;
  const std::size_t count = std::bit_ceil(static_cast<std::size_t>(std::max(args.num_changes, kChangeThreads)));
  std::vector<LogitChange> changes(args.changes, args.changes + args.num_changes);
  changes.resize(count, {.row = -1, .id = 0, .bias = 0.0F, .penalty = 1.0F});
  queue.launch(changeLogits, Dim3(static_cast<unsigned>(count) / kChangeThreads), Dim3(kChangeThreads), 0, args.logits,
               queue.stage(changes), args.vocab_size);
}

void run(const SampleArgs& args, const Exec& exec) {
  DeviceQueue& queue = DeviceQueue::of(exec);
  launchChanges(args, queue);
  queue.launch(sampleRow, Dim3(static_cast<unsigned>(args.num_tokens)), Dim3(kThreads), 0, args.logits,
               queue.onDevice(args.params, args.num_tokens), args.out, args.vocab_size, args.num_ids);
}

std::string supports(const SampleArgs& args) {
  if (args.num_ids <= kMostIds) return {};
  return "a vocabulary of " + std::to_string(args.num_ids) + " ids is larger than " + std::to_string(kMostIds);
}

}  // namespace

Kernel<SampleArgs> sampleRows() {
  return {"sample.cuda", "plain",    "Pick the next tokens", kThisDevice,
          supports,      sampleCost, noScratch<SampleArgs>,  run};
}

}  // namespace inferoscope::kernels::cuda
