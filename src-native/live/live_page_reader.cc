#include "live/live_page_reader.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace durlog {
namespace {

// A read of the page is repeated if a writer opened the log during it.
constexpr int kLookAttempts = 8;

}  // namespace

Result<std::unique_ptr<LivePageReader>> LivePageReader::Open(FileSystem& file_system,
                                                             const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  return std::unique_ptr<LivePageReader>(new LivePageReader(std::move(directory)));
}

bool LivePageReader::Map() {
  Result<std::unique_ptr<File>> file = directory_->Open(kLiveName, OpenMode::kRead);
  if (!file.ok()) return false;
  const Result<uint64_t> bytes = (*file)->Size();
  if (!bytes.ok() || *bytes != kLivePageBytes) return false;
  Result<std::unique_ptr<Mapping>> mapping = (*file)->MapForReading(0, kLivePageBytes);
  if (!mapping.ok()) return false;
  words_ = reinterpret_cast<const LiveAtomic*>((*mapping)->data());
  // A page that is still being created has no magic yet.
  if (Load(kLiveMagicWord) != kLiveMagic || Load(kLiveVersionWord) != kLiveVersion) return false;
  const Result<FileId> id = (*file)->Id();
  page_ = id.ok() ? std::optional<FileId>(*id) : std::nullopt;
  file_ = std::move(*file);
  mapping_ = std::move(*mapping);
  is_valid_ = false;
  return true;
}

// The lock of the writers. Systems without locks of ranges have no shared mode, so it is exclusive.
Result<std::optional<LockKind>> LivePageReader::WritersLock() {
  Result<std::optional<LockKind>> kind = file_->RangeLockOfOthers(0, 0);
  if (kind.status().code() != Code::kUnsupported) return kind;
  DURLOG_ASSIGN_OR_RETURN(const bool locked, file_->IsLocked());
  return locked ? std::optional<LockKind>(LockKind::kExclusive) : std::nullopt;
}

// Whether the next writer would find this page.
bool LivePageReader::IsNamed() {
  const Result<std::unique_ptr<File>> named = directory_->Open(kLiveName, OpenMode::kRead);
  if (!named.ok()) return named.status().lacks_resources();
  const Result<FileId> there = (*named)->Id();
  const Result<FileId> ours = file_->Id();
  return !there.ok() || !ours.ok() || *there == *ours;
}

std::optional<LiveView> LivePageReader::Look() {
  unlocked_session_ = 0;
  for (int attempt = 0; attempt < kLookAttempts; ++attempt) {
    if (!mapping_ && !Map()) break;
    LiveView view;
    const Held held = ReadWords(&view);
    // Some members may use another page: one that joins after the file was removed does not store
    // into it. This is checked only if memory_end has not changed, so that reading new records has
    // no additional cost.
    const bool has_news = std::exchange(last_memory_end_, view.memory_end) != view.memory_end;
    const bool may_be_left = held == Held::kNo || (!has_news && is_shared_);
    const bool is_page = !mapping_->faulted() && Load(kLiveMagicWord) == kLiveMagic;
    if (!is_page || (may_be_left && !IsNamed())) {
      mapping_.reset();
      file_.reset();
      page_.reset();
      is_valid_ = false;
      unlocked_session_ = 0;
      continue;
    }
    if (held == Held::kUnclear) continue;
    looked_ = true;
    if (held == Held::kYes || (page_ && page_ == trusted_)) is_valid_ = true;
    if (!is_valid_) return std::nullopt;
    return view;
  }
  looked_ = true;
  return std::nullopt;
}

uint64_t LivePageReader::TakeCut() { return std::exchange(cut_, kNoCut); }

// A writer stores its session as the last step before it takes the lock. So if the lock is held and
// the session is the same before and after the read, the words are that writer's.
LivePageReader::Held LivePageReader::ReadWords(LiveView* view) {
  const uint64_t session = Load(kLiveSessionWord);
  const bool same_page = looked_ && Load(kLiveLineageWord) == lineage_;
  uint64_t generation = 0;
  uint64_t lowest = kNoCut;
  // A cut lowers the ends before it raises the generation. If the generation is the same before and
  // after, the ends belong to it.
  do {
    generation = Load(kLiveGenerationWord);
    lowest = LowestCutSince(same_page ? generation_ : 0, generation);
    view->first_seq = Load(kLiveFirstSeqWord);
    view->memory_end = LiveMemoryEnd(words_);
    view->synced_end = std::min(Load(kLiveSyncedEndWord), view->memory_end);
  } while (Load(kLiveGenerationWord) != generation);
  view->commits = Load(kLiveCommitsWord);
  view->commit_micros = Load(kLiveCommitMicrosWord);
  Store64(view->uuid.data(), Load(kLiveUuidWord));
  Store64(view->uuid.data() + 8, Load(kLiveUuidWord + 1));
  const Result<std::optional<LockKind>> lock = WritersLock();
  const bool held = lock.ok() && lock->has_value();
  is_shared_ = held && **lock == LockKind::kShared;
  if (mapping_->faulted()) return Held::kNo;
  unlocked_session_ = lock.ok() && !held ? session : 0;
  if (held && Load(kLiveSessionWord) != session) return Held::kUnclear;
  const bool other_log = lineage_ != 0 && view->uuid != uuid_;
  const bool went_back = same_page && generation < generation_;  // an older copy put in its place
  if (looked_) cut_ = std::min(cut_, other_log || went_back ? 0 : lowest);
  uuid_ = view->uuid;
  lineage_ = Load(kLiveLineageWord);
  generation_ = generation;
  return held ? Held::kYes : Held::kNo;
}

// A slot that is being reused contains a newer cut. The older cut was noted in the word of the
// oldest cuts before the slot was reused, so this word is read last.
uint64_t LivePageReader::LowestCutSince(uint64_t since, uint64_t generation) const {
  uint64_t lowest = kNoCut;
  const uint64_t held = std::min(generation, kLiveRingCuts - 1);
  const uint64_t begin = std::max(since, generation - held);
  // Counts down, because a damaged page can hold the greatest generation.
  for (uint64_t cut = generation; cut > begin; --cut) {
    lowest = std::min(lowest, Load(kLiveRingWord + static_cast<size_t>(cut % kLiveRingCuts)));
  }
  if (since >= begin) return lowest;
  const size_t oldest = kLiveRingWord + static_cast<size_t>(begin % kLiveRingCuts);
  lowest = std::min(lowest, Load(oldest));
  return std::min(lowest, Load(kLiveOldestCutsWord));
}

}  // namespace durlog
