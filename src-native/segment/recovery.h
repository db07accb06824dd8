// What an open makes of the files it finds. docs/FORMAT.md holds the table of cases.
//
// Planning only reads; applying cuts, syncs and invalidates. A repair's dry run is the plan.
#ifndef DURLOG_SEGMENT_RECOVERY_H_
#define DURLOG_SEGMENT_RECOVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/scanner.h"

namespace durlog {

enum class RecoveryState : uint8_t {
  kClean,     // the log ends where its last record does
  kTornTail,  // an end that was never acknowledged at sync is cut off
  kHole,      // as kTornTail, and whole records, none of them known to be synced, go with it
  kCorrupt,   // damage below what is known to have been synced
};

struct RecoveryReport {
  RecoveryState state = RecoveryState::kClean;
  uint64_t scanned_bytes = 0;
  uint64_t discarded_bytes = 0;
  uint64_t discarded_records = 0;
  std::string segment;  // file name of the damage; "" without any
  uint64_t offset = 0;
  uint64_t lost_first = 1;  // kCorrupt: the seqs lost; first > last where there are none
  uint64_t lost_last = 0;
  std::string detail;  // what is wrong there, one clause
};

// Cut the file at `offset`, or remove it whole.
struct Cut {
  std::string name;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool remove = false;
};

// A segment that was scanned, as it will be after the cuts.
struct ScannedSegment {
  uint64_t first_seq = 0;
  SegmentHeader header;
  uint64_t file_bytes = 0;
  std::unique_ptr<File> file;  // of kUnsyncedEnd only: there may be more segments than descriptors
  SegmentScan scan;
  // Not OK where the header cannot be read or is another log's: then nothing in it can be checked,
  // and there is no file.
  Status unreadable;

  bool empty() const { return unreadable.ok() && !scan.damaged && scan.records == 0; }
};

struct LogFiles {
  std::vector<uint64_t> segments;  // first seqs, ascending
  std::vector<std::string> spares;
};

// kNotALog where a segment's name belongs to a link or a folder: what it leads to is not ours to
// write to, and the log would begin or end elsewhere without it.
Result<LogFiles> ListLogFiles(Directory& directory);

// Whose segments these are.
struct LogIdentity {
  LogUuid uuid{};          // zeros where no header can be read
  bool undisputed = true;  // no segment is known to be another log's
};
// The UUID of most segments; of the oldest and the newest where these agree, and no other is read.
Result<LogIdentity> IdentifyLog(Directory& directory, const std::vector<uint64_t>& segments);
// kCorrupt unless the segment is of the log `uuid`.
Status CheckIdentity(const Directory& directory, uint64_t first_seq, const SegmentHeader& header,
                     const LogUuid& uuid);

struct RecoveryPlan {
  LogIdentity identity;
  LogFiles files;
  // The last segments, oldest first: as far back as anything may be unsynced.
  std::vector<ScannedSegment> scanned;
  RecoveryReport report;
  std::vector<Cut> cuts;      // in the order in which they must be made
  uint64_t known_synced = 0;  // every record below it was on the device, by what the data says
  // After the cuts; where corrupt, behind every seq that may have been given out, and the name of
  // no segment but an empty one.
  uint64_t next_seq = 0;
};

enum class ScanExtent : uint8_t {
  kUnsyncedEnd,  // the last segments, never more than hold unsynced records
  kEverything,
};

// Where a plan's evidence is read.
enum class Evidence : uint8_t {
  // What readers see. After a failed writeback that may be more than there is.
  kCache,
  // What is on the device: what the cache holds dirty is written first, and the cache is dropped.
  kDevice,
};

// `files` is what the directory holds: kNotFound where there is no segment among it. A plan that is
// to be applied needs kReadWrite and kDevice.
Result<RecoveryPlan> PlanRecovery(Directory& directory, LogFiles files, OpenMode mode,
                                  ScanExtent extent, Evidence evidence);

// Rewrites what is kept but was not known to be synced, past the cache where the file system lets
// us; notes that in front of the cuts, and makes them. When this returns, nothing that was cut can
// come back, everything kept is durable, and where there was a cut the log says so.
Status ApplyRecovery(Directory& directory, const Capabilities& capabilities, RecoveryPlan* plan);

// Truncates the file, gives it back as zeros the blocks that were preallocated, and syncs it.
Status CutSegment(File& file, uint64_t offset, uint64_t segment_bytes);
// As CutSegment, where what is cut was synced: whenever the power goes, nothing whole is left
// behind something that is not, which the next open would have to call corrupt.
Status CutSyncedRecords(File& file, uint64_t offset, uint64_t segment_bytes);
// As CutSyncedRecords, with a marker at `offset` that gets there with the cut's last sector: the
// frames that are cut may be all that said that the records below `next_seq` had been synced. Where
// the log ends now; `offset` where there is no room for a marker, and so nothing but markers was
// cut.
Result<uint64_t> CutBehindMarker(File& file, const SegmentHeader& header, uint64_t offset,
                                 uint64_t next_seq);

// Error for a log that needs salvage or repair, from the plan's report.
Status CorruptError(const Directory& directory, const RecoveryReport& report);

// Opens a segment and reads its header.
struct OpenedSegment {
  std::unique_ptr<File> file;
  SegmentHeader header;
  bool one_header_copy_damaged = false;
};
Result<OpenedSegment> OpenSegment(Directory& directory, uint64_t first_seq, OpenMode mode);
ScanContext ContextOf(const SegmentHeader& header, uint64_t first_seq);

}  // namespace durlog

#endif  // DURLOG_SEGMENT_RECOVERY_H_
