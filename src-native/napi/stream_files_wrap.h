#ifndef DURLOG_NAPI_STREAM_FILES_WRAP_H_
#define DURLOG_NAPI_STREAM_FILES_WRAP_H_

#include <napi.h>

namespace durlog {

// `openStreamFiles` of src/native/stream-files.ts.
Napi::Value OpenStreamFiles(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_STREAM_FILES_WRAP_H_
