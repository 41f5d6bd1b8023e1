// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/view_catalog.h"

#include "gui/views/batch_lanes_view.h"
#include "gui/views/block_table_view.h"
#include "gui/views/kv_map_view.h"
#include "gui/views/latency_view.h"
#include "gui/views/requests_view.h"
#include "gui/views/roofline_view.h"
#include "gui/views/step_time_view.h"
#include "gui/views/token_bytes_view.h"
#include "gui/views/token_stream_view.h"
#include "gui/views/utilisation_view.h"
#include "gui/views/waiting_view.h"

#include <array>

namespace inferoscope::gui {

namespace {

template <class T>
View* make(Selection& selection, QWidget* parent) {
  return new T(selection, parent);
}

constexpr std::array kViews = {
    ViewRow{"kv-map", QT_TRANSLATE_NOOP("ViewRow", "KV block map"),
            QT_TRANSLATE_NOOP("ViewRow", "Where the KV blocks are: who holds each, how full it is, what is shared"),
            "Alt+1", Qt::TopDockWidgetArea, make<KvMapView>},
    ViewRow{"batch-lanes", QT_TRANSLATE_NOOP("ViewRow", "Batch lanes"),
            QT_TRANSLATE_NOOP("ViewRow", "Who ran in each step: prefill, decode, waiting, preempted, idle"), "Alt+2",
            Qt::TopDockWidgetArea, make<BatchLanesView>},
    ViewRow{"utilisation", QT_TRANSLATE_NOOP("ViewRow", "Utilisation"),
            QT_TRANSLATE_NOOP("ViewRow", "How much of this machine's bandwidth and compute the steps reach"), "Alt+3",
            Qt::RightDockWidgetArea, make<UtilisationView>},
    ViewRow{"requests", QT_TRANSLATE_NOOP("ViewRow", "Requests"),
            QT_TRANSLATE_NOOP("ViewRow", "All requests: state, tokens, blocks, times, why one waits or how it ended"),
            "Alt+4", Qt::BottomDockWidgetArea, make<RequestsView>},
    ViewRow{"token-stream", QT_TRANSLATE_NOOP("ViewRow", "Token stream"),
            QT_TRANSLATE_NOOP("ViewRow", "What the chosen request says, as it is sampled"), "Alt+5",
            Qt::BottomDockWidgetArea, make<TokenStreamView>},
    ViewRow{"roofline", QT_TRANSLATE_NOOP("ViewRow", "Roofline"),
            QT_TRANSLATE_NOOP("ViewRow", "How near each kind of op comes to this machine's bandwidth and compute"),
            "Alt+6", Qt::RightDockWidgetArea, make<RooflineView>},
    ViewRow{"step-time", QT_TRANSLATE_NOOP("ViewRow", "Where the time went"),
            QT_TRANSLATE_NOOP("ViewRow", "A step from its floor to its measured time, and all its ops"), "Alt+7",
            Qt::RightDockWidgetArea, make<StepTimeView>},
    ViewRow{"token-bytes", QT_TRANSLATE_NOOP("ViewRow", "Bytes per token"),
            QT_TRANSLATE_NOOP("ViewRow", "What is moved for each generated token, by class, and tensor by tensor"),
            "Alt+8", Qt::RightDockWidgetArea, make<TokenBytesView>},
    ViewRow{"block-table", QT_TRANSLATE_NOOP("ViewRow", "Block table"),
            QT_TRANSLATE_NOOP("ViewRow",
                              "Which physical block holds each logical block of the chosen request, and how "
                              "a token's place is found"),
            "Alt+B", Qt::RightDockWidgetArea, make<BlockTableView>},
    ViewRow{"latency", QT_TRANSLATE_NOOP("ViewRow", "Latency"),
            QT_TRANSLATE_NOOP("ViewRow", "How long requests wait for their first token and for each further one"),
            "Alt+L", Qt::RightDockWidgetArea, make<LatencyView>},
    ViewRow{"waiting", QT_TRANSLATE_NOOP("ViewRow", "Why is it waiting"),
            QT_TRANSLATE_NOOP("ViewRow", "Why a request is not being computed, now and since it came"), "Alt+Y",
            Qt::RightDockWidgetArea, make<WaitingView>},
};

}  // namespace

std::span<const ViewRow> viewCatalog() {
  return kViews;
}

}  // namespace inferoscope::gui
