// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/panels/workload_panel.h"

#include "gui/paint/number_format.h"

#include <QFormLayout>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace inferoscope::gui {
namespace {

// Slow motion: the pause between two steps, by slider position.
constexpr std::array kStepDelaysMs = {0, 50, 100, 250, 500, 1000, 2000};

}  // namespace

WorkloadPanel::WorkloadPanel(std::vector<core::Scenario> scenarios, QWidget* parent)
    : QWidget(parent), m_scenarios(std::move(scenarios)) {
  buildUi();
  connectUi();
  showChosen();
  showRunState(RunState::kNoModel);
}

void WorkloadPanel::buildUi() {
  m_choice = new QComboBox;
  m_choice->setObjectName(QStringLiteral("scenario"));
  for (const core::Scenario& scenario : m_scenarios) m_choice->addItem(QString::fromStdString(scenario.title));
  m_choice->addItem(tr("No workload"));
  m_explanation = new QLabel;
  m_explanation->setWordWrap(true);
  m_arrivals = new QComboBox;
  m_arrivals->addItems({tr("Closed loop"), tr("Constant rate"), tr("Poisson"), tr("Gamma (bursts)")});
  m_arrivals->setToolTip(
      tr("Closed loop: each user asks again when the answer is there. The others arrive by the "
         "clock, whether or not the engine keeps up."));
  m_concurrency = new QSpinBox;
  m_concurrency->setRange(1, 512);
  m_concurrency->setToolTip(tr("Users of the closed loop"));
  m_rate = new QDoubleSpinBox;
  m_rate->setRange(0.01, 1000);
  m_rate->setSuffix(tr(" /s"));
  m_rate->setToolTip(tr("Requests that arrive per second of the lane's clock"));
  m_burstiness = new QDoubleSpinBox;
  m_burstiness->setRange(0.05, 100);
  m_burstiness->setSingleStep(0.1);
  m_burstiness->setToolTip(tr("Shape of the gaps between arrivals: 1 is Poisson, below 1 comes in bursts"));
  m_output = new QSpinBox;
  m_output->setRange(1, 4096);
  m_output->setSuffix(tr(" tokens"));
  m_output->setToolTip(tr("Most tokens of an answer, on average"));

  m_run = new QPushButton(tr("&Run"));
  m_run->setObjectName(QStringLiteral("run"));
  m_step = new QPushButton(tr("&Step"));
  m_step->setToolTip(tr("One step of the engine, then pause"));
  m_reset = new QPushButton(tr("Rese&t"));
  m_reset->setToolTip(tr("Ends all requests and begins the workload anew"));
  m_slow = new QSlider(Qt::Horizontal);
  m_slow->setRange(0, static_cast<int>(kStepDelaysMs.size()) - 1);
  m_slow->setPageStep(1);
  m_slow->setAccessibleName(tr("Slow motion"));
  m_slow->setToolTip(tr("A pause after each step. It does not count on the lane's clock, so no figure changes."));
  m_slow_text = new QLabel(tr("off"));

  auto* form = new QFormLayout;
  form->addRow(tr("Scenario"), m_choice);
  form->addRow(m_explanation);
  form->addRow(tr("Arrivals"), m_arrivals);
  form->addRow(tr("Users"), m_concurrency);
  form->addRow(tr("Rate"), m_rate);
  form->addRow(tr("Burstiness"), m_burstiness);
  form->addRow(tr("Answers"), m_output);
  auto* slow = new QHBoxLayout;
  slow->addWidget(m_slow, 1);
  slow->addWidget(m_slow_text);
  form->addRow(tr("Slow motion"), slow);
  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {m_run, m_step, m_reset}) buttons->addWidget(button);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addLayout(form);
  layout->addLayout(buttons);
  layout->addStretch();
}

void WorkloadPanel::connectUi() {
  connect(m_choice, &QComboBox::currentIndexChanged, this, [this] {
    showChosen();
    emit scenarioChosen();
    announce();
  });
  connect(m_arrivals, &QComboBox::currentIndexChanged, this, [this] {
    showFields();
    announce();
  });
  for (QSpinBox* spin : {m_concurrency, m_output}) {
    spin->setKeyboardTracking(false);
    connect(spin, &QSpinBox::valueChanged, this, &WorkloadPanel::announce);
  }
  for (QDoubleSpinBox* spin : {m_rate, m_burstiness}) {
    spin->setKeyboardTracking(false);
    connect(spin, &QDoubleSpinBox::valueChanged, this, &WorkloadPanel::announce);
  }
  connect(m_run, &QPushButton::clicked, this, [this] {
    if (m_state == RunState::kRunning) {
      emit pauseClicked();
    } else {
      emit runClicked();
    }
  });
  connect(m_step, &QPushButton::clicked, this, &WorkloadPanel::stepClicked);
  connect(m_reset, &QPushButton::clicked, this, &WorkloadPanel::resetClicked);
  connect(m_slow, &QSlider::valueChanged, this, [this](int place) {
    const int delay = kStepDelaysMs[static_cast<std::size_t>(place)];
    m_slow_text->setText(delay == 0 ? tr("off") : tr("%1 ms").arg(countText(delay)));
    emit stepDelayChanged(delay);
  });
}

void WorkloadPanel::addScenario(const core::Scenario& scenario) {
  m_scenarios.insert(m_scenarios.begin(), scenario);
  const QSignalBlocker blocker(m_choice);
  m_choice->insertItem(0, QString::fromStdString(scenario.title));
  m_choice->setCurrentIndex(0);
  showChosen();
  emit scenarioChosen();
  announce();
}

std::optional<core::Scenario> WorkloadPanel::scenario() const {
  const int chosen = m_choice->currentIndex();
  if (chosen < 0 || chosen >= static_cast<int>(m_scenarios.size())) return std::nullopt;
  core::Scenario scenario = m_scenarios[static_cast<std::size_t>(chosen)];
  scenario.arrivals.kind = static_cast<core::ArrivalKind>(m_arrivals->currentIndex());
  scenario.arrivals.concurrency = m_concurrency->value();
  scenario.arrivals.requests_per_s = m_rate->value();
  scenario.arrivals.burstiness = m_burstiness->value();
  scenario.output_tokens.mean = m_output->value();
  scenario.output_tokens.max = std::max(scenario.output_tokens.max, m_output->value());
  return scenario;
}

void WorkloadPanel::showChosen() {
  const int chosen = m_choice->currentIndex();
  const bool any = chosen >= 0 && chosen < static_cast<int>(m_scenarios.size());
  const core::Scenario scenario = any ? m_scenarios[static_cast<std::size_t>(chosen)] : core::Scenario{};
  const QSignalBlocker blockers[] = {QSignalBlocker(m_arrivals), QSignalBlocker(m_concurrency), QSignalBlocker(m_rate),
                                     QSignalBlocker(m_burstiness), QSignalBlocker(m_output)};
  m_explanation->setText(any ? QString::fromStdString(scenario.explanation)
                             : tr("Only what you ask in the prompt box runs."));
  constexpr int kTraceIndex = static_cast<int>(core::ArrivalKind::kTrace);
  m_arrivals->removeItem(kTraceIndex);  // only a scenario that brings a trace can replay it
  if (!scenario.trace.empty()) m_arrivals->addItem(tr("Trace"));
  m_arrivals->setCurrentIndex(static_cast<int>(scenario.arrivals.kind));
  m_concurrency->setValue(scenario.arrivals.concurrency);
  m_rate->setValue(scenario.arrivals.requests_per_s);
  m_burstiness->setValue(scenario.arrivals.burstiness);
  m_output->setValue(static_cast<int>(std::lround(scenario.output_tokens.mean)));
  for (QWidget* widget : std::initializer_list<QWidget*>{m_arrivals, m_concurrency, m_rate, m_burstiness, m_output}) {
    widget->setEnabled(any);
  }
  if (any) showFields();
}

void WorkloadPanel::showFields() {
  const auto kind = static_cast<core::ArrivalKind>(m_arrivals->currentIndex());
  m_concurrency->setEnabled(kind == core::ArrivalKind::kClosedLoop);
  m_rate->setEnabled(kind != core::ArrivalKind::kClosedLoop && kind != core::ArrivalKind::kTrace);
  m_burstiness->setEnabled(kind == core::ArrivalKind::kGamma);
}

void WorkloadPanel::announce() {
  emit scenarioChanged(scenario());
}

void WorkloadPanel::showRunState(RunState state) {
  m_state = state;
  const bool ready = state == RunState::kPaused || state == RunState::kRunning;
  m_run->setText(state == RunState::kRunning ? tr("&Pause") : tr("&Run"));
  for (QPushButton* button : {m_run, m_step, m_reset}) button->setEnabled(ready);
}

}  // namespace inferoscope::gui
