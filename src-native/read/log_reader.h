// Reads a log in order, with or without a concurrent writer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "platform/file_system.h"
#include "read/seen_end.h"
#include "record/record_codec.h"
#include "record/segment_header.h"

namespace durlog {

// The place of a record's payload in the batch buffer.
struct ReadEntry {
  uint32_t offset;
  uint32_t length;
  uint32_t time_ms;  // since ReadBatch::base_time_ms
};

struct ReadBatch {
  size_t count = 0;
  uint64_t first_seq = 0;  // of the first record; the seqs are consecutive
  uint64_t next_seq = 0;   // the reader's next seq, after these records and voids that follow them
  uint64_t base_time_ms = 0;
  // If count is 0: the buffer size that the next record needs; 0 at the end of the log.
  size_t need_bytes = 0;
};

// Needs no lock: a record is present once its first word is stored, and its checksum shows whether
// it is complete. For one thread at a time.
class LogReader {
 public:
  static constexpr uint64_t kNoLimit = UINT64_MAX;
  static constexpr size_t kCachedBytes = 64 << 10;

  // Starts at `from_seq`, which may be after the end. kOutOfRange if it was trimmed, kNotALog if
  // the folder holds another log than `uuid` (zeros: any log).
  static Result<std::unique_ptr<LogReader>> Open(FileSystem& file_system, const std::string& path,
                                                 uint64_t from_seq, const LogUuid& uuid = {});

  // Reads the segment directly into `buffer`; `entries` are the places of the payloads in it.
  // Delivers records below `limit`, all of which are acknowledged; with kNoLimit, records that are
  // present, and none of an atomic batch before the whole batch is present. An end that is torn or
  // still being written counts as the end; damage of synced records is kCorrupt.
  Result<ReadBatch> Next(uint8_t* buffer, size_t capacity, ReadEntry* entries, size_t max_entries,
                         uint64_t limit);
  // Like Next(), but does not wait for the device: delivers nothing unless records at the position
  // are in the page cache. Reads at most kCachedBytes, which takes some 10 us.
  std::optional<ReadBatch> NextCached(uint8_t* buffer, size_t capacity, ReadEntry* entries,
                                      size_t max_entries, uint64_t limit);
  // True if Next() could deliver something that was not there when it last found the end.
  Result<bool> Poll();
  // After kCorrupt: moves to the next whole record and returns its seq, or nothing if there is
  // none. From then on the whole records of a damaged batch are delivered one by one.
  Result<std::optional<uint64_t>> SkipDamage();

  uint64_t seq() const { return next_seq_ < from_seq_ ? from_seq_ : next_seq_; }

 private:
  // The state in which decoding stopped.
  struct Stop {
    DecodeStatus status = DecodeStatus::kFree;
    uint64_t offset = 0;
    size_t need_bytes = 0;
    bool at_limit = false;
    bool inside_batch = false;  // in a batch whose end the buffer does not contain
    uint64_t skip_bytes = 0;    // of a frame without a record that begins in the buffer
    uint64_t skip_seqs = 0;
    // The bytes that were decoded at the reader's position.
    uint8_t header[kFrameHeaderBytes] = {};
  };

  LogReader(std::unique_ptr<Directory> directory, uint64_t from_seq)
      : directory_(std::move(directory)), from_seq_(from_seq) {}

  static Result<std::unique_ptr<LogReader>> OpenOnce(FileSystem& file_system,
                                                     const std::string& path, uint64_t from_seq,
                                                     const LogUuid& uuid);
  Status EnterSegment(uint64_t first_seq);
  void FollowHint();
  Result<bool> LeaveHint(const Stop& stop, bool moved);
  size_t BytesBelow(uint64_t limit) const;
  Result<Stop> Fill(uint8_t* buffer, size_t capacity, ReadEntry* entries, size_t max_entries,
                    uint64_t limit, ReadBatch* batch);
  Stop Decode(const uint8_t* buffer, size_t read, bool whole_file_read, ReadEntry* entries,
              size_t max_entries, uint64_t limit, ReadBatch* batch);
  Result<DecodeStatus> CheckBatch();
  // False at the end of the log.
  Result<bool> EnterNextSegment();
  Result<bool> IsReplaced();
  Status CheckDamage(const Stop& stop, uint64_t limit);
  Result<bool> DamageIsSynced(uint64_t* next_whole);
  Result<bool> SkipWithinSegment(uint64_t end_seq);
  Status LostError(uint64_t next_whole) const;

  const std::unique_ptr<Directory> directory_;
  const uint64_t from_seq_;
  LogUuid uuid_{};
  // The reason why the segment of from_seq_ cannot be read. Next() returns it, SkipDamage() skips
  // it.
  Status unreadable_;
  std::unique_ptr<File> file_;  // null if unreadable_ is not OK
  SegmentHeader header_;
  std::optional<uint64_t> recent_key_;  // see RecentFrames; none if the file's id is not known
  uint32_t crc_seed_ = 0;
  uint64_t segment_first_seq_ = 0;
  uint64_t offset_ = 0;
  uint64_t next_seq_ = 0;
  uint64_t last_frame_bytes_ = 0;
  uint64_t whole_until_ = 0;  // the end of a batch that is known to be whole
  bool salvaging_ = false;
  bool hinted_ = false;     // offset_ is from the position index and not yet proved
  uint64_t note_from_ = 0;  // the next position worth noting
  SeenEnd seen_end_;
};

}  // namespace durlog
