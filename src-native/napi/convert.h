// Converts between the values of JavaScript and of the core: errors, payloads, options, reports.
#pragma once

#include <napi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/status.h"
#include "cursor/cut_list.h"
#include "inspect/extent.h"
#include "inspect/frames.h"
#include "inspect/repair.h"
#include "inspect/verify.h"
#include "napi/work_queue.h"
#include "write/log_stats.h"
#include "write/options.h"

namespace durlog {

// State of one environment (main thread or worker). Environments share no state of the addon.
struct EnvironmentData {
  explicit EnvironmentData(napi_env env) : work(std::make_shared<WorkQueue>(env)) {}

  Napi::FunctionReference error_class;
  const std::shared_ptr<WorkQueue> work;
  // By name: see NewWrapped().
  std::map<std::string, Napi::FunctionReference> classes;
};

// Only this function converts a Status to a DurlogError.
Napi::Value ToError(Napi::Env env, const Status& status);
// Leaves the error pending in `env`. Returns an empty value.
Napi::Value Throw(Napi::Env env, const Status& status);
// Leaves kInvalidArgument pending and returns false.
bool Refuse(Napi::Env env, const std::string& what);

// None of these functions runs JavaScript, except CollectElements(). Borrowed bytes stay valid
// until the caller runs JavaScript. A result of false always means that an error is pending.

// A record's bytes, borrowed from a Uint8Array, or from `scratch` for a string (as UTF-8). A string
// of more than `max_bytes` is not copied: the payload has only its size, and the core refuses it.
// False for any other value.
bool ToPayload(napi_env env, napi_value value, size_t max_bytes, AlignedBuffer* scratch,
               Bytes* payload);

// The elements of an array. A getter may run JavaScript, so the caller must check its own state
// again. False for any other value, and for more than `max_count` elements.
bool CollectElements(napi_env env, napi_value array, size_t max_count,
                     std::vector<napi_value>* elements);
// Borrows the bytes of a Uint8Array. False, without a pending error, for any other value.
bool BorrowBytes(napi_env env, napi_value value, Bytes* bytes);

// As ToPayload(), for records that are all borrowed at once. If their frames take more than
// `max_frame_bytes` together, no string is copied.
bool ToPayloads(napi_env env, const std::vector<napi_value>& elements, uint64_t max_frame_bytes,
                AlignedBuffer* scratch, std::vector<PayloadParts>* payloads);

// False, with an error pending, if an option is missing or out of range.
bool ToOptions(Napi::Env env, const Napi::Object& object, LogOptions* options);

Napi::Object FromRecovery(Napi::Env env, const RecoveryReport& report);
Napi::Object FromStats(Napi::Env env, const LogStats& stats);
Napi::Object FromCuts(Napi::Env env, const CutsSince& cuts);
Napi::Object FromBounds(Napi::Env env, const LogBounds& bounds);
Napi::Object FromVerify(Napi::Env env, const VerifyReport& report);
Napi::Object FromExtent(Napi::Env env, const SegmentExtent& extent);
Napi::Array FromFrames(Napi::Env env, const std::vector<FrameReport>& frames);
Napi::Object FromRepair(Napi::Env env, const RepairReport& report, const std::string& backup);

// A seq, time or size, which the TypeScript side has checked: a whole number from 0 to 2^53 - 1.
inline uint64_t ToWhole(const Napi::Value& value) {
  return static_cast<uint64_t>(value.As<Napi::Number>().Int64Value());
}
// Exact up to 2^53 - 1, and recovery ensures that no seq is higher.
inline Napi::Number FromSeq(Napi::Env env, uint64_t seq) {
  return Napi::Number::New(env, static_cast<double>(seq));
}
inline Napi::Number FromSeq(Napi::Env env, const std::optional<uint64_t>& seq,
                            double missing = -1) {
  return seq ? FromSeq(env, *seq) : Napi::Number::New(env, missing);
}

// The UUID of the log that a call expects; '' for any log.
inline LogUuid ToUuid(const Napi::Value& value) {
  return ParseUuid(value.As<Napi::String>()).value_or(LogUuid{});
}

// An array of `items`, each converted with `convert`.
template <typename Item, typename Convert>
Napi::Array FromList(Napi::Env env, const std::vector<Item>& items, Convert convert) {
  Napi::Array array = Napi::Array::New(env, items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    array.Set(static_cast<uint32_t>(i), convert(env, items[i]));
  }
  return array;
}

}  // namespace durlog
