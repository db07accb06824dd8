// The NativeCursor class of src/native/native.ts.
#ifndef DURLOG_NAPI_CURSOR_WRAP_H_
#define DURLOG_NAPI_CURSOR_WRAP_H_

#include <napi.h>

namespace durlog {

// openCursor(dir, fromSeq): Promise<NativeCursor>
Napi::Value OpenCursor(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_CURSOR_WRAP_H_
