// The NativeLivePage class of src/native/reading.ts.
#ifndef DURLOG_NAPI_LIVE_PAGE_WRAP_H_
#define DURLOG_NAPI_LIVE_PAGE_WRAP_H_

#include <napi.h>

namespace durlog {

// openLivePage(dir): NativeLivePage
Napi::Value OpenLivePage(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_LIVE_PAGE_WRAP_H_
