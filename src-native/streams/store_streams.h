// The part of a checkpoint that changes the files of many streams.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "streams/record_writer.h"

namespace durlog {

// An addition to one stream.
struct StreamChange {
  // Of its index; its file has an extension too.
  std::string name;
  bool lines = true;
  // Removes the files of an earlier stream of that name first.
  bool removes = false;
  // False for a stream that is removed, or gets its first record later.
  bool has_file = true;
  // The length of the file, and the CRC-32C of its bytes.
  uint64_t size = 0;
  uint32_t crc = 0;
  // The entries of the index before `index`, which are in the index's file.
  uint64_t index_entries = 0;
  std::vector<uint8_t> index;
  size_t first_record = 0;
  size_t record_count = 0;

  // Set by StoreStreams().
  bool stored = false;  // false: the file does not have that length, and was left alone
};

// Adds `records` to the files of `changes`, and to their indexes. Then `size` and `crc` are those
// of the longer file, and `index` is the part of the index after its last full block. With `sync`,
// syncs each file by the descriptor that it was written with; otherwise starts its writeback: the
// flusher of the system, which is one thread, would write all files during the sync that follows.
Status StoreStreams(Directory& records_folder, Directory& index_folder,
                    const std::vector<StreamRecord>& records, bool sync, StepLimit* steps,
                    std::vector<StreamChange>* changes);

}  // namespace durlog
