#include "log/log_state.h"

namespace durlog {

Status LogState::LatchedError() {
  return Status::Error(Code::kLatched,
                       "an earlier sync failed, so the content of the device is unknown: close the "
                       "log and open it again");
}

Status LogState::CheckOpen() const {
  if (latched_) return LatchedError();
  if (closing_) return Status::Error(Code::kClosed, "the log is closed");
  return Status::Ok();
}

Status LogState::CheckFree() const {
  DURLOG_RETURN_IF_ERROR(CheckOpen());
  if (!exclusive_) return Status::Ok();
  return Status::Error(Code::kBackpressure, "a truncation or a rotation is running");
}

}  // namespace durlog
