// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"
#include "gui/views/waiting_layout.h"

#include <memory>

namespace inferoscope::gui {

struct Theme;

// Why a request is not being computed: what the scheduler recorded, now and since it came, in words with the numbers.
class WaitingView : public View {
  Q_OBJECT

 public:
  WaitingView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {420, 260}; }
  QSize minimumSizeHint() const override { return {200, 140}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  std::span<const StageSpan> story() const { return m_stories.of(m_request); }
  const StageSpan* waitNow() const;  // null: it doesn't wait, or no step has been since it came
  WaitingLayout layoutNow() const;
  void follow();
  QString headerText() const;
  QString sentence() const;
  QString explain(const QPoint& point) const;
  QString spanText(const StageSpan& span) const;
  void paintNow(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const;
  void paintStrip(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const;
  void paintMark(QPainter& painter, const QRect& place, Stage stage, const Theme& theme) const;
  void paintRows(QPainter& painter, const WaitingLayout& layout, const Theme& theme) const;

  bool m_has_model = false;
  core::SeqId m_request;
  RequestStories m_stories;
  std::shared_ptr<const core::Snapshot> m_snapshot;
};

}  // namespace inferoscope::gui
