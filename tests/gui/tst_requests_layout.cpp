// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/paint/tables.h"
#include "gui/views/requests_layout.h"
#include "tests/support/frames.h"
#include "tests/support/palettes.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QTest>

using namespace inferoscope;
using core::SeqId;
using gui::RequestsModel;

namespace {

core::RequestInfo request(int seq, core::SeqState state = core::SeqState::kRunning) {
  core::RequestInfo info;
  info.seq = SeqId{seq};
  info.label = "chat " + std::to_string(seq);
  info.state = state;
  info.num_prompt_tokens = 1000 + 7 * (seq % 3);
  return info;
}

std::vector<core::RequestInfo> requests(std::initializer_list<int> seqs) {
  std::vector<core::RequestInfo> infos;
  for (const int seq : seqs) infos.push_back(request(seq));
  return infos;
}

// The rows' sequence ids, "4 2 1".
QString order(const RequestsModel& model) {
  QStringList ids;
  for (int row = 0; row < model.rowCount(); ++row) ids << QString::number(model.requestAt(row).value);
  return ids.join(QLatin1Char(' '));
}

QString text(const RequestsModel& model, int row, RequestsModel::Column column) {
  return model.data(model.index(row, column), Qt::DisplayRole).toString();
}

}  // namespace

class TestRequestsLayout : public QObject {
  Q_OBJECT

 private slots:
  void keepsTheRulesOfModels();
  void rowsStayWhereTheyAre();
  void oneUpdateIsOneSignal();
  void sortsWhenAskedOnly();
  void nothingIsADash();
  void reasonsAndErrorsAreTold();
  void copiesAsTabSeparatedText();
  void everyHeadingIsExplained();
  void lanesStandTogether();
};

void TestRequestsLayout::keepsTheRulesOfModels() {
  RequestsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  model.setTheme(gui::themeOf(tests::lightPalette()));
  model.setRequests(tests::fullFrame().snapshot->requests);
  QCOMPARE(model.rowCount(), 40);
  model.sort(RequestsModel::kTtft, Qt::DescendingOrder);
  model.setRequests(tests::smallFrame().snapshot->requests);
  QCOMPARE(model.rowCount(), 1);
  model.setRequests({});
  QCOMPARE(model.rowCount(), 0);
}

void TestRequestsLayout::rowsStayWhereTheyAre() {
  RequestsModel model;
  model.setRequests(requests({1, 2, 3}));
  QCOMPARE(order(model), QString("3 2 1"));
  model.setRequests(requests({3, 1, 4, 5}));  // 2 is gone, others come in another order
  QCOMPARE(order(model), QString("5 4 3 1"));
}

void TestRequestsLayout::oneUpdateIsOneSignal() {
  RequestsModel model;
  model.setRequests(requests({1, 2, 3}));
  const QSignalSpy changes(&model, &QAbstractItemModel::dataChanged);
  const QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
  model.setRequests(requests({1, 2, 3}));
  QCOMPARE(changes.count(), 1);
  QCOMPARE(resets.count(), 0);
}

void TestRequestsLayout::sortsWhenAskedOnly() {
  RequestsModel model;
  model.setRequests(requests({1, 2, 3}));
  const QPersistentModelIndex chosen = model.index(0, 0);  // request 3
  model.sort(RequestsModel::kPrompt, Qt::AscendingOrder);  // prompts 1000 (3), 1007 (1), 1014 (2)
  QCOMPARE(order(model), QString("3 1 2"));
  model.sort(RequestsModel::kPrompt, Qt::DescendingOrder);
  QCOMPARE(order(model), QString("2 1 3"));
  QCOMPARE(chosen.row(), 2);
  std::vector<core::RequestInfo> longer = requests({1, 2, 3});
  longer[0].num_prompt_tokens = 5000;
  model.setRequests(longer);
  QCOMPARE(order(model), QString("2 1 3"));
  model.sort(RequestsModel::kRequest, Qt::AscendingOrder);
  QCOMPARE(order(model), QString("1 2 3"));
}

void TestRequestsLayout::nothingIsADash() {
  RequestsModel model;
  core::RequestInfo timed = request(1);
  timed.ttft_ms = 12.34;
  model.setRequests({timed});
  QCOMPARE(text(model, 0, RequestsModel::kTtft), QString("12.3 ms"));
  QCOMPARE(text(model, 0, RequestsModel::kTpot), QString("–"));
  QCOMPARE(text(model, 0, RequestsModel::kPrompt), QString("1,007"));
  QCOMPARE(text(model, 0, RequestsModel::kReason), QString());
}

void TestRequestsLayout::reasonsAndErrorsAreTold() {
  RequestsModel model;
  core::RequestInfo waits = request(1, core::SeqState::kWaiting);
  waits.wait_reason = core::WaitReason::kMaxSequences;
  core::RequestInfo ended = request(2, core::SeqState::kFinished);
  ended.finish = core::FinishReason::kLength;
  core::RequestInfo failed = request(3, core::SeqState::kFinished);
  failed.finish = core::FinishReason::kError;
  failed.error = "non-finite logits";
  model.setRequests({waits, ended, failed});
  QCOMPARE(text(model, 0, RequestsModel::kReason), QString("non-finite logits"));
  QCOMPARE(text(model, 1, RequestsModel::kReason), QString("length reached"));
  QCOMPARE(text(model, 2, RequestsModel::kReason), QString("the batch is full"));
  QVERIFY(text(model, 0, RequestsModel::kState) != text(model, 1, RequestsModel::kState));
}

void TestRequestsLayout::copiesAsTabSeparatedText() {
  RequestsModel model;
  core::RequestInfo timed = request(1);
  timed.ttft_ms = 1234.5;
  timed.label = "a\tb";
  model.setRequests({timed, request(2)});
  const QStringList lines = gui::tableText(model, {model.index(1, 0)}).split(QLatin1Char('\n'));
  QCOMPARE(lines.size(), 3);  // heading, row, end of the last line
  const QStringList cells = lines[1].split(QLatin1Char('\t'));
  QCOMPARE(cells.size(), static_cast<int>(RequestsModel::kNumColumns));
  QCOMPARE(cells[RequestsModel::kRequest], QString("a b"));
  QCOMPARE(cells[RequestsModel::kPrompt], QString("1007"));
  QCOMPARE(cells[RequestsModel::kTtft], QString("1234.500"));
  QCOMPARE(cells[RequestsModel::kTpot], QString());
}

void TestRequestsLayout::everyHeadingIsExplained() {
  const RequestsModel model;
  for (int column = 0; column < model.columnCount(); ++column) {
    const QString title = model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    const QString explanation = model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString();
    QVERIFY(!title.isEmpty());
    QVERIFY2(explanation.size() > title.size(), qPrintable(title));
  }
}

// A request has a row in each lane that has it, both new on top and sorted together.
void TestRequestsLayout::lanesStandTogether() {
  const auto lanes = [](const RequestsModel& model) {
    QStringList rows;
    for (int row = 0; row < model.rowCount(); ++row) {
      rows << text(model, row, RequestsModel::kLane) + QString::number(model.requestAt(row).value);
    }
    return rows.join(QLatin1Char(' '));
  };
  RequestsModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
  model.setRequests(requests({2, 1}), requests({1}));
  QCOMPARE(lanes(model), QString("A2 A1 B1"));
  model.setRequests(requests({3, 2, 1}), requests({3, 1}));
  QCOMPARE(lanes(model), QString("A3 B3 A2 A1 B1"));
  QCOMPARE(model.rowsOf(SeqId{3}), (std::vector<int>{0, 1}));
  QVERIFY(model.rowsOf(SeqId{9}).empty());
  model.sort(RequestsModel::kRequest, Qt::AscendingOrder);
  QCOMPARE(lanes(model), QString("A1 B1 A2 A3 B3"));
  model.setRequests(requests({3, 2}));  // the comparison is over
  QCOMPARE(lanes(model), QString("A2 A3"));
  // What comes to one lane later than to the other.
  model.setRequests(requests({3, 2}), requests({4, 3}));
  QCOMPARE(lanes(model), QString("B4 A2 A3 B3"));
  model.setRequests(requests({4, 3, 2}), requests({4, 3, 2}));
  QCOMPARE(lanes(model), QString("A4 B4 A2 B2 A3 B3"));
}

QTEST_GUILESS_MAIN(TestRequestsLayout)
#include "tst_requests_layout.moc"
