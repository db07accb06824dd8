#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "live/live_page_reader.h"
#include "napi/convert.h"
#include "napi/exports.h"
#include "napi/live_page_watch.h"
#include "napi/wrapped_class.h"

namespace durlog {
namespace {

// Above every end.
constexpr double kMaxSeqs = 9007199254740992;

// In the order of src/native/reading.ts.
enum LiveField : size_t {
  kIsValid,
  kFirstSeq,
  kMemoryEnd,
  kSyncedEnd,
  kCut,
  kCommits,
  kCommitMicros,
  kUnlockedSession,
  kLiveFields
};

struct LivePage {
  std::string path;
  Napi::FunctionReference on_change;
  std::unique_ptr<LivePageReader> reader;
  std::unique_ptr<LivePageWatch> watch;
};

class LivePageWrap final : public Wrapped<LivePageWrap, LivePage> {
 public:
  static constexpr const char* kName = "NativeLivePage";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, kName,
        {InstanceMethod<&LivePageWrap::Look>("look"), InstanceMethod<&LivePageWrap::Watch>("watch"),
         InstanceMethod<&LivePageWrap::Unwatch>("unwatch"),
         InstanceMethod<&LivePageWrap::Close>("close")});
  }
  using Wrapped::Wrapped;

 private:
  Napi::Value Look(const Napi::CallbackInfo& info) {
    const auto into = info[0].As<Napi::Float64Array>();
    if (into.ElementLength() < kLiveFields) return info.Env().Undefined();
    double* const fields = Napi::Float64Array(into).Data();
    const std::optional<LiveView> view = held_.reader ? held_.reader->Look() : std::nullopt;
    const uint64_t cut = held_.reader ? held_.reader->TakeCut() : kNoCut;
    fields[kIsValid] = view ? 1 : 0;
    fields[kFirstSeq] = view ? static_cast<double>(view->first_seq) : 0;
    fields[kMemoryEnd] = view ? static_cast<double>(view->memory_end) : 0;
    fields[kSyncedEnd] = view ? static_cast<double>(view->synced_end) : 0;
    fields[kCommits] = view ? static_cast<double>(view->commits) : 0;
    fields[kCommitMicros] = view ? static_cast<double>(view->commit_micros) : 0;
    fields[kUnlockedSession] =
        view || !held_.reader ? 0 : ToField(held_.reader->unlocked_session());
    fields[kCut] =
        cut == kNoCut ? std::numeric_limits<double>::infinity() : static_cast<double>(cut);
    return info.Env().Undefined();
  }

  // The watcher's thread is started when it is first needed.
  Napi::Value Watch(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!held_.reader) return env.Undefined();
    if (!held_.watch) {
      Result<std::unique_ptr<LivePageWatch>> watch =
          LivePageWatch::Start(env, held_.path, held_.on_change.Value());
      if (!watch.ok()) return Throw(env, watch.status());
      held_.watch = std::move(*watch);
    }
    const std::optional<FileId> valid_page = held_.reader->valid_page();
    if (!valid_page && held_.reader->unlocked_session() != 0) {
      held_.watch->WatchUnlocked(held_.reader->unlocked_session());
    } else {
      held_.watch->Watch(ToEnd(info[0]), ToEnd(info[1]), valid_page);
    }
    return env.Undefined();
  }

  void Unwatch(const Napi::CallbackInfo&) {
    if (held_.watch) held_.watch->Unwatch();
  }

  void Close(const Napi::CallbackInfo&) {
    held_.watch.reset();
    held_.reader.reset();
  }

  // The low bits of a session, which a Number holds exactly.
  static double ToField(uint64_t session) {
    return static_cast<double>(session % static_cast<uint64_t>(kMaxSeqs));
  }
  static uint64_t ToEnd(const Napi::Value& value) {
    const double end = value.As<Napi::Number>().DoubleValue();
    return end < kMaxSeqs ? static_cast<uint64_t>(end) : LiveWatcher::kNever;
  }
};

}  // namespace

Napi::Value OpenLivePage(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  Result<std::unique_ptr<LivePageReader>> reader = LivePageReader::Open(DefaultFileSystem(), path);
  if (!reader.ok()) return Throw(info.Env(), reader.status());
  return LivePageWrap::Make(info.Env(), {path, Napi::Persistent(info[1].As<Napi::Function>()),
                                         std::move(*reader), nullptr});
}

}  // namespace durlog
