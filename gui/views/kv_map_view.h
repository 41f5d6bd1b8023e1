// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/kv_map_layout.h"
#include "gui/views/view.h"

#include <QImage>

#include <memory>
#include <span>
#include <vector>

namespace inferoscope::gui {

struct Theme;

// Where the KV blocks are: one cell a block, coloured by the request that holds it.
class KvMapView : public View {
  Q_OBJECT

 public:
  KvMapView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showBeside(const LaneFrame* other) override;
  void showFrame(const Frame& frame) override;

  QSize sizeHint() const override { return {560, 380}; }
  QSize minimumSizeHint() const override { return {200, 140}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool event(QEvent* event) override;

 private:
  KvMapLayout parts() const;
  KvMapGrid grid() const;
  std::span<const core::BlockInfo> cells() const;
  int blockAt(const QPoint& point) const;  // -1: none
  core::SeqId ownerOf(int block) const;
  void obeySelection();
  QString explain(const QPoint& point) const;
  QString blockText(int block) const;
  void paintGauges(QPainter& painter, const KvMapLayout& layout, const BlockCounts& counts, const Theme& theme) const;
  void paintMap(QPainter& painter, const Theme& theme) const;
  void paintLabels(QPainter& painter, const KvMapGrid& grid, const QImage& image) const;
  void paintOutlines(QPainter& painter, const KvMapGrid& grid, const Theme& theme) const;
  void paintPointed(QPainter& painter, const KvMapGrid& grid, const Theme& theme) const;
  void paintLegend(QPainter& painter, const QRect& area, const BlockCounts& counts, const Theme& theme) const;

  bool m_has_model = false;
  bool m_by_keyboard = false;  // has the focus through it
  std::shared_ptr<const core::Snapshot> m_snapshot;
  std::shared_ptr<const core::Snapshot> m_beside;  // the other lane's
  KvMapScale m_scale;
  std::vector<core::BlockInfo> m_parts;  // of blocks that are cut; else the snapshot's own are shown
};

}  // namespace inferoscope::gui
