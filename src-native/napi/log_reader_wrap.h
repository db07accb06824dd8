// The NativeLogReader class of src/native/native.ts.
#ifndef DURLOG_NAPI_LOG_READER_WRAP_H_
#define DURLOG_NAPI_LOG_READER_WRAP_H_

#include <napi.h>

namespace durlog {

// openLogReader(dir, fromSeq): Promise<NativeLogReader>
Napi::Value OpenLogReader(const Napi::CallbackInfo& info);

}  // namespace durlog

#endif  // DURLOG_NAPI_LOG_READER_WRAP_H_
