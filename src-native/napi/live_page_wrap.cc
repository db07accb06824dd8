#include "napi/live_page_wrap.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "live/live_page_reader.h"
#include "napi/convert.h"

namespace durlog {
namespace {

// As src/native/native.ts numbers them.
enum LiveField : size_t { kCounts, kFirstSeq, kMemoryEnd, kSyncedEnd, kCut, kLiveFields };

class LivePageWrap final : public Napi::ObjectWrap<LivePageWrap> {
 public:
  static Napi::Value Make(Napi::Env env, std::unique_ptr<LivePageReader> reader) {
    const Napi::Function constructor = DefineClass(env, "NativeLivePage",
                                                   {InstanceMethod<&LivePageWrap::Look>("look"),
                                                    InstanceMethod<&LivePageWrap::Close>("close")});
    // In a worker that is being terminated there is no class any more, and calling it would abort.
    if (constructor.IsEmpty()) return Napi::Value();
    const Napi::Object object = constructor.New({});
    LivePageWrap* const wrap = object.IsEmpty() ? nullptr : Unwrap(object);
    if (wrap == nullptr) return Napi::Value();
    wrap->reader_ = std::move(reader);
    return object;
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
    fields[kCut] =
        cut == kNoCut ? std::numeric_limits<double>::infinity() : static_cast<double>(cut);
    return info.Env().Undefined();
  }

  void Close(const Napi::CallbackInfo&) { reader_.reset(); }

  std::unique_ptr<LivePageReader> reader_;
};

}  // namespace

Napi::Value OpenLivePage(const Napi::CallbackInfo& info) {
  const std::string path = info[0].As<Napi::String>();
  Result<std::unique_ptr<LivePageReader>> reader = LivePageReader::Open(DefaultFileSystem(), path);
  if (!reader.ok()) {
    Throw(info.Env(), reader.status());
    return Napi::Value();
  }
  return LivePageWrap::Make(info.Env(), std::move(*reader));
}

}  // namespace durlog
