// The part of a checkpoint that changes the files of many streams.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platform/file_system.h"
#include "streams/record_writer.h"

namespace durlog {

// The records that are added to one stream, and the stream's files.
struct StreamChange {
  // The name of the index's file. The stream's file has the same name with an extension.
  std::string name;
  bool lines = true;
  // Removes the files of an earlier stream of that name first.
  bool removes = false;
  // False for a stream that is removed, or gets its first record later.
  bool has_file = true;
  // The length of the file, and the CRC-32C of its bytes.
  uint64_t size = 0;
  uint32_t crc = 0;
  // The number of index entries before `index`, which are already in the index's file.
  uint64_t index_entries = 0;
  std::vector<uint8_t> index;
  size_t first_record = 0;
  size_t record_count = 0;

  // Set by StoreStreams().
  // False if the file's length is not `size`, so it was not changed, or if the file or the index is
  // not a regular file.
  bool stored = false;
  // Why the change failed. The other changes were made nevertheless.
  Status failure;
};

// Adds `records` to the files of `changes` and to their indexes. Afterwards, `size` and `crc`
// describe the extended file, and `index` is the part of the index after its last full block. With
// `sync`, syncs each file through the descriptor that wrote it. Otherwise, starts the writeback of
// each stream's file, because in the following sync the system's single flusher thread would have
// to write all of them. It writes the indexes: starting the writeback of their few bytes would take
// more processor time than it saves.
void StoreStreams(Directory& records_folder, Directory& index_folder,
                  const std::vector<StreamRecord>& records, bool sync, StepLimit* steps,
                  std::vector<StreamChange>* changes);

}  // namespace durlog
