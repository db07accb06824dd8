// The NativeLog class of src/native/native.ts.
#pragma once

#include <napi.h>

namespace durlog {

// open(dir, options, onEvent): Promise<NativeLog>
Napi::Value OpenLog(const Napi::CallbackInfo& info);

}  // namespace durlog
