// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/error.h"
#include "core/run/kernel_set.h"

#include <QTest>

using namespace inferoscope;

namespace {

template <class Args>
std::string idsOf(const core::KernelSet::Rows<Args>& rows) {
  std::string ids;
  for (const auto* row : rows) ids += std::string(row->id) + " ";
  return ids;
}

std::string attentionIds(const char* choice) {
  return idsOf(core::chooseKernels(kernels::Device::kCpu, {.attention = choice}).attention);
}

}  // namespace

class TestKernelSet : public QObject {
  Q_OBJECT

 private slots:
  // Rows that share a choice keep the catalog's order: the fast one first.
  void chosenRowsComeFirst() {
    QCOMPARE(attentionIds("flash"),
             "attention.flash_avx512 attention.flash attention.flash_scalar attention.naive_avx512 attention.naive "
             "attention.naive_scalar ");
    QCOMPARE(attentionIds("naive"),
             "attention.naive_avx512 attention.naive attention.naive_scalar attention.flash_avx512 attention.flash "
             "attention.flash_scalar ");
  }

  void unknownChoiceIsRefused() {
    try {
      attentionIds("fast");
      QFAIL("not refused");
    } catch (const core::Error& error) {
      QCOMPARE(QString(error.what()), "attention: this device has no \"fast\" kernel, only flash, naive");
    }
  }
};

QTEST_GUILESS_MAIN(TestKernelSet)
#include "tst_kernel_set.moc"
