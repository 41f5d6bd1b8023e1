// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/online_softmax.h"

#include "tests/support/kernel_cases.h"

#include <QTest>

#include <array>

using namespace inferoscope;
using kernels::OnlineSoftmax;

namespace {

constexpr int kDim = 3;

// A state with its o, and the same sums in double precision.
struct Sum {
  OnlineSoftmax state;
  std::array<float, kDim> o;

  Sum() { init(state, o.data(), kDim); }
  void push(float score, const std::array<float, kDim>& value) {
    kernels::push(state, o.data(), kDim, score, value.data());
  }
  void merge(const Sum& part) { kernels::merge(state, o.data(), part.state, part.o.data(), kDim); }
  std::array<float, kDim> result() const {
    std::array<float, kDim> out = o;
    normalize(state, out.data(), kDim);
    return out;
  }
};

struct Item {
  float score;
  std::array<float, kDim> value;
};

std::array<double, kDim> softmaxSum(std::span<const Item> items) {
  double largest = -INFINITY;
  for (const Item& item : items) largest = std::max(largest, double{item.score});
  std::array<double, kDim> out = {};
  double sum = 0.0;
  for (const Item& item : items) {
    const double weight = std::exp(item.score - largest);
    sum += weight;
    for (int d = 0; d < kDim; ++d) out[d] += weight * item.value[d];
  }
  for (double& x : out) x /= sum;
  return out;
}

std::vector<Item> randomItems(int count, float spread) {
  tests::Random random(3);
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    items.push_back({random.uniform(-spread, spread), {random.uniform(-1, 1), random.uniform(-1, 1), 1.0F}});
  }
  return items;
}

void compare(const Sum& got, const std::array<double, kDim>& expected) {
  for (int d = 0; d < kDim; ++d) QVERIFY(std::fabs(got.result()[d] - expected[d]) < 1e-5);
}

}  // namespace

class TestOnlineSoftmax : public QObject {
  Q_OBJECT

 private slots:
  void pushesAddUpToSoftmax_data() {
    QTest::addColumn<float>("spread");
    for (const float spread : {0.0F, 1.0F, 30.0F, 500.0F}) QTest::addRow("scores within %g", double{spread}) << spread;
  }
  void pushesAddUpToSoftmax() {
    QFETCH(const float, spread);
    const std::vector<Item> items = randomItems(200, spread);
    Sum sum;
    for (const Item& item : items) sum.push(item.score, item.value);
    compare(sum, softmaxSum(items));
  }

  void partsMerge() {
    const std::vector<Item> items = randomItems(90, 20.0F);
    for (const std::size_t cut : {0U, 1U, 45U, 89U, 90U}) {
      Sum first;
      Sum second;
      for (std::size_t i = 0; i < items.size(); ++i) (i < cut ? first : second).push(items[i].score, items[i].value);
      first.merge(second);
      compare(first, softmaxSum(items));
    }
  }

  void nothingSeenGivesZeros() {
    Sum sum;
    sum.push(-INFINITY, {1, 2, 3});
    sum.merge(Sum{});
    QCOMPARE(sum.result(), (std::array<float, kDim>{0, 0, 0}));
  }

  // A finite stand-in for -inf would hide these.
  void scoresBelowAnyStandIn() {
    Sum sum;
    sum.push(-INFINITY, {9, 9, 9});
    sum.push(-3e38F, {1, 2, 3});
    sum.push(-INFINITY, {9, 9, 9});
    QCOMPARE(sum.result(), (std::array<float, kDim>{1, 2, 3}));
  }

  void mergingAnEmptyPartChangesNothing() {
    Sum sum;
    sum.push(-2.5F, {0.1F, 0.2F, 0.3F});
    const Sum before = sum;
    sum.merge(Sum{});
    QCOMPARE(sum.o, before.o);
    QCOMPARE(sum.state.d, before.state.d);
    Sum empty;
    empty.merge(before);
    QCOMPARE(empty.o, before.o);
  }

  void notANumberShows() {
    Sum sum;
    sum.push(1.0F, {1, 1, 1});
    sum.push(NAN, {1, 1, 1});
    sum.push(2.0F, {1, 1, 1});
    QVERIFY(std::isnan(sum.result()[0]));
  }
};

QTEST_GUILESS_MAIN(TestOnlineSoftmax)
#include "tst_online_softmax.moc"
