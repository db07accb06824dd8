// The plan of an open: the state of the files, and the cuts. docs/FORMAT.md has the table of cases.
//
// Planning only reads; ApplyRecovery() changes the files. A repair's dry run is the plan.
#pragma once

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

// Cut the file at `offset`, or remove the whole file.
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
  // The scanned bytes are known to be on the device: see DropCache().
  bool from_device = false;
  // Not OK if the header cannot be read or belongs to another log. Then no frame of the segment can
  // be checked, and `file` is null.
  Status unreadable;

  bool empty() const { return unreadable.ok() && !scan.damaged && scan.records == 0; }
};

struct RecoveryPlan {
  LogIdentity identity;
  LogFiles files;
  // Oldest first: all segments, or the last ones as far back as a record may be unsynced.
  std::vector<ScannedSegment> scanned;
  RecoveryReport report;
  std::vector<Cut> cuts;    // in the order in which they must be made
  uint64_t synced_end = 0;  // the data states that every record below it was on the device
  // Every record below it is known to exist: the data states that it was synced, or it was
  // acknowledged.
  uint64_t known_end = 0;
  // After the cuts. If the state is kCorrupt, it is above every seq that may have been assigned,
  // and only an empty segment may have it as its name.
  uint64_t next_seq = 0;
};

enum class ScanExtent : uint8_t {
  kUnsyncedEnd,  // the last segments, never more than hold unsynced records
  kEverything,
};

// The place from which a plan reads its evidence.
enum class Evidence : uint8_t {
  // The contents that readers see. After a failed writeback the device may hold less.
  kCache,
  // The contents of the device: dirty pages are written first, and the cache is dropped.
  kDevice,
};

// The evidence for a caller without the log's lock: kCache while a writer has the log open. A sync
// of a file receives the system's only report of a failed writeback, and a writer that opens the
// file later would then acknowledge records that are lost.
Result<Evidence> EvidenceForObserver(Directory& directory);

// `files` is the contents of the directory; kNotFound if it has no segment. A plan that is to be
// applied needs kReadWrite, kDevice and the log's lock. Records below `acknowledged_end` are known
// to exist, whatever the data states: damage to one is not a torn tail.
Result<RecoveryPlan> PlanRecovery(Directory& directory, LogFiles files, OpenMode mode,
                                  ScanExtent extent, Evidence evidence,
                                  uint64_t acknowledged_end = 0);

}  // namespace durlog
