// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/ids.h"

#include <QObject>

namespace inferoscope::gui {

// What is chosen, one for all views: a view sets it on a click and obeys it when it changes.
class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  core::SeqId request() const { return m_request; }                                // clicked; stays
  core::SeqId hovered() const { return m_hovered; }                                // under the mouse, in any view
  core::SeqId shown() const { return m_hovered.valid() ? m_hovered : m_request; }  // what to highlight

  core::BlockId block() const { return m_block; }  // pointed at: by its cell, or by a token that it holds

  void setRequest(core::SeqId request);
  void setHovered(core::SeqId request);
  void setBlock(core::BlockId block);
  void clear();

 signals:
  void changed();

 private:
  core::SeqId m_request;
  core::SeqId m_hovered;
  core::BlockId m_block;
};

}  // namespace inferoscope::gui
