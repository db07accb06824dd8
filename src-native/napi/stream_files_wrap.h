#pragma once

#include <napi.h>

namespace durlog {

// `openStreamFiles` of src/native/stream-files.ts.
Napi::Value OpenStreamFiles(const Napi::CallbackInfo& info);

}  // namespace durlog
