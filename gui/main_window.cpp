// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/main_window.h"

#include "core/engine/knobs.h"
#include "gui/paint/number_format.h"
#include "gui/settings.h"
#include "gui/views/view_catalog.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QStatusBar>
#include <QToolBar>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace inferoscope::gui {
namespace {

constexpr int kLayoutVersion = 3;
constexpr int kProgressMilliseconds = 200;
constexpr double kPresentationScale = 1.5;
constexpr int kLowWindow = 850;  // lower windows have room for fewer docks
constexpr int kLeftWidth = 300;
constexpr int kVerdictHeight = 360;    // less shows a few figures only
constexpr int kMeasuredRequests = 12;  // of a workload without end

}  // namespace

MainWindow::MainWindow(Session& session, std::vector<core::Scenario> scenarios, QWidget* parent)
    : QMainWindow(parent), m_session(session), m_scenarios(std::move(scenarios)) {
  setWindowTitle(tr("Inferoscope"));
  setObjectName(QStringLiteral("main-window"));
  setDockNestingEnabled(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  setAcceptDrops(true);
  resize(1400, 900);
  buildTop();
  buildDocks();
  buildMenus();
  connectSession();
  connectPanels();
  connectCompare();
  restoreDefaultLayout();
  setFocus();  // nobody's yet: else the first view would have it
}

void MainWindow::buildTop() {
  auto* top = new QWidget;
  m_headline = new HeadlinePanel;
  m_message = new MessageBar;
  m_load = new LoadBar;
  auto* layout = new QVBoxLayout(top);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  for (QWidget* widget : std::initializer_list<QWidget*>{m_message, m_load, m_headline}) layout->addWidget(widget);
  auto* bar = new QToolBar(tr("Headline"));
  bar->setObjectName(QStringLiteral("headline-bar"));
  bar->setMovable(false);
  bar->toggleViewAction()->setVisible(false);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  bar->addWidget(top);
  addToolBar(Qt::TopToolBarArea, bar);
  statusBar()->setSizeGripEnabled(false);
}

QDockWidget* MainWindow::addDock(const QString& id, const QString& title, QWidget* content, const QString& shortcut) {
  auto* dock = new QDockWidget(title, this);
  dock->setObjectName(id + QStringLiteral("-dock"));
  content->setObjectName(id);
  dock->setWidget(content);
  if (!shortcut.isEmpty()) dock->toggleViewAction()->setShortcut(QKeySequence(shortcut));
  m_docks.insert(id, dock);
  return dock;
}

void MainWindow::buildDocks() {
  m_knobs = new KnobsPanel;
  m_workload = new WorkloadPanel(m_scenarios);
  m_prompt = new PromptPanel;
  m_model = new ModelPanel;
  m_compare = new ComparePanel(core::builtinPresets());
  m_verdict = new VerdictPanel;
  m_advice = new AdvicePanel;
  m_allocators = new AllocatorsPanel;
  for (const ViewRow& row : viewCatalog()) {
    View* view = row.make(m_selection, this);
    m_views.push_back(view);
    QDockWidget* dock = addDock(QString::fromLatin1(row.id), QCoreApplication::translate("ViewRow", row.title), view,
                                QString::fromLatin1(row.shortcut));
    dock->toggleViewAction()->setToolTip(QCoreApplication::translate("ViewRow", row.explanation));
    // Queued: when its tab is chosen, the dock is told before it is in its place.
    connect(
        dock, &QDockWidget::visibilityChanged, view, [view] { view->refresh(); }, Qt::QueuedConnection);
    addDockWidget(row.area, dock);
  }
  addDock(QStringLiteral("workload"), tr("Workload"), m_workload, QStringLiteral("Alt+W"));
  addDock(QStringLiteral("knobs"), tr("Knobs"), m_knobs, QStringLiteral("Alt+K"));
  addDock(QStringLiteral("model"), tr("Model and machine"), m_model, QStringLiteral("Alt+M"));
  addDock(QStringLiteral("ask"), tr("Ask"), m_prompt, QStringLiteral("Alt+A"));
  addDock(QStringLiteral("compare"), tr("Compare"), m_compare, QStringLiteral("Alt+C"));
  addDock(QStringLiteral("verdict"), tr("Verdict"), m_verdict, QStringLiteral("Alt+J"));
  addDock(QStringLiteral("advice"), tr("What would help most"), m_advice, QStringLiteral("Alt+H"));
  addDock(QStringLiteral("allocators"), tr("Allocators"), m_allocators, QStringLiteral("Alt+O"));
}

// Which docks share a place, the first one in front. A low window has fewer places. A view that is named nowhere joins
// those of cost.
QList<QStringList> MainWindow::dockGroups(bool low) const {
  QList<QStringList> groups = {
      {"workload"}, {"knobs", "compare", "model"}, {"kv-map", "block-table", "allocators", "verdict"}};
  if (low) {
    groups += {{"batch-lanes", "requests", "waiting", "latency"}, {"token-stream", "ask"}};
  } else {
    groups += {{"batch-lanes", "waiting"}, {"requests", "latency"}, {"token-stream"}, {"ask"}};
  }
  const auto named = [&groups](const QString& id) {
    return std::ranges::any_of(groups, [&id](const QStringList& group) { return group.contains(id); });
  };
  QStringList cost;
  for (const ViewRow& row : viewCatalog()) {
    if (const QString id = QString::fromLatin1(row.id); !named(id)) cost << id;
  }
  cost << QStringLiteral("advice");
  groups.push_back(cost);
  return groups;
}

// Left: what we ask for. Middle: where the blocks are, who is in the batch, and what becomes of the requests. Right:
// what it costs and what it says.
void MainWindow::placeDocks() {
  const auto dock = [this](const char* id) { return m_docks.value(QString::fromLatin1(id)); };
  for (QDockWidget* any : std::as_const(m_docks)) {
    any->setFloating(false);
    removeDockWidget(any);
  }
  const bool low = height() < kLowWindow;
  addDockWidget(Qt::LeftDockWidgetArea, dock("workload"));
  addDockWidget(Qt::RightDockWidgetArea, dock("kv-map"));
  splitDockWidget(dock("workload"), dock("knobs"), Qt::Vertical);
  splitDockWidget(dock("kv-map"), dock("utilisation"), Qt::Horizontal);
  splitDockWidget(dock("kv-map"), dock("batch-lanes"), Qt::Vertical);
  splitDockWidget(dock("utilisation"), dock("token-stream"), Qt::Vertical);
  if (!low) {
    splitDockWidget(dock("batch-lanes"), dock("requests"), Qt::Vertical);
    splitDockWidget(dock("token-stream"), dock("ask"), Qt::Vertical);
  }
  const QList<QStringList> groups = dockGroups(low);
  for (const QStringList& group : groups) {
    for (qsizetype i = 1; i < group.size(); ++i) tabifyDockWidget(m_docks.value(group[i - 1]), m_docks.value(group[i]));
  }
  for (QDockWidget* any : std::as_const(m_docks)) any->show();
  for (const QStringList& group : groups) m_docks.value(group.front())->raise();

  const int middle = (width() - kLeftWidth) * 54 / 100;
  resizeDocks({dock("workload"), dock("kv-map"), dock("utilisation")},
              {kLeftWidth, middle, width() - kLeftWidth - middle}, Qt::Horizontal);
  resizeDocks({dock("workload"), dock("knobs")}, {350, 400}, Qt::Vertical);
  if (low) {
    resizeDocks({dock("kv-map"), dock("batch-lanes")}, {260, 260}, Qt::Vertical);
    resizeDocks({dock("utilisation"), dock("token-stream")}, {360, 160}, Qt::Vertical);
  } else {
    resizeDocks({dock("kv-map"), dock("batch-lanes"), dock("requests")}, {290, 280, 220}, Qt::Vertical);
    resizeDocks({dock("utilisation"), dock("token-stream"), dock("ask")}, {440, 210, 120}, Qt::Vertical);
  }
}

void MainWindow::buildMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open model..."), QKeySequence::Open, this, &MainWindow::chooseModel);
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { showRecent(recent); });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

  QMenu* run = menuBar()->addMenu(tr("&Run"));
  run->addAction(tr("Run or &pause"), QKeySequence(QStringLiteral("F5")), this, &MainWindow::toggleRun);
  run->addAction(tr("Single &step"), QKeySequence(QStringLiteral("F6")), &m_session, &Session::stepOnce);
  run->addAction(tr("&Reset"), QKeySequence(QStringLiteral("F8")), &m_session, &Session::reset);
  run->addSeparator();
  run->addAction(tr("&Measure the machine again"), &m_session, &Session::probe);

  QMenu* knobs = menuBar()->addMenu(tr("&Knobs"));
  knobs->setToolTipsVisible(true);
  knobs->addActions(m_knobs->turns());

  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->setToolTipsVisible(true);
  for (const ViewRow& row : viewCatalog())
    view->addAction(m_docks.value(QString::fromLatin1(row.id))->toggleViewAction());
  view->addSeparator();
  for (const char* id : {"workload", "knobs", "model", "ask", "compare", "verdict", "advice", "allocators"}) {
    view->addAction(m_docks.value(QString::fromLatin1(id))->toggleViewAction());
  }
  view->addSeparator();
  view->addAction(tr("Restore &default layout"), this, &MainWindow::restoreDefaultLayout);
  view->addAction(tr("&Presentation mode"), QKeySequence(QStringLiteral("F11")), this, &MainWindow::togglePresentation);
}

void MainWindow::connectSession() {
  connect(&m_session, &Session::runStateChanged, this, &MainWindow::showRunState);
  connect(&m_session, &Session::frameReady, this, &MainWindow::showFrame);
  connect(&m_session, &Session::loadProgress, m_load, &LoadBar::showProgress);
  connect(&m_session, &Session::modelLoaded, this, [this](const ModelInfo& model) {
    m_selection.clear();
    for (View* view : m_views) view->showModel(model);
    m_headline->showModel(model);
    m_model->showModel(model);
    m_allocators->showModel(model);
    setWindowTitle(tr("%1 - Inferoscope").arg(QString::fromStdString(model.config.name)));
    rememberModel(QString::fromStdString(model.source));
    m_model->showRecent(recentModels());
  });
  connect(&m_session, &Session::memoryEstimated, this, &MainWindow::showEstimate);
  connect(&m_session, &Session::estimateFailed, m_model, &ModelPanel::showEstimateFailure);
  connect(m_load, &LoadBar::cancelled, &m_session, &Session::cancelLoad);
  connect(&m_session, &Session::loadFailed, this, [this](const QString& reason) {
    if (!reason.isEmpty()) showMessage(reason);
  });
  connect(&m_session, &Session::limitsMeasured, this, [this](const core::MachineLimits& limits) {
    for (View* view : m_views) view->showLimits(limits);
    m_headline->showLimits(limits);
    m_model->showLimits(limits);
  });
  connect(&m_session, &Session::optionsInForce, m_knobs, &KnobsPanel::showInForce);
  connect(&m_session, &Session::optionsInForce, m_model, &ModelPanel::showOptions);
  connect(&m_session, &Session::weightsProgress, m_knobs, &KnobsPanel::showProgress);
  connect(&m_session, &Session::modelChanged, m_model, &ModelPanel::showModel);
  connect(&m_session, &Session::optionsRefused, m_knobs, &KnobsPanel::showRefusal);
  connect(&m_session, &Session::engineFailed, this, &MainWindow::showMessage);
  connect(&m_session, &Session::requestSubmitted, &m_selection, &Selection::setRequest);
  connect(&m_session, &Session::requestRefused, this, [this](const QString& label, const QString& reason) {
    showMessage(label.isEmpty() ? reason : tr("%1: %2").arg(label, reason));
  });
  m_progress_timer.setInterval(kProgressMilliseconds);
  connect(&m_progress_timer, &QTimer::timeout, this, [this] { m_headline->showProgress(m_session.stepProgress()); });
}

void MainWindow::connectPanels() {
  connect(m_knobs, &KnobsPanel::changed, &m_session, &Session::applyOptions);
  connect(m_workload, &WorkloadPanel::scenarioChanged, &m_session, &Session::setScenario);
  connect(m_workload, &WorkloadPanel::scenarioChosen, this,
          [this] { m_session.applyOptions(withScenario(m_session.options())); });
  connect(m_workload, &WorkloadPanel::runClicked, &m_session, &Session::run);
  connect(m_workload, &WorkloadPanel::pauseClicked, &m_session, &Session::pause);
  connect(m_workload, &WorkloadPanel::stepClicked, &m_session, &Session::stepOnce);
  connect(m_workload, &WorkloadPanel::resetClicked, &m_session, &Session::reset);
  connect(m_workload, &WorkloadPanel::stepDelayChanged, &m_session, &Session::setStepDelay);
  connect(m_model, &ModelPanel::sourceChosen, &m_session, &Session::estimate);
  connect(m_model, &ModelPanel::openClicked, this, &MainWindow::openModel);
  connect(m_model, &ModelPanel::probeClicked, &m_session, &Session::probe);
  connect(m_prompt, &PromptPanel::sent, &m_session, [this](const QString& text, const core::Request& rest) {
    if (m_session.runState() == RunState::kNoModel) return m_prompt->showHint(tr("Open a model first."));
    m_session.submitPrompt(text, rest);
    if (m_session.runState() == RunState::kPaused) m_prompt->showHint(tr("The engine is paused: press Run."));
  });
  m_session.setScenario(m_workload->scenario());
}

void MainWindow::connectCompare() {
  connect(&m_session, &Session::lanesStarted, this, [this] {
    m_selection.clear();
    for (View* view : m_views) view->showModel(*m_session.model());
    m_headline->showModel(*m_session.model());
    m_allocators->showModel(*m_session.model());
  });
  connect(&m_session, &Session::modelLoaded, m_compare, &ComparePanel::showModel);
  connect(&m_session, &Session::optionsInForce, m_compare, &ComparePanel::showOptions);
  connect(&m_session, &Session::presetChecked, m_compare, &ComparePanel::showNotices);
  connect(&m_session, &Session::comparisonStarted, m_compare, &ComparePanel::showStarted);
  connect(&m_session, &Session::comparisonProgress, m_compare, &ComparePanel::showProgress);
  connect(&m_session, &Session::comparisonProgress, m_verdict, &VerdictPanel::showProgress);
  connect(&m_session, &Session::comparisonProgress, m_headline, &HeadlinePanel::showComparing);
  connect(&m_session, &Session::comparisonChanged, this,
          [this](const std::shared_ptr<const core::Comparison>& comparison, bool finished) {
            m_verdict->showComparison(comparison, finished);
            if (!finished) return;
            m_headline->showComparing({});
            m_compare->showFinished(tr("Done. Run goes on with one lane."));
            m_advice->showMeasured(*comparison);
          });
  connect(&m_session, &Session::comparisonEnded, this, [this](const QString& reason) {
    m_compare->showFinished(reason.isEmpty() ? tr("Stopped.") : reason);
    m_verdict->showEnded();
    m_headline->showComparing({});
  });
  connect(&m_session, &Session::adviceGiven, m_advice, &AdvicePanel::showAdvice);
  connect(&m_session, &Session::adviceRefused, m_advice, &AdvicePanel::showRefusal);
  connect(m_workload, &WorkloadPanel::scenarioChanged, m_compare, &ComparePanel::showWorkload);
  connect(m_compare, &ComparePanel::presetChosen, &m_session, &Session::checkPreset);
  connect(m_compare, &ComparePanel::startClicked, this, &MainWindow::startComparison);
  connect(m_compare, &ComparePanel::stopClicked, &m_session, &Session::endComparison);
  connect(m_compare, &ComparePanel::modelWanted, this, &MainWindow::openModel);
  connect(m_verdict, &VerdictPanel::runWanted, &m_session, &Session::summarizeRun);
  connect(&m_session, &Session::runSummarized, m_verdict, &VerdictPanel::pinRun);
  connect(m_verdict, &VerdictPanel::failed, this, &MainWindow::showMessage);
  connect(m_advice, &AdvicePanel::wanted, &m_session, &Session::advise);
  connect(m_advice, &AdvicePanel::measureClicked, this, &MainWindow::measureSwitch);
  m_compare->showWorkload(m_workload->scenario());
}

void MainWindow::startComparison(const CompareOrder& order) {
  QDockWidget* verdict = m_docks.value(QStringLiteral("verdict"));
  verdict->raise();
  if (verdict->height() < kVerdictHeight && !verdict->isFloating())
    resizeDocks({verdict}, {kVerdictHeight}, Qt::Vertical);
  m_session.compare(order);
}

// What is in force against the same with one switch turned, on the work of now.
void MainWindow::measureSwitch(const QString& knob, const QString& value) {
  const std::optional<core::Scenario> scenario = m_workload->scenario();
  if (!scenario) return showMessage(tr("There is no workload to compare on: choose one."));
  CompareOrder order{.preset = {}, .scenario = *scenario, .a = m_session.options(), .b = m_session.options()};
  order.preset.num_requests = kMeasuredRequests;
  const std::string problem = core::setKnob(order.b, knob.toStdString(), value.toStdString());
  if (!problem.empty()) return showMessage(QString::fromStdString(problem));
  startComparison(order);
}

void MainWindow::comparePreset(const QString& id) {
  core::findPreset(id.toStdString());
  m_compare->choosePreset(id);
  const auto start = [this] {
    if (const auto order = m_compare->order()) startComparison(*order);
  };
  if (m_session.model()) return start();
  connect(&m_session, &Session::modelLoaded, this, start, Qt::SingleShotConnection);
}

void MainWindow::openModel(const QString& source) {
  showMessage({});
  m_load->showProgress(source, 0);
  m_session.load(source);
  if (!m_session.model()) m_session.run();  // a first model runs as soon as it is there; a later one goes on as it was
}

void MainWindow::showEstimate(const QString& source, const core::MemoryEstimate& estimate) {
  m_model->showEstimate(source, estimate);
  if (estimate.fits() || m_session.runState() != RunState::kLoading) return;
  showMessage(tr("%1 needs %2, but only %3 are free: it won't fit. Cancel, or close other programs.")
                  .arg(QFileInfo(source).fileName(), bytesText(estimate.bytes()), bytesText(estimate.available_bytes)));
}

void MainWindow::useScenario(const core::Scenario& scenario) {
  m_workload->addScenario(scenario);
}

core::EngineOptions MainWindow::withScenario(core::EngineOptions options) const {
  const std::optional<core::Scenario> scenario = m_workload->scenario();
  return scenario ? core::optionsOf(*scenario, std::move(options)) : options;
}

void MainWindow::chooseModel() {
  const QString file = QFileDialog::getOpenFileName(this, tr("Open model"), lastModelFolder(),
                                                    tr("GGUF models (*.gguf);;All files (*)"));
  if (!file.isEmpty()) openModel(file);
}

void MainWindow::showRecent(QMenu* menu) {
  menu->clear();
  for (const QString& source : recentModels()) {
    QAction* action = menu->addAction(source, this, [this, source] { openModel(source); });
    action->setEnabled(!source.startsWith(QLatin1Char('/')) || QFileInfo::exists(source));
  }
  if (menu->isEmpty()) menu->addAction(tr("Nothing yet"))->setEnabled(false);
}

void MainWindow::toggleRun() {
  if (m_session.runState() == RunState::kRunning) {
    m_session.pause();
  } else {
    m_session.run();
  }
}

void MainWindow::togglePresentation() {
  QFont font = QApplication::font();
  const bool enter = m_font_points == 0;
  const double points = enter ? font.pointSizeF() * kPresentationScale : m_font_points;
  m_font_points = enter ? font.pointSizeF() : 0;
  font.setPointSizeF(points);
  QApplication::setFont(font);
  setWindowState(windowState().setFlag(Qt::WindowFullScreen, enter));
}

void MainWindow::showRunState(RunState state) {
  m_load->setVisible(state == RunState::kLoading);
  m_headline->showRunState(state);
  m_workload->showRunState(state);
  if (state == RunState::kRunning) {
    m_prompt->showHint({});
    m_progress_timer.start();
  } else {
    m_progress_timer.stop();
    m_headline->showProgress(0);
  }
}

void MainWindow::showFrame(const Frame& frame) {
  for (View* view : m_views) view->showFrame(frame);
  m_headline->showFrame(frame);
  m_allocators->showFrame(frame);
  if (frame.dropped_steps > 0) {
    statusBar()->showMessage(tr("%n step record(s) dropped: the engine was faster than the window", nullptr,
                                static_cast<int>(frame.dropped_steps)));
  }
}

void MainWindow::restoreDefaultLayout() {
  placeDocks();
}

void MainWindow::restoreLayout() {
  if (const QString note = mendSettings(); !note.isEmpty()) showMessage(note);
  m_model->showRecent(recentModels());
  const SavedLayout saved = savedLayout();
  if (!saved.geometry.isEmpty()) restoreGeometry(saved.geometry);
  if (saved.state.isEmpty() || !restoreState(saved.state, kLayoutVersion)) restoreDefaultLayout();
}

void MainWindow::saveLayout() {
  storeLayout({saveGeometry(), saveState(kLayoutVersion)});
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (m_font_points == 0) saveLayout();
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().first().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.isEmpty() || !urls.first().isLocalFile()) return;
  event->acceptProposedAction();
  openModel(urls.first().toLocalFile());
}

// A toolbar's menu could hide the headline for good.
bool MainWindow::event(QEvent* event) {
  if (event->type() == QEvent::ContextMenu) return true;
  return QMainWindow::event(event);
}

}  // namespace inferoscope::gui
