#include "napi/convert.h"

namespace durlog {
namespace {

const char* CodeName(Code code) {
  switch (code) {
    case Code::kOk:
    case Code::kIo: return "ERR_DURLOG_IO";
    case Code::kNoSpace: return "ERR_DURLOG_NO_SPACE";
    case Code::kTooManyFiles: return "ERR_DURLOG_TOO_MANY_FILES";
    case Code::kNotFound: return "ERR_DURLOG_NOT_FOUND";
    case Code::kNotALog: return "ERR_DURLOG_NOT_A_LOG";
    case Code::kLocked: return "ERR_DURLOG_LOCKED";
    case Code::kClosed: return "ERR_DURLOG_CLOSED";
    case Code::kInvalidArgument: return "ERR_DURLOG_INVALID_ARGUMENT";
    case Code::kRecordEmpty: return "ERR_DURLOG_RECORD_EMPTY";
    case Code::kRecordTooLarge: return "ERR_DURLOG_RECORD_TOO_LARGE";
    case Code::kBatchTooLarge: return "ERR_DURLOG_BATCH_TOO_LARGE";
    case Code::kBackpressure: return "ERR_DURLOG_BACKPRESSURE";
    case Code::kSyncFailed: return "ERR_DURLOG_SYNC_FAILED";
    case Code::kFileChanged: return "ERR_DURLOG_FILE_CHANGED";
    case Code::kLatched: return "ERR_DURLOG_LATCHED";
    case Code::kCorrupt: return "ERR_DURLOG_CORRUPT";
    case Code::kUnsupported: return "ERR_DURLOG_UNSUPPORTED";
    case Code::kVersion: return "ERR_DURLOG_VERSION";
    case Code::kOutOfRange: return "ERR_DURLOG_OUT_OF_RANGE";
    case Code::kVoid: return "ERR_DURLOG_VOID";
    case Code::kSeqConflict: return "ERR_DURLOG_SEQ_CONFLICT";
    case Code::kStalled: return "ERR_DURLOG_STALLED";
    case Code::kOutOfMemory: return "ERR_DURLOG_OUT_OF_MEMORY";
  }
  return "ERR_DURLOG_IO";
}

Napi::Object Details(Napi::Env env, const Status& status) {
  Napi::Object details = Napi::Object::New(env);
  if (status.sys_errno() != 0) details.Set("errno", Napi::Number::New(env, status.sys_errno()));
  if (*status.operation() != '\0') details.Set("syscall", status.operation());
  if (!status.path().empty()) details.Set("path", status.path());
  if (status.offset() >= 0) {
    details.Set("offset", Napi::Number::New(env, static_cast<double>(status.offset())));
  }
  if (status.owner_pid() != 0) {
    details.Set("ownerPid", Napi::Number::New(env, static_cast<double>(status.owner_pid())));
  }
  if (status.first_lost_seq() <= status.last_lost_seq()) {
    details.Set("lostFirst", FromSeq(env, status.first_lost_seq()));
    details.Set("lostLast", FromSeq(env, status.last_lost_seq()));
  }
  if (status.stored()) details.Set("outcome", "unknown");
  return details;
}

}  // namespace

Napi::Value ToError(Napi::Env env, const Status& status) {
  const auto* data = env.GetInstanceData<EnvironmentData>();
  std::string message = status.message();
  if (status.owner_pid() != 0) message += " (process " + std::to_string(status.owner_pid()) + ")";
  if (!status.path().empty()) message += " [" + status.path() + "]";
  if (data == nullptr || data->error_class.IsEmpty()) {
    return Napi::Error::New(env, message).Value();
  }
  return data->error_class.New({Napi::String::New(env, CodeName(status.code())),
                                Napi::String::New(env, message), Details(env, status)});
}

Napi::Value Throw(Napi::Env env, const Status& status) {
  const Napi::Value error = ToError(env, status);
  // While an environment is being torn down, no error can be thrown, and no JavaScript would catch
  // it.
  if (!error.IsEmpty()) napi_throw(env, error);
  return Napi::Value();
}

bool Refuse(Napi::Env env, const std::string& what) {
  Throw(env, Status::Error(Code::kInvalidArgument, what));
  return false;
}

}  // namespace durlog
