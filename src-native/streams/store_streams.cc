#include "streams/store_streams.h"

#include <memory>
#include <utility>

#include "streams/index_entry.h"

namespace durlog {
namespace {

constexpr size_t kIndexBlockBytes = 16 * kIndexEntryBytes;

Status WriteIndex(Directory& folder, bool sync, StepLimit* steps, StreamChange* change) {
  const size_t full = change->index.size() - change->index.size() % kIndexBlockBytes;
  if (full == 0) return Status::Ok();
  if (!steps->Take()) return StoppedError();
  Result<std::unique_ptr<File>> file = folder.Open(change->name, OpenMode::kReadWrite);
  if (file.status().code() == Code::kNotFound) {
    file = folder.Open(change->name, OpenMode::kCreatePrivate);
  }
  change->stored = file.status().code() != Code::kNotALog;
  if (!change->stored) return Status::Ok();
  if (!file.ok()) return file.TakeStatus();
  const uint64_t offset = change->index_entries * kIndexEntryBytes;
  DURLOG_RETURN_IF_ERROR((*file)->WriteAt(offset, change->index.data(), full));
  if (sync) {
    if (!steps->Take()) return StoppedError();
    DURLOG_RETURN_IF_ERROR((*file)->SyncData());
  }
  change->index.erase(change->index.begin(),
                      change->index.begin() + static_cast<std::ptrdiff_t>(full));
  return Status::Ok();
}

// A folder with the name of a file is not durlog's, and stays.
Status RemoveIfThere(Directory& folder, const std::string& name) {
  Status removed = folder.Remove(name);
  const bool none = removed.code() == Code::kNotFound || removed.code() == Code::kNotALog;
  return none ? Status::Ok() : std::move(removed);
}

Status RemoveFiles(Directory& records_folder, Directory& index_folder, StepLimit* steps,
                   const std::string& name) {
  if (!steps->Take()) return StoppedError();
  DURLOG_RETURN_IF_ERROR(RemoveIfThere(records_folder, name + kLinesExtension));
  DURLOG_RETURN_IF_ERROR(RemoveIfThere(records_folder, name + kFramesExtension));
  return RemoveIfThere(index_folder, name);
}

Status StoreStream(Directory& records_folder, Directory& index_folder, const StreamRecord* records,
                   bool sync, AlignedBuffer* scratch, StepLimit* steps, StreamChange* change) {
  if (change->removes) {
    DURLOG_RETURN_IF_ERROR(RemoveFiles(records_folder, index_folder, steps, change->name));
  }
  change->stored = true;
  if (!change->has_file) return Status::Ok();
  RecordWriter writer(records_folder,
                      change->name + (change->lines ? kLinesExtension : kFramesExtension), scratch,
                      steps);
  DURLOG_ASSIGN_OR_RETURN(change->stored, writer.Open(change->size));
  if (!change->stored) return Status::Ok();
  std::vector<uint64_t> ends;
  ends.reserve(change->record_count);
  const auto write = change->lines ? &RecordWriter::WriteLines : &RecordWriter::WriteFrames;
  DURLOG_RETURN_IF_ERROR(
      (writer.*write)(change->size, records, change->record_count, &change->crc, &ends));
  DURLOG_RETURN_IF_ERROR(sync ? writer.Sync() : writer.StartWriteback(change->size));
  const size_t kept = change->index.size();
  change->index.resize(kept + ends.size() * kIndexEntryBytes);
  uint8_t* entry = change->index.data() + kept;
  for (size_t i = 0; i < ends.size(); ++i, entry += kIndexEntryBytes) {
    Store48(entry, ends[i]);
    Store48(entry + kIndexTimeAt, records[i].time_ms);
    Store48(entry + kIndexPositionAt, records[i].position);
  }
  if (!ends.empty()) change->size = ends.back();
  return WriteIndex(index_folder, sync, steps, change);
}

}  // namespace

void StoreStreams(Directory& records_folder, Directory& index_folder,
                  const std::vector<StreamRecord>& records, bool sync, StepLimit* steps,
                  std::vector<StreamChange>* changes) {
  AlignedBuffer scratch;
  for (StreamChange& change : *changes) {
    change.failure = StoreStream(records_folder, index_folder, records.data() + change.first_record,
                                 sync, &scratch, steps, &change);
    if (steps->stopped()) return;
  }
}

}  // namespace durlog
