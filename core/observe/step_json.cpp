// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/observe/step_json.h"

#include "core/observe/run_summary.h"

#include <nlohmann/json.hpp>

namespace inferoscope::core {
namespace {

using Json = nlohmann::ordered_json;

Json costJson(const kernels::OpCost& cost) {
  Json json = {{"flops", cost.flops}, {"int8_ops", cost.int8_ops}};
  for (const ByteClass& bytes : byteClasses()) json[bytes.name] = cost.*bytes.field;
  return json;
}

Json opJson(const OpRecord& op) {
  return {{"kind", kernels::opKindName(op.kind)},
          {"layer", op.layer},
          {"name", op.name},
          {"kernel", op.kernel},
          {"format", op.format},
          {"num_tokens", op.num_tokens},
          {"start_ns", op.start_ns},
          {"duration_ns", op.duration_ns},
          {"scratch_bytes", op.scratch_bytes},
          {"cost", costJson(op.cost)}};
}

Json entryJson(const StepEntry& entry) {
  return {{"seq", entry.seq.value},
          {"phase", entry.phase == Phase::kPrefill ? "prefill" : "decode"},
          {"num_tokens", entry.num_tokens},
          {"kv_len", entry.kv_len},
          {"num_hit_tokens", entry.num_hit_tokens},
          {"sampled", entry.sampled},
          {"finished", entry.finished}};
}

Json waitJson(const WaitEntry& entry) {
  return {{"seq", entry.seq.value}, {"reason", waitReasonName(entry.reason)}};
}

template <class Item>
Json listJson(const std::vector<Item>& items, Json (*json_of)(const Item&)) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

Json idsJson(const std::vector<SeqId>& ids) {
  Json list = Json::array();
  for (const SeqId id : ids) list.push_back(id.value);
  return list;
}

}  // namespace

Json stepJson(const StepRecord& step) {
  return {{"step_index", step.step_index},
          {"start_ns", step.start_ns},
          {"duration_ns", step.duration_ns},
          {"kernel_ns", step.kernel_ns},
          {"process_cpu_s", step.process_cpu_s},
          {"gpu_busy", step.gpu_busy ? Json(*step.gpu_busy) : Json()},
          {"num_threads", step.num_threads},
          {"num_prefill_tokens", step.num_prefill_tokens},
          {"num_decode_tokens", step.num_decode_tokens},
          {"num_sampled", step.num_sampled},
          {"num_blocks_used", step.num_blocks_used},
          {"num_blocks", step.num_blocks},
          {"cost", costJson(step.cost)},
          {"entries", listJson(step.entries, entryJson)},
          {"waiting", listJson(step.waiting, waitJson)},
          {"admitted", idsJson(step.admitted)},
          {"preempted", idsJson(step.preempted)},
          {"ops", listJson(step.ops, opJson)}};
}

}  // namespace inferoscope::core
