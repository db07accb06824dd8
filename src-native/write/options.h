// The options with which a log is opened.
#pragma once

#include <cstdint>

#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/preallocation.h"

namespace durlog {

// How safe a record is. A higher level includes every lower one.
enum class Level : uint8_t {
  kMemory = 0,  // in the page cache: survives a crash of the process
  kAsync = 1,   // in the page cache, and its writeback has been started
  kSync = 2,    // on the device, as after fdatasync or O_DSYNC
  kFull = 3,    // the strongest sync of the platform, metadata included
};
inline constexpr int kLevelCount = 4;

enum class Strategy : uint8_t { kAuto, kMmap, kPwrite, kDirect };

// How the bytes of a record get to the file. Each strategy but kAuto has the mode of the same name;
// with kAuto, WritePolicy picks the mode.
enum class WriteMode : uint8_t {
  kMmap,    // stored into mapped pages by the appending thread
  kPwrite,  // staged, then pwrite by the commit
  kDirect,  // staged, then O_DIRECT|O_DSYNC by the commit
};

// The identity of a log that is restored, for the new log that will hold its records. The new log's
// segments have version 2.
struct RestoredIdentity {
  LogUuid uuid{};           // zeros: a new log, with a random UUID
  uint64_t first_seq = 0;   // of the first record
  uint64_t generation = 0;  // of the cuts, see cut_list.h
};

struct LogOptions {
  Strategy strategy = Strategy::kAuto;
  // If true, WritePolicy picks the preallocation when a spare is made.
  bool preallocation_auto = true;
  Preallocation preallocation = Preallocation::kFallocate;
  uint64_t segment_bytes = 64u << 20;  // a multiple of 4096, at least 64 KiB
  // The size of the first segment of a new log. Each later segment is twice as long, up to
  // segment_bytes. 0: segment_bytes. Not used for a shared log.
  uint64_t first_segment_bytes = 0;
  uint64_t max_pending_bytes = 32u << 20;  // framed but not yet committed
  uint32_t max_record_bytes = 16u << 20;   // payload
  uint64_t chunk_bytes = 4u << 20;         // the largest TailShape::window_bytes; a power of two
  uint32_t map_after_records = 32;         // for kAuto: see WritePolicy
  uint32_t max_recyclable = 2;             // trimmed segments kept for reuse
  // For a shared log: how long a living writer may delay the acknowledgements of the others before
  // the log reports it as stalled.
  uint32_t stall_ms = 1000;
  // The lower limit of EagerSize: a commit of this size costs little more than a smaller one.
  uint32_t eager_bytes = 128u << 10;
  bool shared = false;  // open a SharedLog
  bool create = true;
  RestoredIdentity restored;
  bool salvage = false;
  // The level that most appends will request. It decides the mode in which kAuto starts.
  Level expected_level = Level::kSync;
};

}  // namespace durlog
