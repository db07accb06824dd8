// The NativeLogReader class of src/native/native.ts.
#pragma once

#include <napi.h>

namespace durlog {

// openLogReader(dir, fromSeq): Promise<NativeLogReader>
Napi::Value OpenLogReader(const Napi::CallbackInfo& info);

}  // namespace durlog
