#include "napi/log_wrap.h"

#include <memory>
#include <utility>
#include <vector>

#include "log/log.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/log_handle.h"
#include "napi/retention_wrap.h"
#include "record/record_format.h"
#include "shared/shared_log.h"

namespace durlog {
namespace {

using HandlePointer = std::shared_ptr<LogHandle>;

void ReleaseHandle(napi_env, void* data, void*) {
  const std::unique_ptr<HandlePointer> released(static_cast<HandlePointer*>(data));
}

// Arguments of one call. Every method is a function that carries its handle as its data: finding
// it costs nothing, no receiver can be the wrong one, and each function holds a share of it.
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
  // Left out by a caller that has none: an argument more would cost a tenth of the call.
  uint64_t TimeAt(size_t index) const {
    int64_t time_ms = -1;
    if (argc > index) napi_get_value_int64(env, argv[index], &time_ms);
    return time_ms < 0 ? LogWriter::kClockTime : static_cast<uint64_t>(time_ms);
  }
  uint64_t SeqAt(size_t index, int64_t fallback) const {
    int64_t seq = fallback;
    napi_get_value_int64(env, argv[index], &seq);
    return static_cast<uint64_t>(seq);
  }
  // Why there was no room; nothing after success, or with an error pending. The counters hold the
  // seq: a number would cost a tenth of the call.
  napi_value Appended(const Result<uint64_t>& result) const {
    handle->StoreCounters();
    if (result.ok()) return nullptr;
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
  napi_value argv[3] = {};
  LogHandle* handle = nullptr;
  LogWriter* log = nullptr;
};

napi_value Append(napi_env env, napi_callback_info info) {
  const Call call(env, info, 3);
  Bytes payload;
  if (call.log == nullptr || !call.Payload(&payload)) return nullptr;
  return call.Appended(call.log->Append(payload, call.LevelAt(1), call.TimeAt(2)));
}

napi_value Write(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  Bytes payload;
  if (call.log == nullptr || !call.Payload(&payload)) return nullptr;
  return call.Appended(call.log->Write(payload));
}

napi_value AppendSync(napi_env env, napi_callback_info info) {
  const Call call(env, info, 3);
  Bytes payload;
  if (call.log == nullptr || !call.Payload(&payload)) return nullptr;
  return call.Appended(call.log->AppendSync(payload, call.LevelAt(1), call.TimeAt(2)));
}

// The records of a batch, the call's first argument. Null with an error pending.
LogWriter* ToBatch(const Call& call, std::vector<Bytes>* payloads) {
  if (call.log == nullptr) return nullptr;
  const uint64_t max_bytes = call.log->options().segment_bytes;
  std::vector<napi_value> elements;
  if (!CollectElements(call.env, call.argv[0], max_bytes / kMinRecordFrameBytes, &elements)) {
    return nullptr;
  }
  // A getter may have closed the log.
  LogWriter* const log = call.handle->log();
  if (log == nullptr) {
    Throw(call.env, Status::Error(Code::kClosed, "the log is closed"));
    return nullptr;
  }
  return ToPayloads(call.env, elements, max_bytes, call.handle->scratch(), payloads) ? log
                                                                                     : nullptr;
}

napi_value AppendBatch(napi_env env, napi_callback_info info) {
  const Call call(env, info, 3);
  std::vector<Bytes> payloads;
  LogWriter* const log = ToBatch(call, &payloads);
  if (log == nullptr) return nullptr;
  return call.Appended(
      log->AppendBatch(payloads.data(), payloads.size(), call.LevelAt(1), call.TimeAt(2)));
}

napi_value WriteMany(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  std::vector<Bytes> payloads;
  LogWriter* const log = ToBatch(call, &payloads);
  if (log == nullptr) return nullptr;
  const Result<uint64_t> first = log->WriteBatch(payloads.data(), payloads.size());
  napi_value refused = call.Appended(first);
  return first.ok() ? static_cast<napi_value>(FromSeq(env, *first)) : refused;
}

napi_value RequestSync(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log != nullptr) call.log->RequestSync(call.LevelAt(0));
  return nullptr;
}

napi_value FlushSync(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const Status flushed = call.log->Sync(call.LevelAt(0));
  call.handle->StoreCounters();
  if (!flushed.ok()) Throw(env, flushed);
  return nullptr;
}

napi_value Pump(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  call.log->Harvest();
  call.log->Pump();
  call.handle->StoreCounters();
  return nullptr;
}

napi_value TakeEvents(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  if (napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data) != napi_ok) return nullptr;
  return (*static_cast<HandlePointer*>(data))->TakeEvents(env);
}

napi_value Stats(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  return call.log == nullptr ? nullptr : static_cast<napi_value>(FromStats(env, call.log->Stats()));
}

napi_value TrimBefore(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const std::shared_ptr<TrimJob> job = call.handle->As<Log>()->BeginTrim(call.SeqAt(0, 0));
  call.handle->StoreCounters();
  const HandlePointer handle = call.handle->shared_from_this();
  return RunAsync(
      env,
      [job] {
        if (job) job->Await();
        return Status::Ok();
      },
      [job, handle](Napi::Env done_env) -> Napi::Value {
        Log* const log = handle->As<Log>();
        if (log == nullptr) return FromSeq(done_env, 0);
        if (job) log->FinishTrim(*job);
        handle->StoreCounters();
        if (job && !job->status().ok()) return ToError(done_env, job->status());
        return FromSeq(done_env, log->first_seq());
      });
}

napi_value PlanRetention(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const RetentionPolicy policy = ToRetentionPolicy(Napi::Object(env, call.argv[0]));
  const std::shared_ptr<RetentionJob> job = call.handle->As<Log>()->BeginRetention(policy);
  // The log outlives its jobs: see SegmentChain::Watch().
  return RunAsync(
      env,
      [job]() -> Status {
        job->Await();
        return job->plan().status();
      },
      [job](Napi::Env done_env) -> Napi::Value {
        return FromRetentionPlan(done_env, job->plan().value());
      });
}

napi_value TruncateAfter(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const uint64_t next_seq = call.SeqAt(0, -1) + 1;
  Result<std::shared_ptr<TruncateJob>> begun = call.handle->As<Log>()->BeginTruncate(next_seq);
  if (!begun.ok()) {
    call.handle->StoreCounters();
    Throw(env, begun.status());
    return nullptr;
  }
  const std::shared_ptr<TruncateJob> job = *begun;
  const HandlePointer handle = call.handle->shared_from_this();
  return RunAsync(
      env,
      [job] {
        job->Await();
        return Status::Ok();
      },
      [job, handle](Napi::Env done_env) -> Napi::Value {
        Log* const log = handle->As<Log>();
        if (log == nullptr) return FromSeq(done_env, 0);
        const Status status = log->FinishTruncate(*job);
        handle->StoreCounters();
        if (!status.ok()) return ToError(done_env, status);
        return FromSeq(done_env, log->next_seq());
      });
}

napi_value Rotate(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  Result<std::shared_ptr<RotateJob>> begun = call.handle->As<Log>()->BeginRotate();
  if (!begun.ok()) {
    call.handle->StoreCounters();
    Throw(env, begun.status());
    return nullptr;
  }
  const std::shared_ptr<RotateJob> job = *begun;
  const HandlePointer handle = call.handle->shared_from_this();
  return RunAsync(
      env,
      [job] {
        if (job) job->Await();
        return Status::Ok();
      },
      [job, handle](Napi::Env done_env) -> Napi::Value {
        Log* const log = handle->As<Log>();
        if (log == nullptr) return FromSeq(done_env, 0);
        const Status status = job ? log->FinishRotate(*job) : Status::Ok();
        handle->StoreCounters();
        if (!status.ok()) return ToError(done_env, status);
        return FromSeq(done_env, log->next_seq());
      });
}

napi_value Close(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  return call.log == nullptr ? nullptr : call.handle->Close(env);
}

bool AddMethod(Napi::Env env, const Napi::Object& object, const HandlePointer& handle,
               const char* name, napi_callback callback) {
  auto share = std::make_unique<HandlePointer>(handle);
  napi_value function = nullptr;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, share.get(), &function) !=
          napi_ok ||
      napi_add_finalizer(env, function, share.get(), ReleaseHandle, nullptr, nullptr) != napi_ok) {
    return false;
  }
  static_cast<void>(share.release());  // ReleaseHandle() owns it now
  return napi_set_named_property(env, object, name, function) == napi_ok;
}

napi_value Look(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  call.handle->As<SharedLog>()->Look();
  call.handle->StoreCounters();
  return nullptr;
}

napi_value ExpectSeq(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log != nullptr) call.handle->As<SharedLog>()->ExpectSeq(call.SeqAt(0, 0));
  return nullptr;
}

napi_value TrimShared(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  if (call.log == nullptr) return nullptr;
  const std::shared_ptr<SharedTrimJob> job =
      call.handle->As<SharedLog>()->BeginTrim(call.SeqAt(0, 0));
  const HandlePointer handle = call.handle->shared_from_this();
  return RunAsync(
      env,
      [job] {
        job->Await();
        return job->status();
      },
      [handle](Napi::Env done_env) -> Napi::Value {
        if (handle->log() == nullptr) return FromSeq(done_env, 0);
        handle->StoreCounters();
        return FromSeq(done_env, handle->log()->Ends().first_seq);
      });
}

napi_value Members(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  const SharedLog& log = *call.handle->As<SharedLog>();
  Napi::Object members = Napi::Object::New(env);
  members.Set("members", Napi::Number::New(env, log.CountMembers()));
  members.Set("slot", Napi::Number::New(env, log.slot()));
  return members;
}

using Method = std::pair<const char*, napi_callback>;

constexpr Method kMethods[] = {{"append", Append},
                               {"appendBatch", AppendBatch},
                               {"write", Write},
                               {"writeMany", WriteMany},
                               {"appendSync", AppendSync},
                               {"requestSync", RequestSync},
                               {"flushSync", FlushSync},
                               {"pump", Pump},
                               {"takeEvents", TakeEvents},
                               {"stats", Stats},
                               {"close", Close}};
constexpr Method kMethodsAlone[] = {{"trimBefore", TrimBefore},
                                    {"planRetention", PlanRetention},
                                    {"truncateAfter", TruncateAfter},
                                    {"rotate", Rotate}};
constexpr Method kMethodsShared[] = {
    {"trimBefore", TrimShared}, {"look", Look}, {"expectSeq", ExpectSeq}, {"members", Members}};

template <size_t N>
bool AddMethods(Napi::Env env, const Napi::Object& object, const HandlePointer& handle,
                const Method (&methods)[N]) {
  for (const auto& [name, callback] : methods) {
    if (!AddMethod(env, object, handle, name, callback)) return false;
  }
  return true;
}

Napi::Value MakeObject(Napi::Env env, std::unique_ptr<LogWriter> log, bool shared,
                       const Napi::Function& on_progress) {
  Napi::Object object = Napi::Object::New(env);
  const Napi::Float64Array counters = Napi::Float64Array::New(env, LogHandle::kCounters);
  // In a worker that is being terminated.
  if (counters.IsEmpty()) return Napi::Value();
  object.Set("counters", counters);
  object.Set("onProgress", on_progress);
  object.Set("recovery", FromRecovery(env, log->recovery()));
  object.Set("uuid", FormatUuid(log->uuid()));
  const auto handle = std::make_shared<LogHandle>(env, std::move(log));
  if (!AddMethods(env, object, handle, kMethods) ||
      !(shared ? AddMethods(env, object, handle, kMethodsShared)
               : AddMethods(env, object, handle, kMethodsAlone))) {
    return Napi::Value();
  }
  handle->Connect(on_progress, counters);
  return object;
}

}  // namespace

Napi::Value OpenLog(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  LogOptions options;
  if (!ToOptions(env, info[1].As<Napi::Object>(), &options)) return Napi::Value();
  const std::string path = info[0].As<Napi::String>();
  const auto on_progress =
      std::make_shared<Napi::FunctionReference>(Napi::Persistent(info[2].As<Napi::Function>()));
  const auto opened = std::make_shared<std::unique_ptr<LogWriter>>();
  return RunAsync(
      env,
      [path, options, opened]() -> Status {
        FileSystem& file_system = DefaultFileSystem();
        if (options.shared) {
          DURLOG_ASSIGN_OR_RETURN(*opened, SharedLog::Open(file_system, path, options));
        } else {
          DURLOG_ASSIGN_OR_RETURN(*opened, Log::Open(file_system, path, options));
        }
        return Status::Ok();
      },
      [opened, on_progress, shared = options.shared](Napi::Env done_env) {
        return MakeObject(done_env, std::move(*opened), shared, on_progress->Value());
      });
}

}  // namespace durlog
