// Reading a log in order, beside its writer or without one.
#ifndef DURLOG_READ_CURSOR_H_
#define DURLOG_READ_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "record/record_codec.h"
#include "record/segment_header.h"

namespace durlog {

// Where a record's payload is in the batch buffer.
struct CursorEntry {
  uint32_t offset;
  uint32_t length;
  uint32_t time_ms;  // since CursorBatch::base_time_ms
};

struct CursorBatch {
  size_t count = 0;
  uint64_t first_seq = 0;  // the others follow one by one
  uint64_t next_seq = 0;   // the cursor's, behind them and behind the seqs without a record
  uint64_t base_time_ms = 0;
  // Where count is 0: how large a buffer the next record needs; 0 at the end of the log.
  size_t need_bytes = 0;
};

// Needs no lock: a record is there once its word is, and its checksum says whether all of it is.
// One thread at a time.
class Cursor {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  static constexpr size_t kCachedBytes = 64 << 10;

  // At `from_seq`, which may be after the end. kOutOfRange if it was trimmed.
  static Result<std::unique_ptr<Cursor>> Open(FileSystem& file_system, const std::string& path,
                                              uint64_t from_seq);

  // Reads the segment straight into `buffer`; `entries` say where in it the payloads are. Delivers
  // records below `limit`, none of an atomic batch before all of it is there. An end that is
  // torn, or being written, is the end; damage of synced records is kCorrupt.
  Result<CursorBatch> Next(uint8_t* buffer, size_t capacity, CursorEntry* entries,
                           size_t max_entries, uint64_t limit);
  // As Next(), but without waiting for the device: nothing unless records at the position are in
  // the page cache. Reads at most kCachedBytes, which takes some 10 us.
  std::optional<CursorBatch> NextCached(uint8_t* buffer, size_t capacity, CursorEntry* entries,
                                        size_t max_entries, uint64_t limit);
  // Whether Next() could deliver something that it did not see when it last found the end.
  Result<bool> Poll();
  // After kCorrupt: goes to the next whole record; its seq, or nothing where there is none. From
  // then on the whole records of a damaged batch are delivered one by one.
  Result<std::optional<uint64_t>> SkipDamage();

  uint64_t seq() const { return next_seq_ < from_seq_ ? from_seq_ : next_seq_; }

 private:
  // The bytes where decoding stopped.
  struct Stop {
    DecodeStatus status = DecodeStatus::kFree;
    uint64_t offset = 0;
    size_t need_bytes = 0;
    bool at_limit = false;
    bool inside_batch = false;  // whose end the buffer does not hold
    // What was decoded at the cursor's position, as far as there was so much.
    uint8_t header[kFrameHeaderBytes] = {};
  };

  Cursor(std::unique_ptr<Directory> directory, uint64_t from_seq)
      : directory_(std::move(directory)), from_seq_(from_seq) {}

  static Result<std::unique_ptr<Cursor>> OpenOnce(FileSystem& file_system, const std::string& path,
                                                  uint64_t from_seq);
  Status EnterSegment(uint64_t first_seq);
  void FollowHint();
  Result<bool> LeaveHint(const Stop& stop, bool moved);
  Result<Stop> Fill(uint8_t* buffer, size_t capacity, CursorEntry* entries, size_t max_entries,
                    uint64_t limit, CursorBatch* batch);
  Stop Decode(const uint8_t* buffer, size_t read, bool whole_file_read, CursorEntry* entries,
              size_t max_entries, uint64_t limit, CursorBatch* batch);
  Result<DecodeStatus> CheckBatch();
  // False at the end of the log.
  Result<bool> EnterNextSegment();
  Result<bool> IsReplaced();
  void KeepEnd(const Stop& stop);
  Status CheckDamage(const Stop& stop, uint64_t limit);
  Result<bool> DamageIsSynced(uint64_t* next_whole);
  Result<bool> SkipWithinSegment(uint64_t end_seq);
  Status LostError(uint64_t next_whole) const;

  const std::unique_ptr<Directory> directory_;
  const uint64_t from_seq_;
  LogUuid uuid_{};
  // Why the segment of from_seq_ cannot be read; Next() returns it, SkipDamage() skips it.
  Status unreadable_;
  std::unique_ptr<File> file_;  // null where unreadable_ is not OK
  SegmentHeader header_;
  uint32_t crc_seed_ = 0;
  uint64_t segment_first_seq_ = 0;
  uint64_t offset_ = 0;
  uint64_t next_seq_ = 0;
  uint64_t whole_until_ = 0;  // a batch that has been seen to its end ends here
  bool salvaging_ = false;
  bool hinted_ = false;     // offset_ is from the position index and has not proved right yet
  uint64_t note_from_ = 0;  // the next position worth noting
  // The header bytes that were decoded at the end and taken for the end.
  uint8_t end_header_[kFrameHeaderBytes] = {};
  // While they stay the same, every so many calls of Poll() ask for another decode.
  uint32_t polls_to_decode_ = 1;
  uint32_t polls_ = 0;
};

}  // namespace durlog

#endif  // DURLOG_READ_CURSOR_H_
