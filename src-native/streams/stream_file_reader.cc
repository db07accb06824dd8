#include "streams/stream_file_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "checksum/crc32c.h"
#include "streams/index_entry.h"
#include "streams/json_string.h"
#include "streams/record_writer.h"

namespace durlog {
namespace {

// The number of index entries that are read in addition to the expected number, because the lengths
// of records differ.
constexpr uint64_t kSpareEntries = 16;
// The limit of the index entries that are read at once.
constexpr uint64_t kEntriesMax = 16 << 10;
// The limit of a stored record: 8 MiB, and spaces that fill up the pages at its two ends.
constexpr uint64_t kStoredRecordMax = (8 << 20) + 2 * 4096;
// The limit of the bytes that are read on the calling thread. To read more takes longer than to
// change to a worker and back.
constexpr size_t kCachedBytesMax = 64 << 10;

// The numbers come from the catalog, which another program may have changed.
bool CanHave(const StreamFile& file, uint64_t from, uint64_t to) {
  return file.first <= from && from < to && to <= file.next;
}

// The file must have a record.
uint64_t AverageBytes(const StreamFile& file) {
  return std::max<uint64_t>(file.bytes / (file.next - file.first), 1);
}

Status NotCached() { return Status::Error(Code::kUnsupported, "is not in memory"); }

}  // namespace

Result<StreamChunk> StreamFileReader::Read(uint64_t from, uint64_t to) {
  chunk_.next = from;
  if (!CanHave(file_, from, to)) chunk_.problem = "its entry in the catalog is wrong";
  // Each step costs system calls, so no step is made for the last eighth of the room.
  while (chunk_.next < to && chunk_.size <= room_ - room_ / 8 && chunk_.problem.empty()) {
    DURLOG_RETURN_IF_ERROR(LoadIndex(to));
    const size_t count = chunk_.problem.empty() ? CountThatFits(from) : 0;
    if (count == 0) break;
    DURLOG_RETURN_IF_ERROR(AddRecords(from, count));
  }
  // The next call reports the problem.
  if (chunk_.next > from) chunk_.problem.clear();
  if (form_ == RecordForm::kBody && checked_ == file_.bytes && chunk_.next == file_.next &&
      crc_ != file_.crc) {
    chunk_.next = from;
    chunk_.problem =
        "the checksum of the file is wrong, so this record or a later one was replaced";
  }
  return std::move(chunk_);
}

std::optional<StreamChunk> ReadCached(Directory& records_folder, Directory& index_folder,
                                      const StreamFile& file, RecordForm form, uint64_t from,
                                      uint64_t to, uint8_t* into, size_t room) {
  if (!CanHave(file, from, to) || (to - from) * AverageBytes(file) > kCachedBytesMax) {
    return std::nullopt;
  }
  StreamFileReader reader(records_folder, index_folder, file, form, into,
                          std::min(room, kCachedBytesMax));
  reader.cached_only_ = true;
  Result<StreamChunk> chunk = reader.Read(from, to);
  if (!chunk.ok() || chunk->next < to) return std::nullopt;
  return std::move(*chunk);
}

// Leaves `file` empty, with a problem, if there is no such regular file.
Status StreamFileReader::OpenIn(Directory& folder, const std::string& name,
                                std::unique_ptr<File>* file) {
  if (*file != nullptr) return Status::Ok();
  if (cached_only_) {
    *file = folder.OpenCached(name);
    return *file != nullptr ? Status::Ok() : NotCached();
  }
  Result<std::unique_ptr<File>> opened = folder.Open(name, OpenMode::kRead);
  const Code code = opened.status().code();
  if (code == Code::kNotFound || code == Code::kNotALog) {
    chunk_.problem =
        folder.PathOf(name) + (code == Code::kNotFound ? " is missing" : " is not a regular file");
    return Status::Ok();
  }
  if (!opened.ok()) return opened.TakeStatus();
  *file = std::move(*opened);
  return Status::Ok();
}

Result<size_t> StreamFileReader::ReadAt(File& file, uint64_t offset, uint8_t* to,
                                        size_t length) const {
  if (!cached_only_) return file.ReadAt(offset, to, length);
  const std::optional<size_t> read = file.ReadCachedAt(offset, to, length);
  if (read != length) return NotCached();
  return length;
}

// Loads the index entries of the next record, of the one before it and of later ones.
Status StreamFileReader::LoadIndex(uint64_t to) {
  const uint64_t in_memory = file_.next - file_.index.size / kIndexEntryBytes;
  const uint64_t expected = (room_ - chunk_.size) / AverageBytes(file_) + kSpareEntries;
  const uint64_t end = std::min(to, chunk_.next + std::min(expected, kEntriesMax));
  const uint64_t start = chunk_.next == file_.first ? chunk_.next : chunk_.next - 1;
  at_next_ = static_cast<size_t>(chunk_.next - start);
  entries_.resize(static_cast<size_t>(end - start) * kIndexEntryBytes);
  uint8_t* at = entries_.data();
  if (start < in_memory) {
    DURLOG_RETURN_IF_ERROR(OpenIn(index_folder_, file_.name, &index_));
    if (index_ == nullptr) return Status::Ok();
    const size_t length = static_cast<size_t>(std::min(end, in_memory) - start) * kIndexEntryBytes;
    const uint64_t offset = (start - file_.first) * kIndexEntryBytes;
    DURLOG_ASSIGN_OR_RETURN(const size_t read, ReadAt(*index_, offset, at, length));
    if (read < length) {
      chunk_.problem = "its index is too short";
      return Status::Ok();
    }
    at += length;
  }
  if (end > in_memory) {
    const uint64_t skipped = std::max(start, in_memory) - in_memory;
    std::memcpy(at, file_.index.data + skipped * kIndexEntryBytes,
                static_cast<size_t>(entries_.data() + entries_.size() - at));
  }
  return Status::Ok();
}

uint64_t StreamFileReader::EndAt(size_t entry) const {
  return Load48(entries_.data() + entry * kIndexEntryBytes);
}

// Returns how many of the loaded records fit. 0 if the first one has a problem or does not fit.
size_t StreamFileReader::CountThatFits(uint64_t from) {
  const uint64_t room = room_ - chunk_.size;
  const uint64_t start = at_next_ == 0 ? 0 : EndAt(0);
  const size_t count = entries_.size() / kIndexEntryBytes - at_next_;
  uint64_t end = start;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t next_end = EndAt(at_next_ + i);
    if (next_end <= end || next_end > file_.bytes || next_end - end > kStoredRecordMax) {
      if (i == 0) chunk_.problem = "its index is damaged";
      return i;
    }
    if (next_end - start > room) {
      if (i == 0 && chunk_.next == from) chunk_.needed = static_cast<size_t>(next_end - start);
      return i;
    }
    end = next_end;
  }
  return count;
}

// The rest of a line may look like a record. A frame needs no check, because it has a checksum.
Status StreamFileReader::CheckStart(uint64_t start) {
  if (start == 0 || file_.encoding == StreamEncoding::kBytes) return Status::Ok();
  uint8_t before = 0;
  DURLOG_ASSIGN_OR_RETURN(const size_t read, ReadAt(*records_, start - 1, &before, 1));
  if (read == 1 && before != '\n') chunk_.problem = "its index is damaged";
  return Status::Ok();
}

Status StreamFileReader::AddRecords(uint64_t from, size_t count) {
  const char* const extension =
      file_.encoding == StreamEncoding::kBytes ? kFramesExtension : kLinesExtension;
  DURLOG_RETURN_IF_ERROR(OpenIn(records_folder_, file_.name + extension, &records_));
  if (records_ == nullptr) return Status::Ok();
  const uint64_t start = at_next_ == 0 ? 0 : EndAt(0);
  if (chunk_.next == from) {
    chunk_.time_ms = Load48(entries_.data() + at_next_ * kIndexEntryBytes + kIndexTimeAt);
    DURLOG_RETURN_IF_ERROR(CheckStart(start));
    if (!chunk_.problem.empty()) return Status::Ok();
  }
  uint8_t* const bytes = into_ + chunk_.size;
  const size_t length = static_cast<size_t>(EndAt(at_next_ + count - 1) - start);
  DURLOG_ASSIGN_OR_RETURN(const size_t read, ReadAt(*records_, start, bytes, length));
  if (start == checked_) {
    crc_ = Crc32c(crc_, bytes, read);
    checked_ += read;
  }
  // A body has no headers and no padding, so each of its records is moved to the end of the one
  // before it. Stored records stay in place.
  const uint64_t first = chunk_.next;
  uint8_t* at = bytes;
  uint8_t* to = bytes;
  for (size_t i = 0; i < count && chunk_.problem.empty(); ++i) {
    uint8_t* const end = bytes + (EndAt(at_next_ + i) - start);
    if (end > bytes + read) {
      chunk_.problem = "the file is too short";
      break;
    }
    uint8_t* const added = AddRecord(at, end, to);
    if (added == nullptr) {
      chunk_.problem = "the record is damaged";
      break;
    }
    to = added;
    at = end;
    ++chunk_.next;
  }
  chunk_.size = static_cast<size_t>(to - into_);
  if (form_ == RecordForm::kStored) AddEntries(static_cast<size_t>(chunk_.next - first));
  return Status::Ok();
}

// Adds the entries of the `count` records that were added last.
void StreamFileReader::AddEntries(size_t count) {
  const size_t first = chunk_.entries.empty() ? 0 : at_next_;
  chunk_.entries.insert(chunk_.entries.end(), entries_.data() + first * kIndexEntryBytes,
                        entries_.data() + (at_next_ + count) * kIndexEntryBytes);
}

// Adds the stored record from `from` to `end` at `to`, which is not after `from`. Returns the end
// of the added bytes; null if the record is damaged.
uint8_t* StreamFileReader::AddRecord(uint8_t* from, uint8_t* end, uint8_t* to) const {
  if (file_.encoding == StreamEncoding::kBytes) {
    if (static_cast<size_t>(end - from) < kStreamFrameHeaderBytes) return nullptr;
    const uint8_t* const data = from + kStreamFrameHeaderBytes;
    const size_t size = static_cast<size_t>(end - data);
    if (Load32(from) != size || Load32(from + 4) != Crc32c(0, data, size)) return nullptr;
    if (form_ == RecordForm::kStored) return end;
    std::memmove(to, data, size);
    return to + size;
  }
  uint8_t* last = end - 1;
  // The parser of the values finds a newline within a line.
  if (form_ == RecordForm::kStored) return *last == '\n' ? end : nullptr;
  if (std::memchr(from, '\n', static_cast<size_t>(end - from)) != last) return nullptr;
  while (from < last && *from == ' ') ++from;
  while (last > from && last[-1] == ' ') --last;
  if (from == last) return nullptr;
  if (file_.encoding == StreamEncoding::kText) return DecodeJsonString(from, last, to);
  const size_t size = static_cast<size_t>(last - from);
  if (to != from) std::memmove(to, from, size);
  to[size] = ',';
  return to + size + 1;
}

}  // namespace durlog
