// See `splitJson` in src/native/json.ts.
#include <napi.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "json/json_splitter.h"
#include "napi/async_task.h"
#include "napi/exports.h"

namespace durlog {
namespace {

struct Split {
  JsonVerdict verdict = JsonVerdict::kInvalid;
  std::vector<uint32_t> places;
};

const char* NameOf(JsonVerdict verdict) {
  switch (verdict) {
    case JsonVerdict::kTooDeep: return "too deep";
    case JsonVerdict::kTooManyMessages: return "too many";
    default: return "invalid";
  }
}

Napi::Value FromSplit(Napi::Env env, const Split& split) {
  if (split.verdict != JsonVerdict::kValid) return Napi::String::New(env, NameOf(split.verdict));
  Napi::Uint32Array places = Napi::Uint32Array::New(env, split.places.size());
  std::copy(split.places.begin(), split.places.end(), places.Data());
  return places;
}

}  // namespace

Napi::Value SplitJsonText(const Napi::CallbackInfo& info) {
  auto text = info[0].As<Napi::Uint8Array>();
  const bool elements = info[1].As<Napi::Boolean>();
  const size_t max_messages = info[2].As<Napi::Number>().Uint32Value();
  uint8_t* const data = text.Data();
  const size_t size = text.ElementLength();
  const bool on_worker = info[3].As<Napi::Boolean>();
  const auto split = std::make_shared<Split>();
  const auto work = [=] {
    split->verdict = SplitJson(data, size, elements, max_messages, &split->places);
  };
  if (!on_worker) {
    work();
    return FromSplit(info.Env(), *split);
  }
  const auto memory = std::make_shared<Napi::Reference<Napi::Uint8Array>>(Napi::Persistent(text));
  return RunAsync(
      info.Env(),
      [work] {
        work();
        return Status::Ok();
      },
      [split](Napi::Env env) { return FromSplit(env, *split); }, [memory] { memory->Reset(); });
}

}  // namespace durlog
