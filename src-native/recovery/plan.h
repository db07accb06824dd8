// What an open makes of the files it finds. docs/FORMAT.md holds the table of cases.
//
// Planning only reads; ApplyRecovery() changes the files. A repair's dry run is the plan.
#ifndef DURLOG_RECOVERY_PLAN_H_
#define DURLOG_RECOVERY_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"
#include "recovery/identity.h"
#include "recovery/log_files.h"
#include "recovery/report.h"
#include "segment/scanner.h"

namespace durlog {

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
  bool header_copies_differ = false;
  uint64_t file_bytes = 0;
  // Null if nothing in the segment can be unsynced: there may be more segments than descriptors.
  std::unique_ptr<File> file;
  SegmentScan scan;
  // What was scanned is known to be on the device: see ShowDevice().
  bool from_device = false;
  // Not OK where the header cannot be read or is another log's: then nothing in it can be checked,
  // and there is no file.
  Status unreadable;

  bool empty() const { return unreadable.ok() && !scan.damaged && scan.records == 0; }
};

struct RecoveryPlan {
  LogIdentity identity;
  LogFiles files;
  // Oldest first: all segments, or the last ones as far back as anything may be unsynced.
  std::vector<ScannedSegment> scanned;
  RecoveryReport report;
  std::vector<Cut> cuts;    // in the order in which they must be made
  uint64_t synced_end = 0;  // every record below it was on the device, by what the data says
  // Every record below it is known to exist: synced by what the data says, or acknowledged.
  uint64_t known_end = 0;
  // After the cuts. If the state is kCorrupt: above every seq that may have been given out, and
  // only an empty segment may have it as its name.
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

// Where a caller without the log's lock reads: kCache while a writer has the log open. To sync a
// file is to receive the system's only report of a failed writeback, and a writer that opens the
// file later would acknowledge records that are gone.
Result<Evidence> EvidenceForObserver(Directory& directory);

// `files` is what the directory holds: kNotFound if there is no segment among it. A plan that is
// to be applied needs kReadWrite, kDevice and the log's lock. Records below `acknowledged_end` are
// known to exist, whatever the data says: damage to one is no torn tail.
Result<RecoveryPlan> PlanRecovery(Directory& directory, LogFiles files, OpenMode mode,
                                  ScanExtent extent, Evidence evidence,
                                  uint64_t acknowledged_end = 0);

}  // namespace durlog

#endif  // DURLOG_RECOVERY_PLAN_H_
