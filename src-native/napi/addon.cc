// The addon's exports: see `Native` in src/native/native.ts.
#include <napi.h>

#include <memory>
#include <string>
#include <utility>

#include "checksum/crc32c.h"
#include "inspect/extent.h"
#include "inspect/frames.h"
#include "inspect/repair.h"
#include "inspect/verify.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/durable_cursor_wrap.h"
#include "napi/live_page_wrap.h"
#include "napi/log_reader_wrap.h"
#include "napi/log_wrap.h"
#include "napi/point_reader_wrap.h"
#include "napi/retention_wrap.h"
#include "napi/stream_files_wrap.h"
#include "read/measure.h"

namespace durlog {
namespace {

Napi::Value SetErrorClass(const Napi::CallbackInfo& info) {
  info.Env().GetInstanceData<EnvironmentData>()->error_class =
      Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

// A report made on a worker and turned into an object afterwards.
template <typename Report, typename Make, typename Convert>
Napi::Value Inspect(Napi::Env env, Make make, Convert convert) {
  const auto report = std::make_shared<Report>();
  return RunAsync(
      env,
      [report, make = std::move(make)]() -> Status {
        DURLOG_ASSIGN_OR_RETURN(*report, make());
        return Status::Ok();
      },
      [report, convert = std::move(convert)](Napi::Env done_env) -> Napi::Value {
        return convert(done_env, *report);
      });
}

Napi::Value CutsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const auto since = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  return Inspect<CutsSince>(
      info.Env(), [path, since] { return FindCutsSince(DefaultFileSystem(), path, since); },
      FromCuts);
}

struct BoundsAndCuts {
  CutsSince cuts;
  LogBounds bounds;
};

// The cuts come first: with a generation older than the bounds, a position is refused that may be
// valid; with a newer one, a position could be taken that is not.
Result<BoundsAndCuts> ReadBoundsAndCuts(const std::string& path) {
  BoundsAndCuts read;
  DURLOG_ASSIGN_OR_RETURN(read.cuts, FindCutsSince(DefaultFileSystem(), path, 0));
  DURLOG_ASSIGN_OR_RETURN(read.bounds, ReadBounds(DefaultFileSystem(), path));
  return read;
}

Napi::Value BoundsOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return Inspect<BoundsAndCuts>(
      info.Env(), [path] { return ReadBoundsAndCuts(path); },
      [](Napi::Env env, const BoundsAndCuts& read) {
        Napi::Object object = FromBounds(env, read.bounds);
        object.Set("generation", FromGeneration(env, read.cuts));
        return object;
      });
}

Napi::Value VerifyLog(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  return Inspect<VerifyReport>(
      info.Env(), [path] { return Verify(DefaultFileSystem(), path); }, FromVerify);
}

Napi::Value FramesOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string segment = info[1].As<Napi::String>();
  const auto offset = static_cast<uint64_t>(info[2].As<Napi::Number>().Int64Value());
  const size_t max = info[3].As<Napi::Number>().Uint32Value();
  return Inspect<std::vector<FrameReport>>(
      info.Env(),
      [path, segment, offset, max] {
        return ListFrames(DefaultFileSystem(), path, segment, offset, max);
      },
      FromFrames);
}

Napi::Value ExtentOf(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string segment = info[1].As<Napi::String>();
  const auto whole = [&info](size_t at) {
    return static_cast<uint64_t>(info[at].As<Napi::Number>().Int64Value());
  };
  const ExtentQuery query{whole(2), whole(3), whole(4), whole(5)};
  return Inspect<SegmentExtent>(
      info.Env(),
      [path, segment, query] { return FindExtent(DefaultFileSystem(), path, segment, query); },
      FromExtent);
}

Napi::Value RepairLog(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const bool apply = info[1].As<Napi::Boolean>();
  const std::string backup = info[2].As<Napi::String>();
  return Inspect<RepairReport>(
      info.Env(),
      [path, apply, backup] { return Repair(DefaultFileSystem(), path, apply, backup); },
      [backup](Napi::Env env, const RepairReport& report) {
        return FromRepair(env, report, backup);
      });
}

Napi::Value Measure(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = info[0].As<Napi::String>();
  const auto first = static_cast<uint64_t>(info[1].As<Napi::Number>().Int64Value());
  const auto last = static_cast<uint64_t>(info[2].As<Napi::Number>().Int64Value());
  const Result<LogDistance> distance = MeasureDistance(DefaultFileSystem(), path, first, last);
  if (!distance.ok()) {
    Throw(env, distance.status());
    return Napi::Value();
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("bytes", FromSeq(env, distance.value().bytes));
  object.Set("ms", FromSeq(env, distance.value().ms));
  return object;
}

Status AddFile(const std::string& path, const std::string& name, const std::string& text) {
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                          DefaultFileSystem().OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                          directory->Open(name, OpenMode::kCreateNew));
  DURLOG_RETURN_IF_ERROR(file->WriteAt(0, text.data(), text.size()));
  return file->SyncFull();
}

Napi::Value AddFileTo(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  const std::string name = info[1].As<Napi::String>();
  const std::string text = info[2].As<Napi::String>();
  return RunAsync(
      info.Env(), [path, name, text] { return AddFile(path, name, text); },
      [](Napi::Env env) { return env.Undefined(); });
}

Napi::Value Checksum(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  AlignedBuffer scratch;
  Bytes bytes;
  if (!ToPayload(env, info[1], kMaxPayloadBytes, &scratch, &bytes)) return Napi::Value();
  const uint32_t crc = info[0].As<Napi::Number>().Uint32Value();
  return Napi::Number::New(env, Crc32c(crc, bytes.data, bytes.size));
}

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  // Deleted by node-addon-api when the environment ends.
  env.SetInstanceData(std::make_unique<EnvironmentData>(env).release());
  exports.Set("setErrorClass", Napi::Function::New(env, SetErrorClass));
  exports.Set("open", Napi::Function::New(env, OpenLog));
  exports.Set("openLogReader", Napi::Function::New(env, OpenLogReader));
  exports.Set("openDurableCursor", Napi::Function::New(env, OpenDurableCursor));
  exports.Set("listCursors", Napi::Function::New(env, ListCursorsOf));
  exports.Set("removeCursor", Napi::Function::New(env, RemoveCursorOf));
  exports.Set("planRetention", Napi::Function::New(env, PlanRetentionOf));
  exports.Set("pointReader", Napi::Function::New(env, MakePointReader));
  exports.Set("openLivePage", Napi::Function::New(env, OpenLivePage));
  exports.Set("openStreamFiles", Napi::Function::New(env, OpenStreamFiles));
  exports.Set("measure", Napi::Function::New(env, Measure));
  exports.Set("cuts", Napi::Function::New(env, CutsOf));
  exports.Set("bounds", Napi::Function::New(env, BoundsOf));
  exports.Set("verify", Napi::Function::New(env, VerifyLog));
  exports.Set("frames", Napi::Function::New(env, FramesOf));
  exports.Set("extent", Napi::Function::New(env, ExtentOf));
  exports.Set("repair", Napi::Function::New(env, RepairLog));
  exports.Set("addFile", Napi::Function::New(env, AddFileTo));
  exports.Set("crc32c", Napi::Function::New(env, Checksum));
  return exports;
}

}  // namespace
}  // namespace durlog

// The macro wants a plain name.
static Napi::Object InitDurlog(Napi::Env env, Napi::Object exports) {
  return durlog::Init(env, exports);
}
NODE_API_MODULE(durlog, InitDurlog)
