// A call of a method of the log's object.
#pragma once

#include <node_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "napi/convert.h"
#include "napi/log_handle.h"
#include "write/log_writer.h"

namespace durlog {

using HandlePointer = std::shared_ptr<LogHandle>;

// The arguments of one call. Every method is a function whose data is the log's handle: access to
// the handle costs nothing, `this` cannot be a wrong object, and each function owns a share of the
// handle.
struct Call {
  Call(napi_env environment, napi_callback_info info, size_t arity)
      : env(environment), argc(arity) {
    void* data = nullptr;
    napi_get_cb_info(env, info, &argc, argv, nullptr, &data);
    handle = static_cast<HandlePointer*>(data)->get();
    log = handle->log();
    if (log == nullptr) Throw(env, Status::Error(Code::kClosed, "the log is closed"));
  }
  ~Call() { handle->BoundScratch(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  bool Payload(Bytes* payload) const {
    return ToPayload(env, argv[0], log->options().max_record_bytes, handle->scratch(), payload);
  }
  Level LevelAt(size_t index) const {
    uint32_t level = static_cast<uint32_t>(Level::kSync);
    napi_get_value_uint32(env, argv[index], &level);
    return static_cast<Level>(level < kLevelCount ? level : kLevelCount - 1);
  }
  // Omitted or negative: the clock's time. It may be omitted because each argument costs a tenth of
  // the call.
  uint64_t TimeAt(size_t index) const {
    int64_t time_ms = -1;
    if (argc > index) napi_get_value_int64(env, argv[index], &time_ms);
    return time_ms < 0 ? LogWriter::kClockTime : static_cast<uint64_t>(time_ms);
  }
  // Omitted if the caller expects no particular seq.
  uint64_t ExpectedSeqAt(size_t index) const {
    return argc > index ? SeqAt(index, 0) : LogWriter::kAnySeq;
  }
  uint64_t SeqAt(size_t index, int64_t fallback) const {
    int64_t seq = fallback;
    napi_get_value_int64(env, argv[index], &seq);
    return static_cast<uint64_t>(seq);
  }
  // Returns the reason why there was no room; undefined after success, or with an error pending.
  // The counters hold the seq, because returning a number would cost a tenth of the call. They also
  // distinguish success from a call that did nothing: in a worker that is being terminated,
  // arguments cannot be read and errors cannot be thrown, while its JavaScript still runs for a
  // moment.
  napi_value Appended(const Result<uint64_t>& result) const {
    handle->StoreCounters();
    if (result.ok()) {
      handle->CountAccepted();
      return nullptr;
    }
    if (result.status().code() != Code::kBackpressure) {
      Throw(env, result.status());
      return nullptr;
    }
    const std::string& reason = result.status().message();
    napi_value refused = nullptr;
    napi_create_string_utf8(env, reason.data(), reason.size(), &refused);
    return refused;
  }

  napi_env env;
  size_t argc;
  napi_value argv[6] = {};
  LogHandle* handle = nullptr;
  LogWriter* log = nullptr;
};

}  // namespace durlog
