#include "shared/shared_live.h"

#include <utility>

namespace durlog {

uint64_t SharedLive::Attach(FileSystem& file_system, Directory& directory, uint64_t lineage) {
  const uint64_t found = Lock(file_system, directory, lineage);
  if (found == 0) {
    static_cast<void>(directory.Remove(kLiveName));
  }
  return found;
}

uint64_t SharedLive::Lock(FileSystem& file_system, Directory& directory, uint64_t lineage) {
  Result<std::unique_ptr<File>> file = directory.Open(kLiveName, OpenMode::kReadWrite);
  if (!file.ok()) return 0;
  const Result<uint64_t> bytes = (*file)->Size();
  if (!bytes.ok() || *bytes != kLivePageBytes) return 0;
  Result<std::unique_ptr<Mapping>> mapping = (*file)->Map(0, kLivePageBytes);
  if (!mapping.ok() || !(*mapping)->Populate(0, kLivePageBytes).ok()) return 0;
  auto* const words = reinterpret_cast<LiveAtomic*>((*mapping)->data());
  const uint64_t found = words[kLiveLineageWord].load();
  // The file has been replaced by another page.
  if (lineage != 0 && found != lineage) return 0;
  // The session comes before the lock: see LivePageReader::ReadWords().
  if (lineage == 0) {
    words[kLiveSessionWord].store(file_system.Random64(), std::memory_order_seq_cst);
  }
  const Result<bool> locked = (*file)->TryLockRange(LockKind::kShared, 0, 0);
  if (!locked.ok() || !*locked) return 0;
  file_ = std::move(*file);
  mapping_ = std::move(*mapping);
  words_ = words;
  Ring();
  return found;
}

void SharedLive::Leave() {
  if (file_) static_cast<void>(file_->UnlockRange(0, 0));
  Ring();
}

void SharedLive::Raise(size_t word, uint64_t value) {
  if (words_ != nullptr) RaiseWord(words_[word], value);
}

}  // namespace durlog
