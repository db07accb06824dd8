// What a RecordedDisk logged, kept: enough to rebuild the disk as it was, or could have been, at
// any point of it. A failing run's recording is saved, so that its cuts can be made again.
#ifndef DURLOG_TEST_POWERCUT_RECORDING_H_
#define DURLOG_TEST_POWERCUT_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "recorded_disk.h"

namespace powercut {

// One line of a program, and how many operations were logged before it.
struct Note {
  uint64_t position;
  std::string line;
};

struct Recording {
  std::string file_system;
  uint64_t image_bytes = 0;
  // Cuts are made at indices in (begin, end]: before begin is mkfs, after end the unmount.
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<DiskOp> ops;
  std::vector<uint8_t> data;
  std::vector<Note> notes;

  // The log of `disk` so far. Only while nothing writes to it.
  static Recording Of(const RecordedDisk& disk, std::string file_system, uint64_t begin,
                      uint64_t end);
  static Recording Load(const std::string& path);
  void Save(const std::string& path) const;

  // How many operations a flush at or before `index` has made durable: the last one's index + 1.
  uint64_t DurableAt(uint64_t index) const;
  // How many notes were made while fewer than `index` + 1 operations had been logged.
  uint64_t NotesAt(uint64_t index) const;
  uint64_t CountOps(OpKind kind, uint64_t from, uint64_t to) const;
};

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_RECORDING_H_
