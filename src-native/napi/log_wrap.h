// The NativeLog class of src/native/native.ts.
#ifndef DURLOG_NAPI_LOG_WRAP_H_
#define DURLOG_NAPI_LOG_WRAP_H_

#include <napi.h>

namespace durlog {

// open(dir, options, onEvent): Promise<NativeLog>
Napi::Value OpenLog(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_LOG_WRAP_H_
