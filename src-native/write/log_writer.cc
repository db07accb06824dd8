#include "write/log_writer.h"

#include <string>
#include <utility>

#include "record/record_format.h"

namespace durlog {

Status CheckRecord(size_t payload_bytes, const LogOptions& options) {
  if (payload_bytes == 0) {
    return Status::Error(Code::kRecordEmpty, "a record has at least one byte");
  }
  if (payload_bytes > options.max_record_bytes) {
    return Status::Error(Code::kRecordTooLarge, "the record has " + std::to_string(payload_bytes) +
                                                    " bytes, maxRecordBytes is " +
                                                    std::to_string(options.max_record_bytes));
  }
  return Status::Ok();
}

Result<uint64_t> BatchBytes(const PayloadParts* payloads, size_t count, const LogOptions& options) {
  uint64_t frame_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    DURLOG_RETURN_IF_ERROR(CheckRecord(payloads[i].size(), options));
    frame_bytes += FrameBytes(payloads[i].size());
  }
  if (count == 0) return Status::Error(Code::kInvalidArgument, "a batch has at least one record");
  // A batch never spans segments, so that a trim keeps or removes it as a whole.
  if (frame_bytes > options.segment_bytes - kSegmentHeaderBytes) {
    return Status::Error(Code::kBatchTooLarge, "the batch takes " + std::to_string(frame_bytes) +
                                                   " bytes and must fit into one segment");
  }
  if (frame_bytes > options.max_pending_bytes) {
    return Status::Error(Code::kBatchTooLarge, "the batch takes " + std::to_string(frame_bytes) +
                                                   " bytes, maxPendingBytes is " +
                                                   std::to_string(options.max_pending_bytes));
  }
  return frame_bytes;
}

Status SeqsUsedUp() {
  return Status::Error(Code::kOutOfRange,
                       "the log has no seqs left: write to a new log in another folder");
}

Status CheckExpectedSeq(uint64_t expected_seq, uint64_t next_seq) {
  if (expected_seq == next_seq) return Status::Ok();
  return Status::Error(Code::kSeqConflict, "the next record gets seq " + std::to_string(next_seq) +
                                               ", not " + std::to_string(expected_seq));
}

Status AsSyncFailure(Status status) {
  if (status.code() == Code::kSyncFailed || status.code() == Code::kFileChanged) return status;
  std::string message = "writing to the device failed (" + status.message() +
                        "): records that were not acknowledged may or may not be in the log; close "
                        "it and open it again";
  return std::move(status).WithCode(Code::kSyncFailed).WithMessage(std::move(message));
}

Status LatchedBy(const Status& failure) {
  return Status::Error(Code::kLatched, "the log was latched by an earlier failure (" +
                                           failure.message() + "): close the log and open it again")
      .WithPath(failure.path());
}

}  // namespace durlog
