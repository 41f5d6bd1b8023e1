// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/view.h"

#include <array>
#include <optional>

namespace inferoscope::gui {

class LaneHeader;

// Where the parts are: beside each other, or one above the other where that leaves more room. Both views have the same
// size, so that what they show to one scale is equally large.
struct PanesLayout {
  struct Pane {
    QRect header;  // empty for a single lane
    QRect view;
  };
  std::array<Pane, 2> panes;  // by lane
};
PanesLayout layoutPanes(const QSize& size, int header_height, bool two);

// A view of lane A and, while two settings are compared, another one of the same kind of lane B, each under its name.
// They choose requests together; blocks are each lane's own.
class LanePanes : public View {
  Q_OBJECT

 public:
  using Make = View* (*)(Selection& selection, QWidget* parent);
  LanePanes(Make make, Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return m_panes[0].view->sizeHint(); }
  QSize minimumSizeHint() const override { return m_panes[0].view->minimumSizeHint(); }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  struct Pane {
    LaneHeader* header = nullptr;
    View* view = nullptr;
  };
  bool two() const { return m_panes[1].view != nullptr; }
  void addLaneB();
  void removeLaneB();
  void place();

  Make m_make;
  Selection m_selection_b;
  std::array<Pane, 2> m_panes;  // by lane
  std::optional<ModelInfo> m_model;
  core::MachineLimits m_limits;
};

}  // namespace inferoscope::gui
