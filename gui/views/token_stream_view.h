// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "gui/views/token_stream_layout.h"
#include "gui/views/view.h"

#include <memory>

class QLabel;
class QPlainTextEdit;

namespace inferoscope::gui {

class EmptyStack;

// What a request says, as it is sampled: the chosen one, else one that runs.
class TokenStreamView : public View {
  Q_OBJECT

 public:
  TokenStreamView(Selection& selection, QWidget* parent);

  void showModel(const ModelInfo& model) override;
  void showLimits(const core::MachineLimits& limits) override;
  void showBeside(const LaneFrame* other) override;
  void showFrame(const Frame& frame) override;
  void refresh() override;

  QSize sizeHint() const override { return {420, 260}; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void buildPage();
  void applyTheme();
  void appendText(const StreamedText& stream);
  void markWherePart(const StreamedText& stream, std::optional<std::size_t> num_equal);
  QString headerText(const StreamedText& stream, const StreamedText& other, std::optional<std::size_t> num_equal) const;
  QString footerText() const;

  QWidget* m_page;
  QLabel* m_header;
  QPlainTextEdit* m_text;
  QLabel* m_footer;
  EmptyStack* m_stack;
  TextStore m_texts;
  TextStore m_texts_beside;     // the other lane's
  core::SeqId m_request;        // whose text is in the widget
  qsizetype m_shown_begin = 0;  // from where
  qsizetype m_shown_end = 0;    // how far
  bool m_random_weights = false;
  std::shared_ptr<const core::Snapshot> m_snapshot;
  std::shared_ptr<const core::Snapshot> m_beside;  // the other lane's
};

}  // namespace inferoscope::gui
