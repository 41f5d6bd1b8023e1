// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/compare_panel.h"

#include "core/engine/workload.h"
#include "gui/panels/scroll_column.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <utility>

namespace inferoscope::gui {
namespace {

constexpr int kOwnIndex = 0;  // "settings of your own", before the presets
constexpr int kOwnRequests = 12;
constexpr int kQualityTokens = 256;

QLabel* wordsLabel() {
  auto* label = new QLabel;
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

ComparePanel::ComparePanel(std::vector<core::Preset> presets, QWidget* parent)
    : QWidget(parent), m_presets(std::move(presets)) {
  buildUi();
  connect(m_choice, &QComboBox::currentIndexChanged, this, &ComparePanel::showChosen);
  connect(m_start, &QPushButton::clicked, this, [this] { m_comparing ? emit stopClicked() : start(); });
  connect(m_open_model, &QPushButton::clicked, this, [this] {
    if (preset() != nullptr) emit modelWanted(QString::fromStdString(preset()->model));
  });
  m_choice->setCurrentIndex(m_presets.empty() ? kOwnIndex : kOwnIndex + 1);
  showChosen();
}

void ComparePanel::buildUi() {
  m_choice = new QComboBox;
  m_choice->setObjectName(QStringLiteral("preset"));
  m_choice->setAccessibleName(tr("What to compare"));
  m_choice->addItem(tr("Any two settings"));
  for (const core::Preset& preset : m_presets) m_choice->addItem(QString::fromStdString(preset.title));
  m_choice->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_choice->setMinimumContentsLength(20);
  m_explanation = wordsLabel();
  m_work = wordsLabel();
  m_notices = wordsLabel();
  m_notices->setObjectName(QStringLiteral("notices"));
  m_open_model = new QPushButton;
  m_knobs = new KnobPairGrid;
  m_start = new QPushButton;
  m_start->setObjectName(QStringLiteral("start"));
  m_doing = wordsLabel();
  m_progress = new QProgressBar;
  m_progress->setRange(0, 1000);
  m_progress->setTextVisible(false);
  m_progress->setAccessibleName(tr("Progress of the comparison"));

  auto* inner = new QWidget;
  auto* choices = new QVBoxLayout(inner);
  choices->setContentsMargins(0, 0, 4, 0);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{m_choice, m_explanation, m_work, m_notices, m_open_model, m_knobs}) {
    choices->addWidget(widget);
  }
  choices->addStretch();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 4, 4);
  layout->addWidget(makeScrollColumn(inner), 1);
  layout->addLayout(makeNumbers());
  layout->addLayout(makeChecks());
  for (QWidget* widget : std::initializer_list<QWidget*>{m_start, m_progress, m_doing}) layout->addWidget(widget);
}

QLayout* ComparePanel::makeNumbers() {
  m_requests = new QSpinBox;
  m_requests->setRange(1, 10'000);
  m_requests->setObjectName(QStringLiteral("requests"));
  m_requests->setToolTip(tr("Of a scenario without end: so many make one repeat"));
  m_repeats = new QSpinBox;
  m_repeats->setRange(1, 50);
  m_repeats->setValue(3);
  m_repeats->setObjectName(QStringLiteral("repeats"));
  m_repeats->setToolTip(
      tr("Measured runs of both lanes, by which the intervals are found. One more warms up and is "
         "dropped. With one repeat nothing can be said for sure."));
  auto* numbers = new QHBoxLayout;
  numbers->addWidget(new QLabel(tr("Requests")));
  numbers->addWidget(m_requests, 1);
  numbers->addWidget(new QLabel(tr("Repeats")));
  numbers->addWidget(m_repeats, 1);
  return numbers;
}

QLayout* ComparePanel::makeChecks() {
  m_logits = new QCheckBox(tr("Compare logits"));
  m_logits->setChecked(true);
  m_logits->setToolTip(tr("At the end both settings read A's answers: how far do their predictions lie apart?"));
  m_probe = new QCheckBox(tr("Probe the machine"));
  m_probe->setChecked(true);
  m_probe->setToolTip(tr("Before and after every repeat: one in which the machine drifted by over 10% is dropped"));
  m_text_button = new QPushButton;
  m_text_button->setObjectName(QStringLiteral("text"));
  m_text_button->setToolTip(tr("A text file that both settings read at the end: the perplexity of each on it"));
  connect(m_text_button, &QPushButton::clicked, this, &ComparePanel::chooseText);
  auto* checks = new QHBoxLayout;
  checks->addWidget(m_logits);
  checks->addWidget(m_probe);
  auto* both = new QVBoxLayout;
  both->addLayout(checks);
  both->addWidget(m_text_button);
  return both;
}

// Chosen again, one can be given up.
void ComparePanel::chooseText() {
  if (!m_text.empty()) return useText({});
  const QString file = QFileDialog::getOpenFileName(this, tr("A text to measure perplexity on"), {},
                                                    tr("Texts (*.txt *.md);;All files (*)"));
  if (!file.isEmpty()) useText(file);
}

void ComparePanel::useText(const QString& file) {
  m_text.clear();
  QFile text(file);
  if (!file.isEmpty() && text.open(QIODevice::ReadOnly)) m_text = text.readAll().toStdString();
  m_text_name = m_text.empty() ? QString() : QFileInfo(file).fileName();
  m_doing->setText(file.isEmpty() || !m_text.empty() ? QString() : tr("%1 has no text that can be read").arg(file));
  refresh();
}

const core::Preset* ComparePanel::preset() const {
  const int index = m_choice->currentIndex() - kOwnIndex - 1;
  return index >= 0 ? &m_presets[static_cast<std::size_t>(index)] : nullptr;
}

std::optional<core::Scenario> ComparePanel::scenario() const {
  return preset() == nullptr ? m_workload : core::findScenario(preset()->scenario);
}

void ComparePanel::choosePreset(const QString& id) {
  for (std::size_t i = 0; i < m_presets.size(); ++i) {
    if (m_presets[i].id == id.toStdString()) m_choice->setCurrentIndex(kOwnIndex + 1 + static_cast<int>(i));
  }
}

// A preset's settings on top of its scenario's; of the ones in force only where they are computed stays.
void ComparePanel::showChosen() {
  m_notices->clear();
  if (const core::Preset* chosen = preset()) {
    core::EngineOptions base;
    base.device = m_in_force.device;
    base.threads = m_in_force.threads;
    base = core::optionsOf(core::findScenario(chosen->scenario), base);
    m_knobs->setOptions(core::withKnobs(base, chosen->a), core::withKnobs(base, chosen->b));
    m_requests->setValue(chosen->num_requests);
    emit presetChosen(*chosen);
  } else {
    m_knobs->setOptions(m_in_force, m_in_force);
    m_requests->setValue(kOwnRequests);
  }
  refresh();
}

void ComparePanel::showModel(const ModelInfo& model) {
  m_model = QString::fromStdString(model.source);
  if (preset() != nullptr) emit presetChosen(*preset());
  refresh();
}

void ComparePanel::showOptions(const core::EngineOptions& options) {
  const bool elsewhere = options.device != m_in_force.device || options.threads != m_in_force.threads;
  m_in_force = options;
  if (!m_comparing && (elsewhere || preset() == nullptr)) showChosen();
}

void ComparePanel::showWorkload(const std::optional<core::Scenario>& scenario) {
  m_workload = scenario;
  refresh();
}

void ComparePanel::showNotices(const QString& preset_id, const QStringList& notices) {
  if (preset() == nullptr || preset_id.toStdString() != preset()->id) return;
  m_notices->setText(notices.isEmpty() ? QString()
                                       : tr("May not show here: %1.").arg(notices.join(QStringLiteral("; "))));
  refresh();
}

std::optional<CompareOrder> ComparePanel::order() const {
  const std::optional<core::Scenario> work = scenario();
  if (!work) return std::nullopt;
  CompareOrder order{.preset = preset() == nullptr ? core::Preset{} : *preset(),
                     .scenario = *work,
                     .a = m_knobs->options(0),
                     .b = m_knobs->options(1),
                     .repeats = m_repeats->value(),
                     .quality_tokens = m_logits->isChecked() ? kQualityTokens : 0,
                     .probe = m_probe->isChecked(),
                     .text = m_text,
                     .text_name = m_text_name.toStdString()};
  order.preset.num_requests = m_requests->value();
  return order;
}

void ComparePanel::start() {
  if (const auto wanted = order()) emit startClicked(*wanted);
}

void ComparePanel::showStarted() {
  m_comparing = true;
  showProgress(tr("warming up"), 0);
  refresh();
}

void ComparePanel::showProgress(const QString& doing, double share) {
  m_doing->setText(doing);
  m_progress->setValue(static_cast<int>(share * m_progress->maximum()));
}

void ComparePanel::showFinished(const QString& words) {
  m_comparing = false;
  m_doing->setText(words);
  refresh();
}

void ComparePanel::refresh() {
  const core::Preset* chosen = preset();
  const std::optional<core::Scenario> work = scenario();
  m_explanation->setText(chosen != nullptr ? QString::fromStdString(chosen->explanation)
                                           : tr("Set A and B as you like; A begins with what is in force."));
  m_work->setText(work ? tr("Work: %1").arg(QString::fromStdString(work->title))
                       : tr("There is no workload: choose one."));
  const QString wanted = chosen != nullptr ? QString::fromStdString(chosen->model) : QString();
  m_open_model->setText(tr("Open %1").arg(wanted));
  m_open_model->setToolTip(tr("The model on which this machine shows the difference"));
  m_open_model->setVisible(!m_notices->text().isEmpty() && !wanted.isEmpty() && wanted != m_model && !m_comparing);
  m_notices->setVisible(!m_notices->text().isEmpty());
  m_text_button->setText(m_text.empty() ? tr("Perplexity on a text...")
                                        : tr("Perplexity on %1: leave out").arg(m_text_name));
  m_start->setText(m_comparing ? tr("Stop comparing") : tr("Compare"));
  m_start->setEnabled(m_comparing || (work && !m_model.isEmpty()));
  for (QWidget* widget :
       std::initializer_list<QWidget*>{m_choice, m_knobs, m_requests, m_repeats, m_logits, m_probe, m_text_button}) {
    widget->setEnabled(!m_comparing);
  }
  m_progress->setVisible(m_comparing);
  m_doing->setVisible(!m_doing->text().isEmpty());
}

}  // namespace inferoscope::gui
