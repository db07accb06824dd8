// What has been cut from the end of a log, so that a cursor that was closed meanwhile finds out.
#ifndef DURLOG_CURSOR_CUT_LIST_H_
#define DURLOG_CURSOR_CUT_LIST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Cuts that still matter: of two the newer one has the higher next seq. One that cut no deeper than
// a newer one is forgotten, as whoever has to know of it has to know of the newer one too.
struct CutList {
  struct Entry {
    uint64_t generation;
    uint64_t next_seq;  // the log's, right after the cut
  };
  uint64_t generation = 0;  // of the newest cut; 0 before the first one
  std::vector<Entry> entries;

  // Beyond kMaxCuts the two oldest become one, of the newer generation and the lower seq: a cursor
  // between them may be told of a cut that did not reach it, and never misses one.
  void Add(uint64_t next_seq);
  // The lowest next seq of the cuts that are newer than `generation`; nothing where there is none.
  std::optional<uint64_t> LowestSince(uint64_t generation) const;
};

// Empty where the log `uuid` has no such file. kCorrupt where it cannot be read, kVersion where a
// newer version wrote it.
Result<CutList> ReadCuts(Directory& directory, const LogUuid& uuid);

// Adds a cut, durably: of two slots in memory a power cut could take both. Before the files change:
// a crash in between leaves a cut that was not made, which a cursor behind it is told of all the
// same. The caller has the log's lock.
Status RecordCut(Directory& directory, const LogUuid& uuid, uint64_t next_seq);

// For a log that is made: its first cut will be the one after `generation`. Durable.
Status StartGeneration(Directory& directory, const LogUuid& uuid, uint64_t generation);

}  // namespace durlog

#endif  // DURLOG_CURSOR_CUT_LIST_H_
