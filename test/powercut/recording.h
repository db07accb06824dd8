// The saved log of a RecordedDisk, from which the disk can be rebuilt as it was, or could have
// been, at any point. The recording of a failing run is saved, so that its cuts can be made again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recorded_disk.h"

namespace powercut {

// One line from a program, and the number of operations that were logged before it.
struct Note {
  uint64_t position;
  std::string line;
};

struct Recording {
  std::string file_system;
  uint64_t image_bytes = 0;
  // Cuts are made at indices in (begin, end]: mkfs is before begin, the unmount after end.
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<DiskOp> ops;
  std::vector<uint8_t> data;
  std::vector<Note> notes;

  // The log of `disk` so far. Call only while no program writes to it.
  static Recording Of(const RecordedDisk& disk, std::string file_system, uint64_t begin,
                      uint64_t end);
  static Recording Load(const std::string& path);
  void Save(const std::string& path) const;

  // How many operations are durable at `index`: the index of the last flush at or before it,
  // plus 1.
  uint64_t DurableAt(uint64_t index) const;
  // How many notes were made while fewer than `index` + 1 operations had been logged.
  uint64_t NotesAt(uint64_t index) const;
  uint64_t CountOps(OpKind kind, uint64_t from, uint64_t to) const;
};

}  // namespace powercut
