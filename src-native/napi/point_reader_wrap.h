// PointReader as a JavaScript object: see `NativePointReader` in src/native/reading.ts.
#pragma once

#include <napi.h>

namespace durlog {

// `pointReader(dir, own)`; `own` is true if this process writes the log. Opens no file.
Napi::Value MakePointReader(const Napi::CallbackInfo& info);

}  // namespace durlog
