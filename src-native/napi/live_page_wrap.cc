#include "napi/live_page_wrap.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "live/live_page_reader.h"
#include "napi/convert.h"
#include "napi/live_page_watch.h"
#include "napi/wrapped_class.h"

namespace durlog {
namespace {

// Every end is below it.
constexpr double kMaxSeqs = 9007199254740992;

// As src/native/reading.ts numbers them.
enum LiveField : size_t {
  kCounts,
  kFirstSeq,
  kMemoryEnd,
  kSyncedEnd,
  kCut,
  kCommits,
  kCommitMicros,
  kLiveFields
};

class LivePageWrap final : public Napi::ObjectWrap<LivePageWrap> {
 public:
  static constexpr const char* kName = "NativeLivePage";
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(
        env, kName,
        {InstanceMethod<&LivePageWrap::Look>("look"), InstanceMethod<&LivePageWrap::Watch>("watch"),
         InstanceMethod<&LivePageWrap::Unwatch>("unwatch"),
         InstanceMethod<&LivePageWrap::Close>("close")});
  }
  static Napi::Value Make(Napi::Env env, std::string path, const Napi::Function& on_change,
                          std::unique_ptr<LivePageReader> reader) {
    LivePageWrap* const wrap = NewWrapped<LivePageWrap>(env);
    if (wrap == nullptr) return Napi::Value();
    wrap->path_ = std::move(path);
    wrap->on_change_ = Napi::Persistent(on_change);
    wrap->reader_ = std::move(reader);
    return wrap->Value();
  }

  explicit LivePageWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<LivePageWrap>(info) {}

 private:
  Napi::Value Look(const Napi::CallbackInfo& info) {
    const auto into = info[0].As<Napi::Float64Array>();
    if (into.ElementLength() < kLiveFields) return info.Env().Undefined();
    double* const fields = Napi::Float64Array(into).Data();
    const std::optional<LiveView> view = reader_ ? reader_->Look() : std::nullopt;
    const uint64_t cut = reader_ ? reader_->TakeCut() : kNoCut;
    fields[kCounts] = view ? 1 : 0;
    fields[kFirstSeq] = view ? static_cast<double>(view->first_seq) : 0;
    fields[kMemoryEnd] = view ? static_cast<double>(view->memory_end) : 0;
    fields[kSyncedEnd] = view ? static_cast<double>(view->synced_end) : 0;
    fields[kCommits] = view ? static_cast<double>(view->commits) : 0;
    fields[kCommitMicros] = view ? static_cast<double>(view->commit_micros) : 0;
    fields[kCut] =
        cut == kNoCut ? std::numeric_limits<double>::infinity() : static_cast<double>(cut);
    return info.Env().Undefined();
  }

  // The thread is started when it is first needed.
  Napi::Value Watch(const Napi::CallbackInfo& info) {
    const Napi::Env env = info.Env();
    if (!reader_) return env.Undefined();
    if (!watch_) {
      Result<std::unique_ptr<LivePageWatch>> watch =
          LivePageWatch::Start(env, path_, on_change_.Value());
      if (!watch.ok()) {
        Throw(env, watch.status());
        return Napi::Value();
      }
      watch_ = std::move(*watch);
    }
    watch_->Watch(ToEnd(info[0]), ToEnd(info[1]), reader_->counted_page());
    return env.Undefined();
  }

  void Unwatch(const Napi::CallbackInfo&) {
    if (watch_) watch_->Unwatch();
  }

  void Close(const Napi::CallbackInfo&) {
    watch_.reset();
    reader_.reset();
  }

  static uint64_t ToEnd(const Napi::Value& value) {
    const double end = value.As<Napi::Number>().DoubleValue();
    return end < kMaxSeqs ? static_cast<uint64_t>(end) : LiveWatcher::kNever;
  }

  std::string path_;
  Napi::FunctionReference on_change_;
  std::unique_ptr<LivePageReader> reader_;
  std::unique_ptr<LivePageWatch> watch_;
};

}  // namespace

Napi::Value OpenLivePage(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  Result<std::unique_ptr<LivePageReader>> reader = LivePageReader::Open(DefaultFileSystem(), path);
  if (!reader.ok()) {
    Throw(info.Env(), reader.status());
    return Napi::Value();
  }
  return LivePageWrap::Make(info.Env(), path, info[1].As<Napi::Function>(), std::move(*reader));
}

}  // namespace durlog
