// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/requests_layout.h"

#include "gui/paint/metrics.h"
#include "gui/paint/number_format.h"
#include "gui/paint/tables.h"
#include "gui/views/lanes.h"
#include "gui/views/words.h"

#include <QImage>

#include <algorithm>
#include <numeric>

namespace inferoscope::gui {

namespace {

constexpr int kSwatch = 11;

QString stateText(const core::RequestInfo& request) {
  const QString word = seqStateWord(request.state);
  switch (request.state) {
    case core::SeqState::kWaiting:
      return QStringLiteral("◌ ") + word;
    case core::SeqState::kRunning:
      return QStringLiteral("▶ ") + word;
    case core::SeqState::kPreempted:
      return QStringLiteral("↺ ") + word;
    case core::SeqState::kFinished:
      break;
  }
  const bool failed = request.finish == core::FinishReason::kError;
  return (failed ? QStringLiteral("✕ ") : QStringLiteral("✓ ")) + word;
}

// Why it waits, or how it ended.
QString reasonText(const core::RequestInfo& request) {
  if (!request.error.empty()) return QString::fromStdString(request.error);
  if (request.state == core::SeqState::kFinished) return finishWords(request.finish);
  if (request.state == core::SeqState::kRunning) return {};
  return waitReasonWords(request.wait_reason);
}

QVariant optionalValue(const std::optional<double>& value) {
  return value ? QVariant(*value) : QVariant();
}

QVariant valueOf(const core::RequestInfo& request, int column) {
  switch (column) {
    case RequestsModel::kRequest:
      return request.label.empty() ? requestName(nullptr, request.seq) : QString::fromStdString(request.label);
    case RequestsModel::kState:
      return seqStateWord(request.state);
    case RequestsModel::kPrompt:
      return request.num_prompt_tokens;
    case RequestsModel::kComputed:
      return request.num_computed_tokens;
    case RequestsModel::kOutput:
      return request.num_output_tokens;
    case RequestsModel::kBlocks:
      return request.num_blocks;
    case RequestsModel::kHits:
      return request.num_hit_tokens;
    case RequestsModel::kPreemptions:
      return request.num_preemptions;
    case RequestsModel::kTtft:
      return optionalValue(request.ttft_ms);
    case RequestsModel::kTpot:
      return optionalValue(request.tpot_ms);
    case RequestsModel::kReason:
      return reasonText(request);
    default:
      return {};
  }
}

QString textOf(const core::RequestInfo& request, int column) {
  switch (column) {
    case RequestsModel::kRequest:
    case RequestsModel::kReason:
      return valueOf(request, column).toString();
    case RequestsModel::kState:
      return stateText(request);
    case RequestsModel::kTtft:
      return millisecondsText(request.ttft_ms);
    case RequestsModel::kTpot:
      return millisecondsText(request.tpot_ms);
    default:
      return countText(valueOf(request, column).toLongLong());
  }
}

std::optional<Metric> metricOf(int column) {
  switch (column) {
    case RequestsModel::kPrompt:
      return Metric::kPromptTokens;
    case RequestsModel::kComputed:
      return Metric::kComputedTokens;
    case RequestsModel::kOutput:
      return Metric::kOutputTokens;
    case RequestsModel::kBlocks:
      return Metric::kBlocksHeld;
    case RequestsModel::kHits:
      return Metric::kPrefixHits;
    case RequestsModel::kPreemptions:
      return Metric::kPreemptions;
    case RequestsModel::kTtft:
      return Metric::kTtft;
    case RequestsModel::kTpot:
      return Metric::kTpot;
    default:
      return std::nullopt;
  }
}

// The formula of a cell with its numbers.
QString liveFormula(const core::RequestInfo& request, int column) {
  const auto minus = [](std::int64_t later, std::int64_t earlier) {
    return RequestsModel::tr("%1 − %2").arg(durationText(later), durationText(earlier));
  };
  if (column == RequestsModel::kTtft && request.first_token_ns) {
    return RequestsModel::tr("%1 = %2").arg(minus(*request.first_token_ns, request.arrival_ns),
                                            textOf(request, column));
  }
  if (column == RequestsModel::kTpot && request.tpot_ms && request.first_token_ns && request.last_token_ns) {
    return RequestsModel::tr("(%1) ÷ (%2 − 1) = %3")
        .arg(minus(*request.last_token_ns, *request.first_token_ns), countText(request.num_output_tokens),
             textOf(request, column));
  }
  return textOf(request, column);
}

// null: of the column as such.
QString explainColumn(int column, const core::RequestInfo* request) {
  if (const std::optional<Metric> metric = metricOf(column)) {
    return explainMetric(*metric, request == nullptr ? QString() : liveFormula(*request, column));
  }
  switch (column) {
    case RequestsModel::kRequest:
      return RequestsModel::tr("Label of the request, in the colour of its blocks and lanes");
    case RequestsModel::kLane:
      return RequestsModel::tr("Of which lane of the comparison these figures are");
    case RequestsModel::kState:
      return RequestsModel::tr("Where it stands after the last step");
    default:
      return RequestsModel::tr("Why it was not taken into the last step, or how it ended");
  }
}

// A count of none says little: it is shown, with less weight.
bool isNought(const QVariant& value) {
  return value.typeId() == QMetaType::Int && value.toInt() == 0;
}

bool isText(int column) {
  return column <= RequestsModel::kState || column == RequestsModel::kReason;
}

QImage swatch(core::SeqId owner, const Theme& theme) {
  const QColor color = ownerColor(owner, theme);
  const QColor drawing = patternColor(owner, theme);
  QImage image(kSwatch, kSwatch, QImage::Format_RGB32);
  for (int y = 0; y < kSwatch; ++y) {
    for (int x = 0; x < kSwatch; ++x) {
      image.setPixelColor(x, y, inPattern(ownerPattern(owner), x, y) ? drawing : color);
    }
  }
  return image;
}

// Nothing sorts below everything.
bool isLess(const QVariant& a, const QVariant& b) {
  if (!a.isValid() || !b.isValid()) return !a.isValid() && b.isValid();
  if (a.typeId() == QMetaType::QString) return QString::localeAwareCompare(a.toString(), b.toString()) < 0;
  return a.toDouble() < b.toDouble();
}

}  // namespace

void RequestsModel::setTheme(const Theme& theme) {
  m_theme = theme;
  if (!m_rows.empty()) emit dataChanged(index(0, kRequest), index(rowCount() - 1, kLane));
}

QVariant RequestsModel::valueOf(const Row& row, int column) {
  return column == kLane ? laneName(row.lane) : gui::valueOf(row.request, column);
}

QString RequestsModel::textOf(const Row& row, int column) {
  return column == kLane ? laneName(row.lane) : gui::textOf(row.request, column);
}

void RequestsModel::setRequests(const std::vector<core::RequestInfo>& lane_a,
                                const std::vector<core::RequestInfo>& lane_b) {
  ByKey by_key;
  for (const core::RequestInfo& request : lane_a) by_key.emplace(Key{request.seq, core::LaneId::kA}, &request);
  for (const core::RequestInfo& request : lane_b) by_key.emplace(Key{request.seq, core::LaneId::kB}, &request);
  removeGone(by_key);
  for (Row& row : m_rows) {
    const auto now = by_key.find(keyOf(row));
    row.request = *now->second;
    by_key.erase(now);
  }
  insertNew(by_key);
  if (!m_rows.empty()) emit dataChanged(index(0, 0), index(rowCount() - 1, kNumColumns - 1));
}

void RequestsModel::removeGone(const ByKey& now) {
  const auto gone = [&](int row) { return !now.contains(keyOf(m_rows[static_cast<std::size_t>(row)])); };
  for (int end = rowCount(); end > 0;) {
    int begin = end;
    while (begin > 0 && gone(begin - 1)) --begin;
    if (begin == end) {
      --end;
      continue;
    }
    beginRemoveRows({}, begin, end - 1);
    m_rows.erase(m_rows.begin() + begin, m_rows.begin() + end);
    endRemoveRows();
    end = begin;
  }
}

// The newest on top; what the other lane has already stands beside it, lane A first.
void RequestsModel::insertNew(const ByKey& fresh) {
  std::vector<Row> on_top;
  for (const auto& [key, request] : fresh) {
    const Row row{.lane = key.second, .request = *request};
    const std::vector<int> others = rowsOf(key.first);
    if (others.empty()) {
      on_top.push_back(row);
      continue;
    }
    const int at = row.lane == core::LaneId::kA ? others.front() : others.back() + 1;
    beginInsertRows({}, at, at);
    m_rows.insert(m_rows.begin() + at, row);
    endInsertRows();
  }
  if (on_top.empty()) return;
  std::ranges::stable_sort(on_top, std::ranges::greater{}, [](const Row& row) { return row.request.seq; });
  beginInsertRows({}, 0, static_cast<int>(on_top.size()) - 1);
  m_rows.insert(m_rows.begin(), on_top.begin(), on_top.end());
  endInsertRows();
}

core::SeqId RequestsModel::requestAt(int row) const {
  return row >= 0 && row < rowCount() ? m_rows[static_cast<std::size_t>(row)].request.seq : core::SeqId{};
}

std::vector<int> RequestsModel::rowsOf(core::SeqId request) const {
  std::vector<int> rows;
  for (int row = 0; row < rowCount(); ++row) {
    if (requestAt(row) == request) rows.push_back(row);
  }
  return rows;
}

int RequestsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RequestsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kNumColumns;
}

QVariant RequestsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  const core::RequestInfo& request = row.request;
  switch (role) {
    case Qt::DisplayRole:
      return textOf(row, index.column());
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (isText(index.column()) ? Qt::AlignLeft : Qt::AlignRight));
    case Qt::DecorationRole:
      return index.column() == kRequest ? QVariant(swatch(request.seq, m_theme)) : QVariant();
    case Qt::ToolTipRole:
      return tipText(index.column() == kReason ? reasonText(request) : explainColumn(index.column(), &request));
    case Qt::ForegroundRole:
      if (index.column() == kLane) return readable(laneColor(row.lane, m_theme), m_theme.surface);
      return isNought(valueOf(row, index.column())) ? QVariant(m_theme.dim) : QVariant();
    case kValueRole:
      return valueOf(row, index.column());
    default:
      return {};
  }
}

QVariant RequestsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  const auto title = [section] {
    switch (section) {
      case kRequest:
        return tr("Request");
      case kLane:
        return tr("Lane");
      case kState:
        return tr("State");
      case kPrompt:
        return tr("Prompt");
      case kComputed:
        return tr("Computed");
      case kOutput:
        return tr("Output");
      case kBlocks:
        return tr("Blocks");
      case kHits:
        return tr("Hits");
      case kPreemptions:
        return tr("Preempt.");
      case kTtft:
        return tr("TTFT");
      case kTpot:
        return tr("TPOT");
      case kReason:
        return tr("Reason");
      default:
        return QString();
    }
  };
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::DisplayRole) return title();
  if (role == kValueRole && (section == kTtft || section == kTpot)) return tr("%1 (ms)").arg(title());
  if (role == Qt::ToolTipRole) return tipText(explainColumn(section, nullptr));
  if (role == Qt::TextAlignmentRole) {
    return QVariant::fromValue(Qt::AlignVCenter | (isText(section) ? Qt::AlignLeft : Qt::AlignRight));
  }
  return {};
}

void RequestsModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= kNumColumns) return;
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  std::vector<Key> keys;
  for (const QModelIndex& persistent : before)
    keys.push_back(keyOf(m_rows[static_cast<std::size_t>(persistent.row())]));
  std::ranges::stable_sort(m_rows, [column, order](const Row& a, const Row& b) {
    // Labels end in numbers: the order of arrival is what people mean.
    if (column == kRequest) return order == Qt::AscendingOrder ? keyOf(a) < keyOf(b) : keyOf(b) < keyOf(a);
    const QVariant left = valueOf(a, column);
    const QVariant right = valueOf(b, column);
    return order == Qt::AscendingOrder ? isLess(left, right) : isLess(right, left);
  });
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i) {
    const auto row = std::ranges::find(m_rows, keys[static_cast<std::size_t>(i)], keyOf) - m_rows.begin();
    after.push_back(index(static_cast<int>(row), before[i].column()));
  }
  changePersistentIndexList(before, after);
  emit layoutChanged({}, VerticalSortHint);
}

}  // namespace inferoscope::gui
