// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/verdict_panel.h"

#include "core/observe/compared_metrics.h"
#include "gui/paint/marks.h"
#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

namespace inferoscope::gui {
namespace {

enum Column { kFigure, kA, kB, kRatio, kVerdict, kInterval, kSamples, kDifference, kPinned, kNumColumns };

constexpr double kAnswerScale = 1.3;  // of the window's font
constexpr const char* kMainFigure = "output_tok_s";

QString text(const std::string& words) {
  return QString::fromStdString(words);
}

QString amountText(const std::string& unit, double value) {
  if (unit == "share") return shareText(value);
  if (unit == "bytes") return movedBytesText(value);
  if (unit == "ms") return millisecondsText(value);
  const QString number =
      value == std::round(value) && std::abs(value) < 1e9 ? countText(std::llround(value)) : significantText(value);
  return unit.empty() ? number : QStringLiteral("%1 %2").arg(number, text(unit));
}

QString amountText(const std::string& unit, const std::optional<double>& value) {
  return value ? amountText(unit, *value) : nothing();
}

QString differenceText(const core::Difference& row) {
  if (!row.a || !row.b) return nothing();
  const double change = *row.b - *row.a;
  if (change == 0) return QStringLiteral("0");
  return (change > 0 ? QStringLiteral("+") : QStringLiteral("−")) + amountText(row.unit, std::abs(change));
}

QString timesText(const std::optional<double>& ratio) {
  return ratio ? significantText(*ratio) + QStringLiteral("×") : nothing();
}

QString intervalText(const std::optional<core::Interval>& interval) {
  return interval ? VerdictPanel::tr("%1 to %2").arg(significantText(interval->low), significantText(interval->high))
                  : nothing();
}

bool isClear(const core::Difference& row) {
  return row.a && row.b && row.verdict != "no clear difference" && row.verdict != "one sample";
}

std::optional<double> figureOf(const core::RunSummary& run, const std::string& id) {
  for (const core::ComparedMetric& metric : core::comparedMetrics()) {
    if (metric.id == id) return metric.value(run);
  }
  return std::nullopt;
}

QString qualityText(const core::Quality& quality) {
  QStringList parts;
  if (quality.num_answers > 0) {
    parts << VerdictPanel::tr("%1 of %2 answers are equal token by token")
                 .arg(countText(quality.num_equal_answers), countText(quality.num_answers));
  }
  if (quality.first_divergent_token) {
    parts << VerdictPanel::tr("the first other token comes after %1 equal ones")
                 .arg(countText(*quality.first_divergent_token));
  }
  if (quality.kl_mean) {
    const auto small = [](double value) { return displayLocale().toString(value, 'g', 3); };
    parts << VerdictPanel::tr(
                 "over %1 contexts KL(A‖B) is %2 nats on average, %3 at the 99th percentile; the likeliest "
                 "token is the same in %4")
                 .arg(countText(quality.num_rows), small(*quality.kl_mean), small(quality.kl_p99.value_or(0)),
                      shareText(quality.top1_agreement.value_or(0)));
  }
  if (const auto& read = quality.text) {
    parts << VerdictPanel::tr("perplexity on %1: A %2, B %3 (%4 tokens, KL(A‖B) %5 nats on average)")
                 .arg(text(read->name), significantText(read->perplexity_a), significantText(read->perplexity_b),
                      countText(read->num_tokens), displayLocale().toString(read->kl_mean, 'g', 3));
  }
  return parts.join(QStringLiteral("; "));
}

}  // namespace

VerdictPanel::VerdictPanel(QWidget* parent) : QWidget(parent) {
  buildUi();
  refresh();
}

void VerdictPanel::buildUi() {
  for (QLabel** label : {&m_answer, &m_details, &m_quality}) {
    *label = new QLabel;
    (*label)->setWordWrap(true);
    (*label)->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  m_answer->setObjectName(QStringLiteral("answer"));
  QFont large = m_answer->font();
  large.setPointSizeF(large.pointSizeF() * kAnswerScale);
  large.setBold(true);
  m_answer->setFont(large);
  m_table = new QTreeWidget;
  m_table->setObjectName(QStringLiteral("figures"));
  m_table->setAccessibleName(tr("Figures of both lanes"));
  m_table->setRootIsDecorated(false);
  m_table->setFont(smallFont(font()));
  m_table->setAlternatingRowColors(true);
  m_table->setFrameShape(QFrame::NoFrame);
  m_table->setSelectionMode(QAbstractItemView::NoSelection);
  m_table->setHeaderLabels({tr("Figure"), tr("A"), tr("B"), tr("B ÷ A"), tr("Verdict"), tr("95% interval"), tr("n"),
                            tr("B − A"), tr("Pinned")});
  const auto explain = [this](Column column, const QString& words) {
    m_table->headerItem()->setToolTip(column, words);
  };
  explain(kA, tr("Median over the repeats"));
  explain(kB, tr("Median over the repeats"));
  explain(kRatio, tr("Geometric mean of the ratios, pair by pair"));
  explain(kInterval, tr("Where the ratio lies with 95% confidence: bootstrap over the pairs, widened for few of them"));
  explain(kSamples,
          tr("Pairs: repeats; while the comparison runs, steps of the same batch or requests of the one run"));
  explain(kVerdict, tr("A difference is clear if the whole interval is more than 2% away from 1"));
  explain(kPinned, tr("The pinned run's figure, and what B is of it"));
  m_table->header()->setStretchLastSection(false);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  auto* top = new QHBoxLayout;
  top->addWidget(m_answer, 1);
  top->addLayout(makeButtons());
  layout->addLayout(top);
  layout->addWidget(m_details);
  layout->addWidget(m_table, 1);
  layout->addWidget(m_quality);
}

QLayout* VerdictPanel::makeButtons() {
  auto* open_file = new QPushButton(tr("Open..."));
  open_file->setToolTip(tr("A comparison that was saved: its model is not needed"));
  connect(open_file, &QPushButton::clicked, this, &VerdictPanel::chooseAndOpen);
  m_save = new QPushButton(tr("Save..."));
  m_save->setToolTip(tr("As .json, which can be opened again, as .csv, or as a page, .html"));
  connect(m_save, &QPushButton::clicked, this, &VerdictPanel::chooseAndSave);
  m_pin = new QPushButton(tr("Pin"));
  m_pin->setToolTip(tr("Keeps a run's figures as a baseline beside all later comparisons"));
  auto* lanes = new QMenu(m_pin);
  m_pin_lanes = {lanes->addAction(tr("Lane A"), this, [this] { pin(false); }),
                 lanes->addAction(tr("Lane B"), this, [this] { pin(true); })};
  lanes->addAction(tr("The run with one lane"), this, &VerdictPanel::runWanted);
  lanes->addAction(tr("None"), this, [this] {
    m_pinned.reset();
    refresh();
  });
  m_pin->setMenu(lanes);
  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {open_file, m_save, m_pin}) buttons->addWidget(button, 0, Qt::AlignTop);
  return buttons;
}

void VerdictPanel::showComparison(std::shared_ptr<const core::Comparison> comparison, bool finished) {
  m_comparison = std::move(comparison);
  m_finished = finished;
  refresh();
}

void VerdictPanel::showProgress(const QString& doing) {
  m_doing = doing;
}

void VerdictPanel::showEnded() {
  m_doing = tr("stopped before its end");
  refresh();
}

void VerdictPanel::open(const QString& file) {
  try {
    m_doing.clear();
    showComparison(std::make_shared<const core::Comparison>(core::openComparison(file.toStdString())), true);
  } catch (const std::exception& error) {
    emit failed(QString::fromUtf8(error.what()));
  }
}

void VerdictPanel::save(const QString& file) {
  if (!m_comparison) return;
  try {
    core::saveComparison(*m_comparison, file.toStdString());
  } catch (const std::exception& error) {
    emit failed(QString::fromUtf8(error.what()));
  }
}

void VerdictPanel::chooseAndOpen() {
  const QString file = QFileDialog::getOpenFileName(this, tr("Open a comparison"), {}, tr("Comparisons (*.json)"));
  if (!file.isEmpty()) open(file);
}

void VerdictPanel::chooseAndSave() {
  const QString file = QFileDialog::getSaveFileName(this, tr("Save the comparison"), QStringLiteral("comparison.json"),
                                                    tr("Comparison (*.json);;Table (*.csv);;Page (*.html)"));
  if (!file.isEmpty()) save(file);
}

void VerdictPanel::pin(bool lane_b) {
  if (!m_comparison) return;
  m_pinned = Pinned{tr("%1, lane %2").arg(text(m_comparison->title), lane_b ? tr("B") : tr("A")),
                    lane_b ? m_comparison->b.run : m_comparison->a.run};
  refresh();
}

void VerdictPanel::pinRun(const core::RunSummary& run, const QString& name) {
  if (run.num_steps == 0) return emit failed(tr("Nothing has run yet that could be pinned: press Run first."));
  m_pinned = Pinned{name, run};
  refresh();
}

void VerdictPanel::refresh() {
  const bool any = m_comparison != nullptr;
  m_answer->setText(answer());
  m_details->setText(details());
  m_details->setVisible(any);
  m_details->setToolTip(notes());
  m_quality->setText(any ? qualityText(m_comparison->quality) : QString());
  m_quality->setVisible(!m_quality->text().isEmpty());
  m_table->setVisible(any || m_pinned);
  m_save->setEnabled(any && m_finished);
  for (QAction* lane : m_pin_lanes) lane->setEnabled(any && m_finished);
  if (any || m_pinned) fillTable();
}

QString VerdictPanel::answer() const {
  if (!m_comparison && m_pinned)
    return tr("%1 is pinned: compare two settings to see them beside it").arg(m_pinned->name);
  if (!m_comparison) return tr("Nothing compared yet: choose two settings in the Compare panel.");
  const auto& rows = m_comparison->differences;
  const auto row = std::ranges::find(rows, kMainFigure, &core::Difference::metric);
  if (row == rows.end()) return nothing();
  if (m_finished) return tr("Output: %1").arg(text(row->verdict));
  return tr("So far (%1): output %2, %3").arg(m_doing, timesText(row->ratio), text(row->verdict));
}

// "batching static against continuous · Short and long answers · SmolLM2 · 3 repeats, 0 dropped · 2 notes".
QString VerdictPanel::details() const {
  if (!m_comparison) return {};
  const core::Comparison& all = *m_comparison;
  QStringList parts = {text(core::whatDiffers(all.a.run.options, all.b.run.options)), text(all.title),
                       text(all.model_name)};
  if (m_finished) parts << text(core::repeatsWords(all));
  if (!all.notices.empty()) parts << tr("%n note(s): point here", nullptr, static_cast<int>(all.notices.size()));
  return parts.join(QStringLiteral("  ·  "));
}

QString VerdictPanel::notes() const {
  QStringList lines;
  if (m_comparison) {
    for (const std::string& notice : m_comparison->notices) lines << tr("Note: %1.").arg(text(notice));
  }
  return lines.isEmpty() ? QString() : tipText(lines.join(QLatin1Char('\n')));
}

// Of a comparison; without one the figures that a pinned run can have.
std::vector<core::Difference> VerdictPanel::rows() const {
  if (m_comparison) return m_comparison->differences;
  std::vector<core::Difference> rows;
  for (const core::ComparedMetric& metric : core::comparedMetrics()) {
    core::Difference row;
    row.metric = metric.id;
    row.label = metric.label;
    row.unit = metric.unit;
    rows.push_back(row);
  }
  return rows;
}

void VerdictPanel::fillTable() {
  const std::vector<core::Difference> rows = this->rows();
  while (m_table->topLevelItemCount() > static_cast<int>(rows.size())) delete m_table->takeTopLevelItem(0);
  while (m_table->topLevelItemCount() < static_cast<int>(rows.size())) m_table->addTopLevelItem(new QTreeWidgetItem);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const core::Difference& row = rows[i];
    QTreeWidgetItem& item = *m_table->topLevelItem(static_cast<int>(i));
    const QString pinned_of_b = m_pinned ? amountText(row.unit, figureOf(m_pinned->run, row.metric)) : QString();
    const QStringList cells = {text(row.label),          amountText(row.unit, row.a), amountText(row.unit, row.b),
                               timesText(row.ratio),     text(row.verdict),           intervalText(row.ci95),
                               countText(row.num_pairs), differenceText(row),         pinned_of_b};
    QFont font = m_table->font();
    font.setBold(isClear(row));
    for (int column = 0; column < kNumColumns; ++column) {
      item.setText(column, cells[column]);
      item.setFont(column, column == kVerdict ? font : m_table->font());
      const bool words = column == kFigure || column == kVerdict;
      item.setTextAlignment(column, Qt::AlignVCenter | (words ? Qt::AlignLeft : Qt::AlignRight));
    }
  }
  for (int column = kA; column < kPinned; ++column) m_table->setColumnHidden(column, !m_comparison);
  m_table->setColumnHidden(kPinned, !m_pinned);
  if (m_pinned) m_table->headerItem()->setText(kPinned, tr("Pinned: %1").arg(m_pinned->name));
  for (int column = 0; column < kNumColumns; ++column) m_table->resizeColumnToContents(column);
}

}  // namespace inferoscope::gui
