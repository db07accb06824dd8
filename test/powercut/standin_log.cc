#include "standin_log.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace powercut {
namespace {

constexpr uint64_t kSlotBytes = sizeof(StandinRecord);

uint64_t Checksum(const StandinRecord& record) {
  // FNV-1a over everything but itself.
  uint64_t hash = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&record);
  for (size_t i = sizeof(record.checksum); i < sizeof(record); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

void WriteAt(const UniqueFd& file, const void* bytes, size_t length, uint64_t offset) {
  const ssize_t n = pwrite(file.get(), bytes, length, static_cast<off_t>(offset));
  if (n < 0) ThrowErrno("pwrite");
  if (static_cast<size_t>(n) != length) throw std::runtime_error("short write");
}

}  // namespace

StandinRecord MakeRecord(uint64_t seq, uint64_t generation) {
  StandinRecord record = {};
  record.seq = seq;
  record.generation = generation;
  for (size_t i = 0; i < sizeof(record.payload); ++i) {
    record.payload[i] = static_cast<uint8_t>((seq + 1) * 31 + generation * 7 + i);
  }
  record.checksum = Checksum(record);
  return record;
}

bool IsWhole(const StandinRecord& record, uint64_t seq) {
  const StandinRecord expected = MakeRecord(seq, record.generation);
  return std::memcmp(&record, &expected, sizeof(record)) == 0;
}

StandinLog::StandinLog(std::string directory, Break broken)
    : directory_(std::move(directory)), broken_(broken) {}

std::string StandinLog::PathOf(uint64_t first_seq) const {
  char name[32];
  std::snprintf(name, sizeof(name), "/%08llu.seg", static_cast<unsigned long long>(first_seq));
  return directory_ + name;
}

std::vector<uint64_t> StandinLog::Segments() const {
  std::vector<uint64_t> first_seqs;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    if (entry.path().extension() == ".seg") {
      first_seqs.push_back(std::stoull(entry.path().stem().string()));
    }
  }
  std::sort(first_seqs.begin(), first_seqs.end());
  return first_seqs;
}

std::vector<StandinRecord> StandinLog::ReadSegment(uint64_t first_seq) const {
  const UniqueFd file = Open(PathOf(first_seq), O_RDONLY);
  std::vector<StandinRecord> records(kSlotsPerSegment);
  const ssize_t n = pread(file.get(), records.data(), kSlotsPerSegment * kSlotBytes, 0);
  if (n < 0) ThrowErrno("pread of " + PathOf(first_seq));
  records.resize(static_cast<size_t>(n) / kSlotBytes);
  return records;
}

// Zero-filled and synced before it takes a record, so that a sync of records has no metadata of the
// file left to write: then nothing but the folder's own sync makes the rename durable.
void StandinLog::MakeSpare() {
  const UniqueFd file = Open(directory_ + "/spare", O_RDWR | O_CREAT | O_TRUNC);
  const std::vector<uint8_t> zeros(kSlotsPerSegment * kSlotBytes);
  WriteAt(file, zeros.data(), zeros.size(), 0);
  if (fsync(file.get()) != 0) ThrowErrno("fsync");
}

void StandinLog::Roll(uint64_t first_seq) {
  const std::string spare = directory_ + "/spare";
  if (access(spare.c_str(), F_OK) != 0) MakeSpare();
  if (rename(spare.c_str(), PathOf(first_seq).c_str()) != 0) ThrowErrno("rename");
  Continue(first_seq);
  SyncDirectory();
}

void StandinLog::Continue(uint64_t first_seq) {
  file_ = Open(PathOf(first_seq), O_RDWR);
  first_seq_ = first_seq;
}

void StandinLog::Append(const StandinRecord& record) {
  WriteAt(file_, &record, kSlotBytes, (record.seq - first_seq_) * kSlotBytes);
}

void StandinLog::StartWriteback() {
  if (sync_file_range(file_.get(), 0, 0, SYNC_FILE_RANGE_WRITE) != 0) {
    ThrowErrno("sync_file_range");
  }
}

void StandinLog::Sync() {
  if (fdatasync(file_.get()) != 0) ThrowErrno("fdatasync");
}

void StandinLog::Remove(uint64_t first_seq) {
  if (unlink(PathOf(first_seq).c_str()) != 0) ThrowErrno("unlink");
}

void StandinLog::SyncDirectory() {
  if (broken_ == Break::kNoDirectorySync) return;
  const UniqueFd directory = Open(directory_, O_RDONLY | O_DIRECTORY);
  if (fsync(directory.get()) != 0) ThrowErrno("fsync of the folder");
}

void StandinLog::Invalidate(uint64_t seq) {
  if (broken_ == Break::kNoInvalidation) return;
  const uint64_t slot = seq - first_seq_;
  const std::vector<uint8_t> zeros((kSlotsPerSegment - slot) * kSlotBytes);
  WriteAt(file_, zeros.data(), zeros.size(), slot * kSlotBytes);
}

void WriteNote(const std::string& line) {
  static const UniqueFd notes = Open(std::getenv("POWERCUT_NOTES"), O_WRONLY | O_APPEND);
  const std::string text = line + "\n";
  if (write(notes.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ThrowErrno("writing a note");
  }
}

}  // namespace powercut
