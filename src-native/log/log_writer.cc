#include "log/log_writer.h"

#include <string>
#include <utility>

namespace durlog {

Status CheckRecord(Bytes payload, const LogOptions& options) {
  if (payload.size == 0) {
    return Status::Error(Code::kRecordEmpty, "a record has at least one byte");
  }
  if (payload.size > options.max_record_bytes) {
    return Status::Error(Code::kRecordTooLarge, "the record has " + std::to_string(payload.size) +
                                                    " bytes, maxRecordBytes is " +
                                                    std::to_string(options.max_record_bytes));
  }
  return Status::Ok();
}

Status CheckExpectedSeq(uint64_t expected_seq, uint64_t next_seq) {
  if (expected_seq == next_seq) return Status::Ok();
  return Status::Error(Code::kSeqConflict, "the next record gets seq " + std::to_string(next_seq) +
                                               ", not " + std::to_string(expected_seq));
}

Status AsSyncFailure(Status status) {
  if (status.code() == Code::kSyncFailed) return status;
  std::string message = "writing to the device failed (" + status.message() +
                        "): what was not acknowledged may or may not be there; close the log and "
                        "open it again";
  return std::move(status).WithCode(Code::kSyncFailed).WithMessage(std::move(message));
}

}  // namespace durlog
