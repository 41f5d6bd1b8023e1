// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/session/selection.h"

namespace inferoscope::gui {

void Selection::setRequest(core::SeqId request) {
  if (request == m_request) return;
  m_request = request;
  emit changed();
}

void Selection::setHovered(core::SeqId request) {
  if (request == m_hovered) return;
  m_hovered = request;
  emit changed();
}

void Selection::setBlock(core::BlockId block) {
  if (block == m_block) return;
  m_block = block;
  emit changed();
}

void Selection::clear() {
  setHovered({});
  setRequest({});
  setBlock({});
}

}  // namespace inferoscope::gui
