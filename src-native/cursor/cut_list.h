// The list of the cuts that removed records from the end of a log. Cursors and snapshots that were
// made before a cut use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "record/segment_header.h"

namespace durlog {

inline constexpr char kCutsName[] = "cuts";
inline constexpr size_t kCutsSlotBytes = 4096;
inline constexpr size_t kCutsFileBytes = 2 * kCutsSlotBytes;
inline constexpr uint64_t kCutsMagic = 0x0a0d535455435544;  // "DUCUTS\r\n"
inline constexpr uint32_t kCutsVersion = 1;
inline constexpr size_t kMaxCuts = 200;

// The cuts that still matter, in ascending order of generation and next seq. A cut that was no
// deeper than a newer one is dropped: a cursor that must learn of it must learn of the newer one.
struct CutList {
  struct Entry {
    uint64_t generation;
    uint64_t next_seq;  // the log's, right after the cut
  };
  uint64_t generation = 0;  // of the newest cut; 0 before the first one
  uint32_t pending = 0;     // the newest cuts whose files may not have changed yet
  std::vector<Entry> entries;

  // The generation of a position that is read now: no pending cut is accounted for.
  uint64_t Current() const { return generation - pending; }

  // Beyond kMaxCuts the two oldest are merged, with the newer generation and the lower seq. A
  // cursor between them may see a cut that did not reach it, but never misses one.
  void Add(uint64_t next_seq);
  // The lowest next seq of the cuts that are newer than `generation`; nullopt if there are none.
  std::optional<uint64_t> LowestSince(uint64_t generation) const;
};

// Empty if the log `uuid` has no such file. kCorrupt if it cannot be read, kVersion if a newer
// version wrote it.
Result<CutList> ReadCuts(Directory& directory, const LogUuid& uuid);

// Adds a pending cut and syncs the list. Must be called before the segments change: a crash in
// between leaves an entry for a cut that did not happen, which is harmless; the reverse order would
// hide a cut from cursors and snapshots. The caller holds the log's lock. Returns the list's file,
// for FinishCuts(). After kIo it is unknown whether the cut is in the list; after any other error
// it is not.
Result<std::unique_ptr<File>> RecordCut(Directory& directory, const LogUuid& uuid,
                                        uint64_t next_seq);
// The files have changed, and `live` shows the new end: no cut is pending any more. A reader that
// sees the new generation cannot see the old end after that. Syncs the list in `file`; opens no
// file, because that could fail after the log was cut.
Status FinishCuts(File& file);
// As FinishCuts() above, for cuts that may have been pending when an earlier writer died.
Status FinishCuts(Directory& directory);

// Syncs the file, if it exists. Called when a writer opens the log: the previous writer may have
// been killed before its cut was synced. Otherwise, after a power cut, a cursor whose synced slot
// has the cut's generation would be newer than the list.
Status SyncCuts(Directory& directory);

// The cuts of the log in a folder since a generation, for a snapshot. Changes nothing, and needs no
// lock.
struct CutsSince {
  LogUuid uuid{};
  std::optional<uint64_t> generation;  // CutList::Current(); nullopt if the list is damaged
  std::optional<uint64_t> lowest;      // next seq of the deepest of these cuts
};
Result<CutsSince> FindCutsSince(FileSystem& file_system, const std::string& path,
                                uint64_t generation);

// Sets the first generation of a log that is created as the copy of another log. A position with an
// older generation is treated as cut. Durable when the call returns.
Status StartGeneration(Directory& directory, const LogUuid& uuid, uint64_t generation);

}  // namespace durlog
