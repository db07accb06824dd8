// The addon's exports: see `Native` in src/native/native.ts.
#include <napi.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checksum/crc32c.h"
#include "inspect/extent.h"
#include "inspect/frames.h"
#include "inspect/repair.h"
#include "inspect/verify.h"
#include "napi/async_task.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "platform/output_pipe.h"
#include "read/measure.h"
#include "streams/lines_again.h"

namespace durlog {
namespace {

Napi::Value SetErrorClass(const Napi::CallbackInfo& info) {
  info.Env().GetInstanceData<EnvironmentData>()->error_class =
      Napi::Persistent(info[0].As<Napi::Function>());
  return info.Env().Undefined();
}

std::string StringAt(const Napi::CallbackInfo& info, size_t at) {
  return info[at].As<Napi::String>();
}

Napi::Value CutsOf(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const uint64_t since = ToWhole(info[1]);
  return RunFor(
      info.Env(), [path, since] { return FindCutsSince(DefaultFileSystem(), path, since); },
      FromCuts);
}

struct BoundsAndCuts {
  CutsSince cuts;
  LogBounds bounds;
};

// Reads the cuts before the bounds. If the generation is older than the bounds, a valid position
// may be refused; if it were newer, an invalid position could be accepted.
Result<BoundsAndCuts> ReadBoundsAndCuts(const std::string& path) {
  BoundsAndCuts read;
  DURLOG_ASSIGN_OR_RETURN(read.cuts, FindCutsSince(DefaultFileSystem(), path, 0));
  DURLOG_ASSIGN_OR_RETURN(read.bounds, ReadBounds(DefaultFileSystem(), path));
  return read;
}

Napi::Value BoundsOf(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  return RunFor(
      info.Env(), [path] { return ReadBoundsAndCuts(path); },
      [](Napi::Env env, const BoundsAndCuts& read) {
        Napi::Object object = FromBounds(env, read.bounds);
        object.Set("generation", FromSeq(env, read.cuts.generation));
        return object;
      });
}

Napi::Value HasWriterOf(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  return RunFor(
      info.Env(), [path] { return HasWriter(DefaultFileSystem(), path); },
      [](Napi::Env env, bool has_writer) { return Napi::Boolean::New(env, has_writer); });
}

Napi::Value VerifyLog(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  return RunFor(
      info.Env(), [path] { return Verify(DefaultFileSystem(), path); }, FromVerify);
}

Napi::Value FramesOf(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const std::string segment = StringAt(info, 1);
  const uint64_t offset = ToWhole(info[2]);
  const size_t max = info[3].As<Napi::Number>().Uint32Value();
  return RunFor(
      info.Env(),
      [path, segment, offset, max] {
        return ListFrames(DefaultFileSystem(), path, segment, offset, max);
      },
      FromFrames);
}

Napi::Value ExtentOf(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const std::string segment = StringAt(info, 1);
  const ExtentQuery query{ToWhole(info[2]), ToWhole(info[3]), ToWhole(info[4]), ToWhole(info[5])};
  return RunFor(
      info.Env(),
      [path, segment, query] { return FindExtent(DefaultFileSystem(), path, segment, query); },
      FromExtent);
}

Napi::Value RepairLog(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const bool apply = info[1].As<Napi::Boolean>();
  const std::string backup = StringAt(info, 2);
  return RunFor(
      info.Env(),
      [path, apply, backup] { return Repair(DefaultFileSystem(), path, apply, backup); },
      [backup](Napi::Env env, const RepairReport& report) {
        return FromRepair(env, report, backup);
      });
}

Napi::Value Measure(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::string path = StringAt(info, 0);
  const uint64_t first = ToWhole(info[1]);
  const uint64_t last = ToWhole(info[2]);
  const Result<LogDistance> distance = MeasureDistance(DefaultFileSystem(), path, first, last);
  if (!distance.ok()) return Throw(env, distance.status());
  Napi::Object object = Napi::Object::New(env);
  object.Set("bytes", FromSeq(env, distance.value().bytes));
  object.Set("ms", FromSeq(env, distance.value().ms));
  return object;
}

Status AddFile(const std::string& path, const std::string& name, const std::string& text) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, DefaultFileSystem().OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const auto file, directory->Open(name, OpenMode::kCreateNew));
  DURLOG_RETURN_IF_ERROR(file->WriteAt(0, text.data(), text.size()));
  return file->SyncFull();
}

Napi::Value AddFileTo(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const std::string name = StringAt(info, 1);
  const std::string text = StringAt(info, 2);
  return RunAsync(
      info.Env(), [path, name, text] { return AddFile(path, name, text); },
      [](Napi::Env env) { return env.Undefined(); });
}

Napi::Value LinesAgain(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const std::string name = StringAt(info, 1);
  const uint64_t from = ToWhole(info[2]);
  const auto given = info[3].As<Napi::Uint8Array>();
  std::vector<uint8_t> lines(given.Data(), given.Data() + given.ElementLength());
  return RunFor(
      info.Env(),
      [path, name, from, lines = std::move(lines)]() -> Result<bool> {
        DURLOG_ASSIGN_OR_RETURN(const auto folder, DefaultFileSystem().OpenDirectory(path, false));
        return WriteLinesAgain(*folder, name, from, Bytes{lines.data(), lines.size()});
      },
      [](Napi::Env env, bool written) { return Napi::Boolean::New(env, written); });
}

Result<std::vector<std::string>> NamesWith(const std::string& path, const std::string& prefix) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, DefaultFileSystem().OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(std::vector<FileEntry> entries, directory->List());
  std::vector<std::string> names;
  for (FileEntry& entry : entries) {
    if (entry.name.compare(0, prefix.size(), prefix) == 0) names.push_back(std::move(entry.name));
  }
  return names;
}

Napi::Value NamesIn(const Napi::CallbackInfo& info) {
  const std::string path = StringAt(info, 0);
  const std::string prefix = StringAt(info, 1);
  return RunFor(
      info.Env(), [path, prefix] { return NamesWith(path, prefix); },
      [](Napi::Env env, const std::vector<std::string>& names) {
        return FromList(env, names, [](Napi::Env in_env, const std::string& name) {
          return Napi::String::New(in_env, name);
        });
      });
}

Napi::Value HasNoReaderOf(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), HasNoReader(info[0].As<Napi::Number>().Int32Value()));
}

Napi::Value ErrorOfErrno(const Napi::CallbackInfo& info) {
  return ToError(info.Env(), Status::OfErrno(info[0].As<Napi::Number>().Int32Value()));
}

Napi::Value Checksum(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  AlignedBuffer scratch;
  Bytes bytes;
  if (!ToPayload(env, info[1], kMaxPayloadBytes, &scratch, &bytes)) return Napi::Value();
  const uint32_t crc = info[0].As<Napi::Number>().Uint32Value();
  return Napi::Number::New(env, Crc32c(crc, bytes.data, bytes.size));
}

constexpr std::pair<const char*, Napi::Value (*)(const Napi::CallbackInfo&)> kExports[] = {
    {"setErrorClass", SetErrorClass},
    {"open", OpenLog},
    {"openLogReader", OpenLogReader},
    {"openDurableCursor", OpenDurableCursor},
    {"listCursors", ListCursorsOf},
    {"removeCursor", RemoveCursorOf},
    {"planRetention", PlanRetentionOf},
    {"lockTrims", LockTrimsOf},
    {"lockLog", LockLogOf},
    {"checkTrims", CheckTrimsOf},
    {"pointReader", MakePointReader},
    {"openLivePage", OpenLivePage},
    {"openStreamFiles", OpenStreamFiles},
    {"splitJson", SplitJsonText},
    {"measure", Measure},
    {"cuts", CutsOf},
    {"bounds", BoundsOf},
    {"hasWriter", HasWriterOf},
    {"verify", VerifyLog},
    {"frames", FramesOf},
    {"extent", ExtentOf},
    {"repair", RepairLog},
    {"addFile", AddFileTo},
    {"writeLinesAgain", LinesAgain},
    {"names", NamesIn},
    {"hasNoReader", HasNoReaderOf},
    {"errorOfErrno", ErrorOfErrno},
    {"crc32c", Checksum}};

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  // Deleted by node-addon-api when the environment ends.
  env.SetInstanceData(std::make_unique<EnvironmentData>(env).release());
  for (const auto& [name, function] : kExports) {
    exports.Set(name, Napi::Function::New(env, function));
  }
  return exports;
}

}  // namespace
}  // namespace durlog

// The macro requires an unqualified name.
static Napi::Object InitDurlog(Napi::Env env, Napi::Object exports) {
  return durlog::Init(env, exports);
}
NODE_API_MODULE(durlog, InitDurlog)
