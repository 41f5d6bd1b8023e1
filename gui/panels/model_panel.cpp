// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/model_panel.h"

#include "core/model/model.h"
#include "gui/paint/number_format.h"

#include <QDateTime>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>
#include <vector>

namespace inferoscope::gui {
namespace {

using TableRows = std::vector<std::pair<QString, QString>>;

QString table(const TableRows& rows) {
  QString html = QStringLiteral("<table cellspacing='3'>");
  for (const auto& [name, value] : rows) {
    html += QStringLiteral("<tr><td>%1</td><td><b>%2</b></td></tr>").arg(name, value.toHtmlEscaped());
  }
  return html + QStringLiteral("</table>");
}

QString formats(const ModelInfo& model) {
  QStringList parts;
  for (const auto& [name, bytes] : model.format_bytes) {
    parts << QStringLiteral("%1 %2").arg(QString::fromStdString(name), bytesText(bytes));
  }
  return parts.join(QStringLiteral(", "));
}

QLabel* makeLabel() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  return label;
}

}  // namespace

ModelPanel::ModelPanel(QWidget* parent) : QWidget(parent) {
  m_notices = makeLabel();
  m_model = makeLabel();
  m_model->setText(tr("No model loaded."));
  m_limits = makeLabel();
  m_limits->setText(tr("The machine's ceilings are not measured yet."));
  auto* probe = new QPushButton(tr("&Measure again"));
  probe->setToolTip(tr("Measures the ceilings with the present number of threads; takes about a second"));
  connect(probe, &QPushButton::clicked, this, &ModelPanel::probeClicked);

  auto* inner = new QWidget;
  auto* rows = new QVBoxLayout(inner);
  rows->setContentsMargins(8, 4, 8, 4);
  rows->addWidget(makeRecent());
  rows->addWidget(m_notices);
  rows->addWidget(m_model);
  rows->addWidget(m_limits);
  rows->addWidget(probe, 0, Qt::AlignLeft);
  rows->addStretch();
  auto* scroll = new QScrollArea;
  scroll->setWidget(inner);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);
}

QWidget* ModelPanel::makeRecent() {
  m_recent = new QListWidget;
  m_recent->setObjectName(QStringLiteral("recent-models"));
  m_recent->setAccessibleName(tr("Recent models"));
  m_recent->setTextElideMode(Qt::ElideLeft);  // names are at the end
  m_recent->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  m_open = new QPushButton(tr("Open"));
  m_open->setObjectName(QStringLiteral("open-recent"));
  m_open->setEnabled(false);
  m_estimate = makeLabel();
  m_estimate->setObjectName(QStringLiteral("memory-estimate"));
  m_estimate->setText(tr("Choose one to see what it would take of the memory."));
  m_estimate->setToolTip(
      tr("Weights as stored, and beside them in another format where the knobs ask for one + KV budget + activations "
         "of the largest step, against the memory that the system says can "
         "still be had. From the file's header and the knobs, before anything is loaded."));
  connect(m_recent, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
    m_open->setEnabled(item != nullptr);
    if (item != nullptr) emit sourceChosen(chosenSource());
  });
  connect(m_recent, &QListWidget::itemActivated, this, [this] { emit openClicked(chosenSource()); });
  connect(m_open, &QPushButton::clicked, this, [this] { emit openClicked(chosenSource()); });

  auto* box = new QWidget;
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(new QLabel(tr("Recent models")));
  layout->addWidget(m_recent);
  auto* row = new QHBoxLayout;
  row->addWidget(m_estimate, 1);
  row->addWidget(m_open, 0, Qt::AlignTop);
  layout->addLayout(row);
  return box;
}

QString ModelPanel::chosenSource() const {
  const QListWidgetItem* item = m_recent->currentItem();
  return item == nullptr ? QString() : item->data(Qt::UserRole).toString();
}

void ModelPanel::showRecent(const QStringList& sources) {
  const QSignalBlocker quiet(m_recent);
  m_recent->clear();
  for (const QString& source : sources) {
    const bool is_file = source.startsWith(QLatin1Char('/'));
    auto* item = new QListWidgetItem(is_file ? QFileInfo(source).fileName() : source, m_recent);
    item->setData(Qt::UserRole, source);
    item->setToolTip(source);
    if (is_file && !QFileInfo::exists(source)) item->setFlags(Qt::NoItemFlags);
  }
  m_open->setEnabled(false);
  const int num_rows = std::clamp(m_recent->count(), 2, 5);
  m_recent->setFixedHeight(num_rows * (fontMetrics().height() + 4) + 2 * m_recent->frameWidth());
}

void ModelPanel::showEstimate(const QString& source, const core::MemoryEstimate& estimate) {
  const QString sum =
      tr("%1: weights %2 + KV cache %3 + activations %4 = %5")
          .arg(QFileInfo(source).fileName(), bytesText(estimate.weight_bytes), bytesText(estimate.kv_bytes),
               bytesText(estimate.activation_bytes), bytesText(estimate.bytes()));
  const QString room = estimate.available_bytes > 0 ? tr("; %1 are free.").arg(bytesText(estimate.available_bytes))
                                                    : tr("; the system does not say what is free.");
  const QString warning =
      estimate.fits() ? QString() : tr("<br><b>⚠ It won't fit.</b> Choose a smaller model, or lower the KV budget.");
  m_estimate->setText((sum + room).toHtmlEscaped() + warning);
}

void ModelPanel::showEstimateFailure(const QString& source, const QString& reason) {
  m_estimate->setText(QStringLiteral("%1: %2").arg(QFileInfo(source).fileName(), reason).toHtmlEscaped());
}

void ModelPanel::showModel(const ModelInfo& model) {
  m_info = model;
  refresh();
}

void ModelPanel::showOptions(const core::EngineOptions& options) {
  if (!m_info) return;
  m_info->kv_bytes_per_token = core::kvBytesPerToken(m_info->config, options.kv_format);
  refresh();
}

void ModelPanel::refresh() {
  const ModelInfo& model = *m_info;
  QStringList notices;
  for (const std::string& notice : model.notices) notices << QStringLiteral("• ") + QString::fromStdString(notice);
  m_notices->setText(notices.join(QLatin1Char('\n')));
  m_notices->setVisible(!notices.isEmpty());
  const core::ModelConfig& config = model.config;
  m_model->setText(table({
      {tr("Name"), QString::fromStdString(config.name)},
      {tr("Source"), QString::fromStdString(model.source)},
      {tr("Architecture"), QString::fromStdString(config.architecture)},
      {tr("Layers"), countText(config.num_layers)},
      {tr("Model dim"), countText(config.model_dim)},
      {tr("Hidden dim"), countText(config.hidden_dim)},
      {tr("Heads"),
       tr("%1, %2 for keys and values, of %3").arg(config.num_heads).arg(config.num_kv_heads).arg(config.head_dim)},
      {tr("Vocabulary"), countText(config.vocab_size)},
      {tr("Context"), tr("%1 tokens").arg(countText(config.context_length))},
      {tr("Tokenizer"), QString::fromStdString(model.tokenizer)},
      {tr("Chat"), QString::fromStdString(model.chat_family)},
      {tr("Weights"), bytesText(model.weight_bytes)},
      {tr("Formats"), formats(model)},
      {tr("KV per token"), bytesText(model.kv_bytes_per_token)},
  }));
}

void ModelPanel::showLimits(const core::MachineLimits& limits) {
  if (!limits.measured()) return;
  const QDateTime when = QDateTime::fromSecsSinceEpoch(limits.measured_at_unix_s);
  TableRows rows = {{tr("Read bandwidth"), byteRateText(limits.read_bytes_per_s)}};
  const auto add = [&](const QString& name, double per_s, QString (*text)(double)) {
    if (per_s > 0) rows.emplace_back(name, text(per_s));
  };
  add(tr("... in cache"), limits.cache_read_bytes_per_s, byteRateText);
  add(tr("fp32"), limits.fp32_flop_per_s, flopRateText);
  add(tr("f16 in matrix units"), limits.f16_flop_per_s, flopRateText);
  add(tr("int8 dots"), limits.int8_op_per_s, opRateText);
  rows.emplace_back(tr("Last-level cache"),
                    limits.last_level_cache_bytes > 0 ? bytesText(limits.last_level_cache_bytes) : nothing());
  rows.emplace_back(tr("... that keeps a stream"), bytesText(limits.cache_reach_bytes));
  rows.emplace_back(tr("Threads"), countText(limits.num_threads));
  rows.emplace_back(tr("Measured"), displayLocale().toString(when, QLocale::ShortFormat));
  m_limits->setText(table(rows));
}

}  // namespace inferoscope::gui
