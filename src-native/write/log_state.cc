#include "write/log_state.h"

#include "write/log_writer.h"

namespace durlog {

Status LogState::LatchedError() const { return LatchedBy(failure_); }

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
