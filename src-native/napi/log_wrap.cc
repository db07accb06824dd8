#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "log/log.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/log_call.h"
#include "napi/log_handle.h"
#include "napi/log_jobs.h"
#include "record/record_format.h"
#include "shared/shared_log.h"
#include "streams/entry_payloads.h"

namespace durlog {
namespace {

void ReleaseHandle(napi_env, void* data, void*) {
  const std::unique_ptr<HandlePointer> released(static_cast<HandlePointer*>(data));
}

napi_value Append(napi_env env, napi_callback_info info) {
  const Call call(env, info, 4);
  Bytes payload;
  if (call.log == nullptr || !call.Payload(&payload)) return nullptr;
  return call.Appended(
      call.log->Append(payload, call.LevelAt(1), call.TimeAt(2), call.ExpectedSeqAt(3)));
}

// The range of the first argument from the second to the third argument.
napi_value AppendRange(napi_env env, napi_callback_info info) {
  const Call call(env, info, 4);
  Bytes bytes;
  if (call.log == nullptr ||
      !ToPayload(env, call.argv[0], SIZE_MAX, call.handle->scratch(), &bytes)) {
    return nullptr;
  }
  const uint64_t end = std::min<uint64_t>(call.SeqAt(2, 0), bytes.size);
  const uint64_t start = std::min(call.SeqAt(1, 0), end);
  return call.Appended(call.log->Append(Bytes{bytes.data + start, static_cast<size_t>(end - start)},
                                        call.LevelAt(3), LogWriter::kClockTime,
                                        LogWriter::kAnySeq));
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

napi_value WriteVoid(napi_env env, napi_callback_info info) {
  const Call call(env, info, 2);
  if (call.log == nullptr) return nullptr;
  return call.Appended(call.handle->As<Log>()->WriteVoid(call.SeqAt(0, 0), call.TimeAt(1)));
}

// The records of a batch, the call's first argument. Null with an error pending.
LogWriter* ToBatch(const Call& call, std::vector<PayloadParts>* payloads) {
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
  const Call call(env, info, 4);
  std::vector<PayloadParts> payloads;
  LogWriter* const log = ToBatch(call, &payloads);
  if (log == nullptr) return nullptr;
  return call.Appended(log->AppendBatch(payloads.data(), payloads.size(), call.LevelAt(1),
                                        call.TimeAt(2), call.ExpectedSeqAt(3)));
}

// See `appendEntries` in src/native/log.ts.
napi_value AppendEntries(napi_env env, napi_callback_info info) {
  const Call call(env, info, 6);
  if (call.log == nullptr) return nullptr;
  EntryGroup group;
  for (const auto& [index, bytes] : {std::pair{0, &group.first}, std::pair{1, &group.following},
                                     std::pair{2, &group.end}, std::pair{3, &group.values}}) {
    if (!BorrowBytes(env, call.argv[index], bytes)) {
      Refuse(env, "entries are Uint8Arrays");
      return nullptr;
    }
  }
  napi_typedarray_type type = napi_int8_array;
  void* places = nullptr;
  if (napi_get_typedarray_info(env, call.argv[4], &type, &group.place_count, &places, nullptr,
                               nullptr) != napi_ok ||
      type != napi_uint32_array) {
    Refuse(env, "places are a Uint32Array");
    return nullptr;
  }
  group.places = static_cast<const uint32_t*>(places);
  EntryPayloads payloads;
  if (!payloads.Make(group)) {
    Refuse(env, "an entry lies outside its memory");
    return nullptr;
  }
  return call.Appended(call.log->AppendBatch(payloads.data(), payloads.size(), call.LevelAt(5),
                                             LogWriter::kClockTime, LogWriter::kAnySeq));
}

napi_value WriteBatch(napi_env env, napi_callback_info info) {
  const Call call(env, info, 1);
  std::vector<PayloadParts> payloads;
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
  if (flushed.ok()) {
    call.handle->CountAccepted();
  } else {
    Throw(env, flushed);
  }
  return nullptr;
}

napi_value HasRoom(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  // If the log is closed, the next append fails for another reason.
  const bool has_room = call.log == nullptr || call.log->HasRoom();
  return Napi::Boolean::New(env, has_room);
}

napi_value Pump(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  call.log->Harvest();
  call.log->Pump();
  call.handle->StoreCounters();
  return nullptr;
}

napi_value CheckFiles(napi_env env, napi_callback_info info) {
  const Call call(env, info, 0);
  if (call.log == nullptr) return nullptr;
  call.log->CheckFiles();
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

// The methods of NativeWriter in TypeScript. The next two tables add the methods of NativeLog and
// of NativeSharedLog.
constexpr Method kMethods[] = {{"append", Append},
                               {"appendRange", AppendRange},
                               {"appendBatch", AppendBatch},
                               {"write", Write},
                               {"writeBatch", WriteBatch},
                               {"appendSync", AppendSync},
                               {"hasRoom", HasRoom},
                               {"requestSync", RequestSync},
                               {"flushSync", FlushSync},
                               {"pump", Pump},
                               {"takeEvents", TakeEvents},
                               {"stats", Stats},
                               {"checkFiles", CheckFiles},
                               {"appendEntries", AppendEntries},
                               {"close", Close}};
constexpr Method kMethodsAlone[] = {{"trimBefore", TrimBefore},
                                    {"writeVoid", WriteVoid},
                                    {"planRetention", PlanRetention},
                                    {"truncateAfter", TruncateAfter},
                                    {"rotate", Rotate}};
constexpr Method kMethodsShared[] = {
    {"trimBefore", TrimShared}, {"look", Look}, {"members", Members}};

struct OpenedLog {
  std::unique_ptr<LogWriter> log;
  CutsSince cuts;
};

// The cuts are read while the writer holds the log's lock, so their generation is current.
Result<OpenedLog> Open(const std::string& path, const LogOptions& options) {
  OpenedLog opened;
  if (options.shared) {
    DURLOG_ASSIGN_OR_RETURN(opened.log, SharedLog::Open(DefaultFileSystem(), path, options));
  } else {
    DURLOG_ASSIGN_OR_RETURN(opened.log, Log::Open(DefaultFileSystem(), path, options));
  }
  DURLOG_ASSIGN_OR_RETURN(opened.cuts, FindCutsSince(DefaultFileSystem(), path, 0));
  return opened;
}

template <size_t N>
bool AddMethods(Napi::Env env, const Napi::Object& object, const HandlePointer& handle,
                const Method (&methods)[N]) {
  for (const auto& [name, callback] : methods) {
    if (!AddMethod(env, object, handle, name, callback)) return false;
  }
  return true;
}

Napi::Value MakeObject(Napi::Env env, OpenedLog* opened, const Napi::Function& on_progress) {
  Napi::Object object = Napi::Object::New(env);
  const Napi::Float64Array counters = Napi::Float64Array::New(env, LogHandle::kCounters);
  // Only in a worker that is being terminated.
  if (counters.IsEmpty()) return Napi::Value();
  object.Set("counters", counters);
  object.Set("onProgress", on_progress);
  const bool shared = opened->log->options().shared;
  object.Set("shared", shared);
  object.Set("recovery", FromRecovery(env, opened->log->recovery()));
  object.Set("uuid", FormatUuid(opened->log->uuid()));
  object.Set("generation", FromSeq(env, opened->cuts.generation));
  const auto handle = std::make_shared<LogHandle>(env, std::move(opened->log));
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
  // A shared log waits for a member that is joining or leaving.
  return RunFor(
      env, [path, options] { return Open(path, options); },
      [on_progress](Napi::Env done_env, OpenedLog& opened) {
        return MakeObject(done_env, &opened, on_progress->Value());
      },
      nullptr, options.shared);
}

}  // namespace durlog
