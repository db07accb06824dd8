// The NativeLivePage class of src/native/reading.ts.
#pragma once

#include <napi.h>

namespace durlog {

// openLivePage(dir): NativeLivePage
Napi::Value OpenLivePage(const Napi::CallbackInfo& info);

}  // namespace durlog
