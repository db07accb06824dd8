// The binding's interface to a log that is open for writing, by this process alone (Log) or by
// several (SharedLog). Those classes describe each method.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/executor.h"
#include "base/status.h"
#include "record/record_format.h"
#include "record/segment_header.h"
#include "recovery/report.h"
#include "write/log_listener.h"
#include "write/log_stats.h"
#include "write/options.h"

namespace durlog {

// The ends of a log. They are exclusive.
struct LogEnds {
  uint64_t first_seq = 0;
  uint64_t next_seq = 0;
  uint64_t memory = 0;
  uint64_t async = 0;
  uint64_t synced = 0;
  uint64_t full = 0;
  uint64_t pending_bytes = 0;
  bool latched = false;
};

// Takes the concrete type of the log, because a virtual call for each end would slow down every
// append.
template <typename LogType>
LogEnds EndsOf(const LogType& log) {
  LogEnds ends;
  ends.first_seq = log.first_seq();
  ends.next_seq = log.next_seq();
  ends.memory = log.ReachedEnd(Level::kMemory);
  ends.async = log.ReachedEnd(Level::kAsync);
  ends.synced = log.ReachedEnd(Level::kSync);
  ends.full = log.ReachedEnd(Level::kFull);
  ends.pending_bytes = log.pending_bytes();
  ends.latched = log.latched();
  return ends;
}

// kRecordEmpty, kRecordTooLarge.
Status CheckRecord(size_t payload_bytes, const LogOptions& options);
// Returns the size of the batch's frames. kRecordEmpty, kRecordTooLarge, kInvalidArgument if the
// batch has no record, kBatchTooLarge.
Result<uint64_t> BatchBytes(const PayloadParts* payloads, size_t count, const LogOptions& options);
// Whether `seqs` seqs are left in a log whose next seq is `next_seq`, at most kMaxSeq.
inline bool HasSeqs(uint64_t seqs, uint64_t next_seq) { return seqs <= kMaxSeq - next_seq; }
Status SeqsUsedUp();
// kSeqConflict unless `next_seq` is the seq that an append expects.
Status CheckExpectedSeq(uint64_t expected_seq, uint64_t next_seq);
// Converts a failure to the error with which a log latches: kSyncFailed, unless it is kFileChanged.
Status AsSyncFailure(Status status);
// The error of every later call on a log that `failure` has latched. It repeats the reason and
// names the file.
Status LatchedBy(const Status& failure);

class LogWriter {
 public:
  // As the time of an append: the log's clock.
  static constexpr uint64_t kClockTime = UINT64_MAX;
  // As the expected seq of an append: any seq.
  static constexpr uint64_t kAnySeq = UINT64_MAX;

  virtual ~LogWriter() = default;
  virtual void Attach(Executor* executor, LogListener* listener) = 0;

  // Fails with kSeqConflict unless the record would get `expected_seq`. Ends().next_seq is then the
  // seq that it would have got.
  virtual Result<uint64_t> Append(Bytes payload, Level level, uint64_t time_ms,
                                  uint64_t expected_seq) = 0;
  virtual Result<uint64_t> AppendBatch(const PayloadParts* payloads, size_t count, Level level,
                                       uint64_t time_ms, uint64_t expected_seq) = 0;
  virtual Result<uint64_t> Write(Bytes payload) = 0;
  virtual Result<uint64_t> WriteBatch(const PayloadParts* payloads, size_t count) = 0;
  virtual Result<uint64_t> AppendSync(Bytes payload, Level level, uint64_t time_ms) = 0;
  // Whether there is room for the newest append or write that failed with kBackpressure.
  virtual bool HasRoom() const = 0;
  virtual Status Sync(Level level) = 0;
  virtual void RequestSync(Level level) = 0;
  virtual void Pump() = 0;
  virtual void Harvest() = 0;
  // Checks once a second, on a worker, that the log's files are still those that it has open. If
  // another program has changed them, Harvest() latches the log. Call it at least that often.
  virtual void CheckFiles() = 0;
  virtual void PrepareClose() = 0;

  virtual bool idle() const = 0;
  virtual LogEnds Ends() const = 0;
  virtual LogStats Stats() const = 0;
  virtual const LogOptions& options() const = 0;
  virtual const RecoveryReport& recovery() const = 0;
  virtual const LogUuid& uuid() const = 0;
};

}  // namespace durlog
