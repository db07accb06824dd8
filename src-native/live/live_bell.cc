#include "live/live_bell.h"

#include <utility>

namespace durlog {

std::unique_ptr<LiveBell> LiveBell::Open(Directory& directory, const FileId& page) {
  Result<std::unique_ptr<File>> file = directory.Open(kLiveName, OpenMode::kReadWrite);
  if (!file.ok()) return nullptr;
  const Result<FileId> id = (*file)->Id();
  const Result<uint64_t> bytes = (*file)->Size();
  if (!id.ok() || !(*id == page) || !bytes.ok() || *bytes != kLivePageBytes) return nullptr;
  Result<std::unique_ptr<Mapping>> mapping = (*file)->Map(0, kLivePageBytes);
  if (!mapping.ok()) return nullptr;
  return std::unique_ptr<LiveBell>(new LiveBell(std::move(*mapping)));
}

uint32_t LiveBell::Prepare() {
  const uint32_t count = CountOf(*mapping_).load(std::memory_order_seq_cst);
  WaitingOf(*mapping_).exchange(1, std::memory_order_acq_rel);
  return count;
}

bool LiveBell::Wait(uint32_t count, uint64_t micros) {
  if (mapping_->faulted()) return false;
  return mapping_->WaitOn(kLiveBellWord * sizeof(uint64_t), count, micros);
}

// The waiting word is cleared before the count grows: a reader that sets the word after that waits
// on the newer count, or finds the new end.
void LiveBell::RingOn(Mapping& mapping) {
  WaitingOf(mapping).store(0, std::memory_order_seq_cst);
  CountOf(mapping).fetch_add(1, std::memory_order_seq_cst);
  mapping.WakeOn(kLiveBellWord * sizeof(uint64_t));
}

}  // namespace durlog
