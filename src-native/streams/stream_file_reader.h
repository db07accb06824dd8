// Reads records of a stream's file, as the body of an answer or as they are stored:
// docs/STREAMS.md, "The file of a stream".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "platform/file_system.h"

namespace durlog {

// The encoding of a stream: the form of a record in the file and in a body.
enum class StreamEncoding : uint8_t {
  kJson = 1,   // a line; in a body the line is followed by a comma
  kText = 2,   // a line with a JSON string; in a body the text
  kBytes = 3,  // a frame; in a body its data
};

// The form of the records that are read.
enum class RecordForm : uint8_t {
  kBody,    // see StreamEncoding
  kStored,  // the bytes of the file, with their index entries
};

// A file of a stream as of the stream's last checkpoint.
struct StreamFile {
  // The name of the index's file. The file of the records has the same name with an extension.
  std::string name;
  StreamEncoding encoding = StreamEncoding::kBytes;
  // The file has the records from `first` to `next` - 1, which end at the offset `bytes`.
  uint64_t first = 0;
  uint64_t next = 0;
  uint64_t bytes = 0;
  uint32_t crc = 0;
  // The index entries that are not in the index's file: the last ones.
  Bytes index;
};

struct StreamChunk {
  // The seq after the last record that was read.
  uint64_t next = 0;
  size_t size = 0;
  // The time of the first record.
  uint64_t time_ms = 0;
  // If the first record does not fit: the room that it needs. Otherwise 0.
  size_t needed = 0;
  // Of stored records: their index entries, after that of the record before them if the file has
  // one.
  std::vector<uint8_t> entries;
  // If the first record cannot be read: the reason. Otherwise empty.
  std::string problem;
};

class StreamFileReader {
 public:
  // `into` has `room` bytes.
  StreamFileReader(Directory& records_folder, Directory& index_folder, const StreamFile& file,
                   RecordForm form, uint8_t* into, size_t room)
      : records_folder_(records_folder),
        index_folder_(index_folder),
        file_(file),
        form_(form),
        into_(into),
        room_(room) {}

  // Adds the records from `from` to `to` - 1 until the room is almost full. Stops before a record
  // that is damaged or missing. If all records of the file are read for a body, also compares the
  // CRC-32C of the file. Must be called only once.
  Result<StreamChunk> Read(uint64_t from, uint64_t to);

 private:
  friend std::optional<StreamChunk> ReadCached(Directory&, Directory&, const StreamFile&,
                                               RecordForm, uint64_t, uint64_t, uint8_t*, size_t);
  Status OpenIn(Directory& folder, const std::string& name, std::unique_ptr<File>* file);
  Result<size_t> ReadAt(File& file, uint64_t offset, uint8_t* to, size_t length) const;
  Status LoadIndex(uint64_t to);
  uint64_t EndAt(size_t entry) const;
  size_t CountThatFits(uint64_t from);
  Status CheckStart(uint64_t start);
  Status AddRecords(uint64_t from, size_t count);
  uint8_t* AddRecord(uint8_t* from, uint8_t* end, uint8_t* to) const;
  void AddEntries(size_t count);

  Directory& records_folder_;
  Directory& index_folder_;
  const StreamFile& file_;
  const RecordForm form_;
  uint8_t* const into_;
  const size_t room_;
  // Read only from the page cache, so that no call waits for the device.
  bool cached_only_ = false;
  StreamChunk chunk_;
  std::unique_ptr<File> records_;
  std::unique_ptr<File> index_;
  // Index entries of consecutive records. The entry of record `chunk_.next` is that at `at_next_`.
  std::vector<uint8_t> entries_;
  size_t at_next_ = 0;
  // The number of bytes that were read from the beginning of the file without a gap, and their
  // CRC-32C.
  uint64_t checked_ = 0;
  uint32_t crc_ = 0;
};

// Reads all records from `from` to `to` - 1 if they have few bytes, fit into `into`, and are in the
// page cache. Never waits for the device. nullopt if one of these conditions is not met, or for any
// problem: then use a StreamFileReader.
std::optional<StreamChunk> ReadCached(Directory& records_folder, Directory& index_folder,
                                      const StreamFile& file, RecordForm form, uint64_t from,
                                      uint64_t to, uint8_t* into, size_t room);

}  // namespace durlog
