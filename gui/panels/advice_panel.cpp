// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/advice_panel.h"

#include "core/engine/knobs.h"
#include "gui/paint/number_format.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QVBoxLayout>

#include <algorithm>

namespace inferoscope::gui {
namespace {

enum Column { kSwitch, kValue, kThroughput, kMeasured, kTtft, kItl, kNumColumns };

QString times(double ratio) {
  return significantText(ratio) + QStringLiteral("×");
}

std::string key(const std::string& knob, const std::string& value) {
  return knob + " " + value;
}

QString labelOf(const std::string& id) {
  const core::Knob* knob = core::findKnob(id);
  return knob == nullptr ? QString::fromStdString(id)
                         : QString::fromUtf8(knob->label.data(), static_cast<qsizetype>(knob->label.size()));
}

}  // namespace

AdvicePanel::AdvicePanel(QWidget* parent) : QWidget(parent) {
  m_words = new QLabel(tr("Nothing predicted yet. Let the workload run for some seconds, then press Predict."));
  m_words->setObjectName(QStringLiteral("advice-words"));
  m_words->setWordWrap(true);
  m_words->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  m_table = new QTreeWidget;
  m_table->setObjectName(QStringLiteral("advice"));
  m_table->setAccessibleName(tr("Switches by predicted gain"));
  m_table->setRootIsDecorated(false);
  m_table->setAlternatingRowColors(true);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setHeaderLabels(
      {tr("Switch"), tr("To"), tr("Output, predicted"), tr("Measured"), tr("TTFT"), tr("ITL p99")});
  m_table->headerItem()->setToolTip(kThroughput, tr("Output tokens per second of computing, over those of now"));
  m_table->headerItem()->setToolTip(kMeasured,
                                    tr("Output tokens/s of a comparison of just this switch, with its 95% interval"));
  m_table->headerItem()->setToolTip(kTtft, tr("Median time to the first token, over that of now: less is better"));
  m_table->headerItem()->setToolTip(kItl,
                                    tr("99th percentile of the gaps between tokens, over that of now: less is better"));
  m_table->header()->setStretchLastSection(false);
  m_predict = new QPushButton(tr("Predict"));
  m_predict->setObjectName(QStringLiteral("predict"));
  m_predict->setToolTip(
      tr("Plans the workload with every switch turned, computing nothing, by what each kernel took so far"));
  m_measure = new QPushButton(tr("Measure the chosen one"));
  m_measure->setObjectName(QStringLiteral("measure"));
  connect(m_predict, &QPushButton::clicked, this, [this] {
    m_words->setText(tr("Predicting..."));
    emit wanted();
  });
  connect(m_measure, &QPushButton::clicked, this, [this] {
    const int row = m_table->indexOfTopLevelItem(m_table->currentItem());
    if (row < 0) return;
    const core::Advice& chosen = m_advice[static_cast<std::size_t>(row)];
    emit measureClicked(QString::fromStdString(chosen.knob), QString::fromStdString(chosen.value));
  });
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(m_predict);
  buttons->addWidget(m_measure);
  buttons->addStretch();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addWidget(m_words);
  layout->addWidget(m_table, 1);
  layout->addLayout(buttons);
  refresh();
}

void AdvicePanel::showAdvice(const std::vector<core::Advice>& advice) {
  m_advice = advice;
  const bool helps = !advice.empty() && advice.front().throughput_ratio > 1;
  m_words->setText(helps ? tr("Most would help: %1 to %2, %3 output by prediction.")
                               .arg(labelOf(advice.front().knob), QString::fromStdString(advice.front().value),
                                    times(advice.front().throughput_ratio))
                         : tr("No single switch would help this workload."));
  refresh();
}

void AdvicePanel::showRefusal(const QString& reason) {
  m_words->setText(reason);
}

void AdvicePanel::showMeasured(const core::Comparison& comparison) {
  const core::EngineOptions& a = comparison.a.run.options;
  const core::EngineOptions& b = comparison.b.run.options;
  const auto changed = core::changedKnobs(a, b);
  if (changed.size() != 1) return;
  const auto& rows = comparison.differences;
  const auto row = std::ranges::find(rows, "output_tok_s", &core::Difference::metric);
  if (row == rows.end() || !row->ratio) return;
  QString words = times(*row->ratio);
  if (row->ci95) words += tr(" (%1 to %2)").arg(significantText(row->ci95->low), significantText(row->ci95->high));
  m_measured[key(std::string(changed.front()), core::findKnob(changed.front())->get(b))] = words;
  refresh();
}

void AdvicePanel::refresh() {
  m_table->clear();
  for (const core::Advice& each : m_advice) {
    const auto measured = m_measured.find(key(each.knob, each.value));
    auto* item = new QTreeWidgetItem(
        m_table, {labelOf(each.knob), QString::fromStdString(each.value),
                  each.guessed ? tr("%1, a guess").arg(times(each.throughput_ratio)) : times(each.throughput_ratio),
                  measured == m_measured.end() ? nothing() : measured->second,
                  each.ttft_ratio ? times(*each.ttft_ratio) : nothing(),
                  each.itl_p99_ratio ? times(*each.itl_p99_ratio) : nothing()});
    if (each.guessed) item->setToolTip(kThroughput, tr("It asks for a kernel that has not run here yet"));
    for (int column = kThroughput; column < kNumColumns; ++column) {
      item->setTextAlignment(column, Qt::AlignVCenter | Qt::AlignRight);
    }
  }
  for (int column = 0; column < kNumColumns; ++column) m_table->resizeColumnToContents(column);
  m_table->setVisible(!m_advice.empty());
  m_measure->setEnabled(!m_advice.empty());
}

}  // namespace inferoscope::gui
