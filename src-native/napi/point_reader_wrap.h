// PointReader as a JavaScript object: see `NativePointReader` in src/native/reading.ts.
#ifndef DURLOG_NAPI_POINT_READER_WRAP_H_
#define DURLOG_NAPI_POINT_READER_WRAP_H_

#include <napi.h>

namespace durlog {

// `pointReader(dir, own)`; `own` is true if this process writes the log. Opens no file.
Napi::Value MakePointReader(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_POINT_READER_WRAP_H_
