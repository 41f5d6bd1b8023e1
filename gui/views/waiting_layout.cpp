// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/waiting_layout.h"

#include "gui/paint/marks.h"
#include "gui/paint/number_format.h"
#include "gui/views/followed.h"
#include "gui/views/words.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace inferoscope::gui {

namespace {

class Waiting {
  Q_DECLARE_TR_FUNCTIONS(Waiting)
};

constexpr std::size_t kMaxSpans = 512;
constexpr int kStripHeight = 16;

}  // namespace

void RequestStories::clear() {
  m_stories.clear();
  m_last_step = -1;
}

void RequestStories::add(const LaneFrame& frame) {
  for (const auto& step : frame.steps) addStep(*step);
  if (!frame.snapshot) return;
  std::unordered_set<core::SeqId> listed;
  for (const core::RequestInfo& request : frame.snapshot->requests) listed.insert(request.seq);
  std::erase_if(m_stories, [&listed](const auto& story) { return !listed.contains(story.first); });
}

void RequestStories::addStep(const core::StepRecord& step) {
  if (step.step_index <= m_last_step) clear();
  m_last_step = step.step_index;
  std::unordered_set<core::SeqId> told;
  for (const core::WaitEntry& wait : step.waiting) {
    put(wait.seq, step, Stage::kWaiting, wait, 0);
    told.insert(wait.seq);
  }
  for (const core::StepEntry& entry : step.entries) {
    const Stage stage = entry.phase == core::Phase::kPrefill ? Stage::kPrefill : Stage::kDecode;
    put(entry.seq, step, stage, {}, entry.num_tokens);
    told.insert(entry.seq);
  }
  for (auto& [request, story] : m_stories) {
    const StageSpan& last = story.back();
    const bool runs = last.stage != Stage::kWaiting && last.last_step == step.step_index - 1;
    if (runs && !told.contains(request)) put(request, step, Stage::kHeld, {}, 0);
  }
}

void RequestStories::put(core::SeqId request, const core::StepRecord& step, Stage stage, const core::WaitEntry& wait,
                         int num_tokens) {
  std::vector<StageSpan>& story = m_stories[request];
  const bool goes_on = !story.empty() && story.back().stage == stage && story.back().wait.reason == wait.reason &&
                       story.back().last_step == step.step_index - 1;
  if (!goes_on) {
    if (story.size() == kMaxSpans) story.erase(story.begin());
    story.push_back({.stage = stage, .wait = wait, .first_step = step.step_index, .from_ns = step.start_ns});
  }
  StageSpan& span = story.back();
  span.wait = wait;
  span.last_step = step.step_index;
  span.to_ns = step.start_ns + step.duration_ns;
  span.busy_ns += step.duration_ns;
  span.num_tokens += num_tokens;
}

std::span<const StageSpan> RequestStories::of(core::SeqId request) const {
  const auto found = m_stories.find(request);
  return found == m_stories.end() ? std::span<const StageSpan>{} : found->second;
}

core::SeqId whoWaits(const core::Snapshot& snapshot, core::SeqId chosen, core::SeqId before) {
  if (chosen.valid()) return chosen;
  const auto waits = [](const core::RequestInfo& request) {
    return request.state == core::SeqState::kWaiting || request.state == core::SeqState::kPreempted;
  };
  const core::RequestInfo* current = findRequest(&snapshot, before);
  if (current != nullptr && waits(*current)) return before;
  const auto head = std::ranges::find_if(snapshot.requests, waits);
  return head != snapshot.requests.end() ? head->seq : followed(snapshot, {}, before);
}

QString waitSentence(const core::WaitEntry& wait) {
  const QString needed = countText(wait.needed);
  const QString available = countText(wait.available);
  switch (wait.reason) {
    case core::WaitReason::kNone:
      return {};
    case core::WaitReason::kStepTokens:
      return Waiting::tr("the step's tokens are spent: it needs %1 at least, %2 were left").arg(needed, available);
    case core::WaitReason::kBlocks:
      return Waiting::tr("too few KV blocks: it needs %1, %2 are free for it").arg(needed, available);
    case core::WaitReason::kMaxSequences:
      return Waiting::tr("the batch is full: it would be number %1, at most %2 run").arg(needed, available);
    case core::WaitReason::kHeadOfLine:
      return wait.needed == 1 ? Waiting::tr("nobody passes another: 1 request waits before it")
                              : Waiting::tr("nobody passes another: %1 requests wait before it").arg(needed);
    case core::WaitReason::kAfterPreemption:
      return Waiting::tr("%1 preempted in this step: nobody is admitted beside that").arg(needed);
    case core::WaitReason::kStaticBatch:
      return Waiting::tr("static batching: %1 of the batch must end first").arg(needed);
  }
  return {};
}

QString waitKnobs(core::WaitReason reason) {
  switch (reason) {
    case core::WaitReason::kStepTokens:
      return QStringLiteral("step-tokens, prefill-chunk");
    case core::WaitReason::kBlocks:
    case core::WaitReason::kAfterPreemption:
      return QStringLiteral("kv-budget, kv-format, kv-layout");
    case core::WaitReason::kMaxSequences:
      return QStringLiteral("max-sequences");
    case core::WaitReason::kStaticBatch:
      return QStringLiteral("batching");
    case core::WaitReason::kHeadOfLine:
    case core::WaitReason::kNone:
      break;
  }
  return {};
}

QString stageSentence(const StageSpan& span) {
  const QString tokens =
      span.num_tokens == 1 ? Waiting::tr("1 token") : Waiting::tr("%1 tokens").arg(countText(span.num_tokens));
  switch (span.stage) {
    case Stage::kWaiting:
      return Waiting::tr("waited: %1").arg(waitSentence(span.wait));
    case Stage::kPrefill:
      return Waiting::tr("prefill, %1").arg(tokens);
    case Stage::kDecode:
      return Waiting::tr("decode, %1").arg(tokens);
    case Stage::kHeld:
      return Waiting::tr("in the batch, but not computed");
  }
  return {};
}

QString waitTotals(std::span<const StageSpan> story) {
  std::vector<std::pair<core::WaitReason, std::int64_t>> sums;  // few: a search is enough
  std::int64_t waited = 0;
  for (const StageSpan& span : story) {
    if (span.stage != Stage::kWaiting) continue;
    waited += span.busy_ns;
    const auto found = std::ranges::find(sums, span.wait.reason, [](const auto& sum) { return sum.first; });
    if (found == sums.end()) {
      sums.emplace_back(span.wait.reason, span.busy_ns);
    } else {
      found->second += span.busy_ns;
    }
  }
  if (sums.empty()) return Waiting::tr("It never waited in a step.");
  std::ranges::sort(sums, std::ranges::greater{}, [](const auto& sum) { return sum.second; });
  QStringList parts;
  for (const auto& [reason, ns] : sums) parts << durationText(ns) + QLatin1Char(' ') + waitReasonWords(reason);
  return Waiting::tr("Waited %1 in all: %2").arg(durationText(waited), parts.join(QStringLiteral(", ")));
}

WaitingLayout layoutWaiting(const QSize& size, int line_height, int sentence_height, int gauge_height,
                            std::span<const StageSpan> story) {
  const QRect inner = QRect(QPoint(), size).adjusted(kMargin, kMargin, -kMargin, -kMargin);
  WaitingLayout layout;
  int top = inner.top();
  const auto row = [&](int height, int space) {
    const QRect rect(inner.left(), top, inner.width(), height);
    if (height > 0) top += height + space;
    return rect;
  };
  layout.header = row(line_height, kSpacing);
  layout.sentence = row(sentence_height, kSpacing);
  layout.gauge = row(gauge_height, kSpacing);
  layout.totals = row(line_height, kSpacing);
  layout.strip = row(kStripHeight, 2);
  layout.axis = row(line_height, kSpacing);
  if (story.empty()) return layout;

  const std::int64_t from = story.front().from_ns;
  const double ns = static_cast<double>(std::max<std::int64_t>(1, story.back().to_ns - from));
  const auto x = [&](std::int64_t at) {
    return layout.strip.left() + static_cast<int>(static_cast<double>(at - from) / ns * layout.strip.width());
  };
  for (const StageSpan& span : story) {
    const int left = std::min(x(span.from_ns), layout.strip.right());
    layout.spans.emplace_back(left, layout.strip.top(), std::max(1, x(span.to_ns) - left), layout.strip.height());
  }
  const int step = line_height + 2;
  const auto num_spans = static_cast<int>(story.size());
  const int room = std::max(0, (inner.bottom() + 1 - top) / std::max(1, step));
  const int shown = num_spans <= room ? num_spans : std::max(0, room - 1);
  for (int i = 0; i < shown; ++i) layout.rows.push_back(row(line_height, 2));
  layout.num_hidden = num_spans - shown;
  if (layout.num_hidden > 0 && room > 0) layout.more = row(line_height, 2);
  return layout;
}

}  // namespace inferoscope::gui
