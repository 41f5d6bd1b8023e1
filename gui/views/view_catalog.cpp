// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/view_catalog.h"

#include "gui/views/batch_lanes_view.h"
#include "gui/views/block_table_view.h"
#include "gui/views/kv_map_view.h"
#include "gui/views/lane_panes.h"
#include "gui/views/latency_view.h"
#include "gui/views/requests_view.h"
#include "gui/views/roofline_view.h"
#include "gui/views/step_time_view.h"
#include "gui/views/token_bytes_view.h"
#include "gui/views/token_stream_view.h"
#include "gui/views/utilisation_view.h"
#include "gui/views/waiting_view.h"

#include <QCoreApplication>

#include <array>

namespace inferoscope::gui {

namespace {

template <class T>
View* make(Selection& selection, QWidget* parent) {
  return new T(selection, parent);
}

// One beside the other for the two lanes of a comparison; the other views draw both lanes themselves.
template <class T>
View* makePanes(Selection& selection, QWidget* parent) {
  return new LanePanes(make<T>, selection, parent);
}

class ViewRows {
  Q_DECLARE_TR_FUNCTIONS(ViewRow)

 public:
  static constexpr std::array kRows = {
      ViewRow{"kv-map", makePanes<KvMapView>, Qt::TopDockWidgetArea, "Alt+1", QT_TR_NOOP("KV block map"),
              QT_TR_NOOP("Where the KV blocks are: who holds each, how full it is, what is shared")},
      ViewRow{"batch-lanes", make<BatchLanesView>, Qt::TopDockWidgetArea, "Alt+2", QT_TR_NOOP("Batch lanes"),
              QT_TR_NOOP("Who ran in each step: prefill, decode, waiting, preempted, idle")},
      ViewRow{"utilisation", make<UtilisationView>, Qt::RightDockWidgetArea, "Alt+3", QT_TR_NOOP("Utilisation"),
              QT_TR_NOOP("How much of this machine's bandwidth and compute the steps reach")},
      ViewRow{"requests", make<RequestsView>, Qt::BottomDockWidgetArea, "Alt+4", QT_TR_NOOP("Requests"),
              QT_TR_NOOP("All requests: state, tokens, blocks, times, why one waits or how it ended")},
      ViewRow{"token-stream", makePanes<TokenStreamView>, Qt::BottomDockWidgetArea, "Alt+5", QT_TR_NOOP("Token stream"),
              QT_TR_NOOP("What the chosen request says, as it is sampled")},
      ViewRow{"roofline", make<RooflineView>, Qt::RightDockWidgetArea, "Alt+6", QT_TR_NOOP("Roofline"),
              QT_TR_NOOP("How near each kind of op comes to this machine's bandwidth and compute")},
      ViewRow{"step-time", makePanes<StepTimeView>, Qt::RightDockWidgetArea, "Alt+7", QT_TR_NOOP("Where the time went"),
              QT_TR_NOOP("A step from its floor to its measured time, and all its ops")},
      ViewRow{"token-bytes", make<TokenBytesView>, Qt::RightDockWidgetArea, "Alt+8", QT_TR_NOOP("Bytes per token"),
              QT_TR_NOOP("What is moved for each generated token, by class, and tensor by tensor")},
      ViewRow{"block-table", makePanes<BlockTableView>, Qt::RightDockWidgetArea, "Alt+B", QT_TR_NOOP("Block table"),
              QT_TR_NOOP("Which physical block holds each logical block of a request, and how a token is found")},
      ViewRow{"latency", make<LatencyView>, Qt::RightDockWidgetArea, "Alt+L", QT_TR_NOOP("Latency"),
              QT_TR_NOOP("How long requests wait for their first token and for each further one")},
      ViewRow{"waiting", makePanes<WaitingView>, Qt::RightDockWidgetArea, "Alt+Y", QT_TR_NOOP("Why is it waiting"),
              QT_TR_NOOP("Why a request is not being computed, now and since it came")},
  };
};

}  // namespace

std::span<const ViewRow> viewCatalog() {
  return ViewRows::kRows;
}

}  // namespace inferoscope::gui
