// Between JavaScript values and the core's: errors, payloads, options, reports.
#ifndef DURLOG_NAPI_CONVERT_H_
#define DURLOG_NAPI_CONVERT_H_

#include <napi.h>

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "log/inspect.h"
#include "log/log.h"

namespace durlog {

// State of one environment (main thread or worker): nothing of the addon is shared between two.
struct EnvironmentData {
  Napi::FunctionReference error_class;
};

// The one place where a Status becomes a DurlogError. `outcome` is "" or what became of the
// record ("unknown", "not-written").
Napi::Value ToError(Napi::Env env, const Status& status, const char* outcome = "");
// Leaves the error pending in `env`.
void Throw(Napi::Env env, const Status& status);

// A record's bytes, borrowed from a Uint8Array, or from `scratch` for a string (as UTF-8).
// False, with a TypeError-like DurlogError pending, for anything else.
bool ToPayload(napi_env env, napi_value value, std::vector<uint8_t>* scratch, Bytes* payload);

// False, with an error pending, where something is missing or out of range.
bool ToOptions(Napi::Env env, const Napi::Object& object, LogOptions* options);

Napi::Object FromRecovery(Napi::Env env, const RecoveryReport& report);
Napi::Object FromStats(Napi::Env env, const LogStats& stats);
Napi::Object FromBounds(Napi::Env env, const LogBounds& bounds);
Napi::Object FromVerify(Napi::Env env, const VerifyReport& report);
Napi::Array FromFrames(Napi::Env env, const std::vector<FrameReport>& frames);
Napi::Object FromRepair(Napi::Env env, const RepairReport& report, const std::string& backup);

// Exact up to 2^53 - 1, which recovery makes sure of.
inline Napi::Number FromSeq(Napi::Env env, uint64_t seq) {
  return Napi::Number::New(env, static_cast<double>(seq));
}

}  // namespace durlog

#endif  // DURLOG_NAPI_CONVERT_H_
