#include "live/live_page_writer.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/yield.h"

namespace durlog {
namespace {

// On systems that can only test a lock by taking it, a reader's test may make an attempt fail.
constexpr int kLockAttempts = 1000;

// Makes the file no page, for the readers that have mapped it too.
void EraseMagic(Directory& directory) {
  const Result<std::unique_ptr<File>> page = directory.Open(kLiveName, OpenMode::kReadWrite);
  if (!page.ok()) return;
  const uint64_t none = 0;
  static_cast<void>((*page)->WriteAt(kLiveMagicWord * sizeof none, &none, sizeof none));
}

}  // namespace

void LivePageWriter::Attach(FileSystem& file_system, Directory& directory,
                            const Capabilities& capabilities, const LogUuid& uuid) {
  directory_ = &directory;
  if (!capabilities.shares_maps) return GiveUp();
  Result<std::unique_ptr<File>> found = directory.Open(kLiveName, OpenMode::kReadWrite);
  if (found.ok()) {
    file_ = std::move(*found);
    if (MapPage(*file_, uuid)) return;
  }
  if (MakePage(file_system, directory, uuid)) return;
  mapping_.reset();
  file_.reset();
  words_ = nowhere_.data();
  GiveUp();
}

// Takes over the page of an earlier writer: readers that still use it have to learn of its cuts.
bool LivePageWriter::MapPage(File& file, const LogUuid& uuid) {
  const Result<uint64_t> bytes = file.Size();
  if (!bytes.ok() || *bytes != kLivePageBytes) return false;
  Result<std::unique_ptr<Mapping>> mapping = file.Map(0, kLivePageBytes);
  if (!mapping.ok() || !(*mapping)->Populate(0, kLivePageBytes).ok()) return false;
  mapping_ = std::move(*mapping);
  words_ = reinterpret_cast<LiveAtomic*>(mapping_->data());
  return Load(kLiveMagicWord) == kLiveMagic && Load(kLiveVersionWord) == kLiveVersion &&
         Load(kLiveUuidWord) == Load64(uuid.data()) &&
         Load(kLiveUuidWord + 1) == Load64(uuid.data() + 8) && !mapping_->faulted();
}

// Creates a new file instead of clearing the old one, so that readers can distinguish the two.
bool LivePageWriter::MakePage(FileSystem& file_system, Directory& directory, const LogUuid& uuid) {
  mapping_.reset();
  Status removed = directory.Remove(kLiveName);
  if (!removed.ok() && removed.code() != Code::kNotFound) return false;
  Result<std::unique_ptr<File>> made = directory.Open(kLiveName, OpenMode::kCreateNew);
  if (!made.ok()) return false;
  file_ = std::move(*made);
  // All bytes are written, so that every store has an allocated block.
  std::array<uint64_t, kLiveWords> image{};
  image[kLiveMagicWord] = kLiveMagic;
  image[kLiveVersionWord] = kLiveVersion;
  image[kLiveUuidWord] = Load64(uuid.data());
  image[kLiveUuidWord + 1] = Load64(uuid.data() + 8);
  image[kLiveLineageWord] = file_system.Random64();
  image[kLiveOldestCutsWord] = kNoCut;
  return file_->WriteAt(0, image.data(), kLivePageBytes).ok() && MapPage(*file_, uuid);
}

void LivePageWriter::BeginRecovery(uint64_t next_seq, bool cuts) {
  if (cuts || LiveMemoryEnd(words_) > next_seq) Cut(next_seq);
}

void LivePageWriter::Announce(FileSystem& file_system) {
  if (!mapping_) return;
  words_[kLiveSessionWord].store(file_system.Random64(), std::memory_order_seq_cst);
  for (int attempt = 0; attempt < kLockAttempts && !lock_; ++attempt) {
    Result<std::unique_ptr<FileLock>> lock = file_->TryLock();
    if (!lock.ok()) break;
    lock_ = std::move(*lock);
    if (!lock_) YieldThread();
  }
  if (!lock_) GiveUp();
  Ring();
  CheckStores();
}

// The name is removed before the lock is released: a reader that has found the words valid keeps
// using them while `live` is this file. Windows removes no file that a process has mapped.
void LivePageWriter::GiveUp() {
  if (directory_ == nullptr) return;
  if (!directory_->Remove(kLiveName).ok()) EraseMagic(*directory_);
  directory_ = nullptr;
  lock_.reset();
  Ring();
}

void LivePageWriter::LowerTo(size_t word, uint64_t limit) {
  words_[word].store(std::min(Load(word), limit), std::memory_order_release);
}

// Stores the ends before the generation, so that a reader that sees the new generation sees no
// older end.
void LivePageWriter::Cut(uint64_t next_seq) {
  LowerTo(kLiveMemoryEndWord, next_seq);
  for (uint32_t i = 0; i < kLiveMemberEnds; ++i) LowerTo(MemberEndWord(i), next_seq);
  LowerTo(kLiveSyncedEndWord, next_seq);
  const uint64_t generation = Load(kLiveGenerationWord) + 1;
  const size_t slot = kLiveRingWord + static_cast<size_t>(generation % kLiveRingCuts);
  if (generation > kLiveRingCuts) LowerTo(kLiveOldestCutsWord, Load(slot));
  words_[slot].store(next_seq, std::memory_order_release);
  words_[kLiveGenerationWord].store(generation, std::memory_order_seq_cst);
  Ring();
  CheckStores();
}

void LivePageWriter::StoreEnds(uint64_t first_seq, uint64_t memory_end, uint64_t synced_end) {
  StoreFirstSeq(first_seq);
  StoreMemoryEnd(memory_end);
  words_[kLiveSyncedEndWord].store(synced_end, std::memory_order_release);
  Ring();
  CheckStores();
}

}  // namespace durlog
