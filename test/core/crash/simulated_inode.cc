#include "simulated_inode.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"

namespace durlog::crash {

namespace {

SimulatedInode::Memory Shared(void* memory) {
  if (memory == nullptr) std::abort();
  return SimulatedInode::Memory(static_cast<uint8_t*>(memory), std::free);
}

SimulatedInode::Memory Zeros(uint64_t capacity_bytes) {
  return Shared(std::calloc(static_cast<size_t>(AlignUp(capacity_bytes, kBlockBytes)), 1));
}

}  // namespace

SimulatedInode::SimulatedInode(uint64_t capacity_bytes, std::shared_ptr<uint64_t> order)
    : SimulatedInode(capacity_bytes, std::move(order), Zeros(capacity_bytes)) {}

SimulatedInode::SimulatedInode(uint64_t capacity_bytes, std::shared_ptr<uint64_t> order,
                               Memory contents)
    : capacity_(AlignUp(capacity_bytes, kBlockBytes)),
      order_(std::move(order)),
      cache_(contents),
      seen_(contents),
      device_(std::move(contents)),
      dirty_(static_cast<size_t>(capacity_ / kSectorBytes)),
      lost_(dirty_.size()),
      blocks_(static_cast<size_t>(capacity_ / kBlockBytes)),
      populated_(blocks_.size()) {}

SimulatedInode::Memory SimulatedInode::CopyOf(const Memory& contents) const {
  Memory copy = Shared(std::malloc(static_cast<size_t>(capacity_)));
  std::memcpy(copy.get(), contents.get(), static_cast<size_t>(capacity_));
  return copy;
}

uint8_t* SimulatedInode::Own(Memory* contents) {
  if (contents->use_count() > 1) {
    if (contents == &cache_ && !mappings_.empty()) std::abort();
    *contents = CopyOf(*contents);
  }
  return contents->get();
}

size_t SimulatedInode::Read(uint64_t offset, void* to, size_t length) const {
  if (offset >= size_) return 0;
  const size_t read = static_cast<size_t>(std::min<uint64_t>(length, size_ - offset));
  std::memcpy(to, cache_.get() + offset, read);
  return read;
}

void SimulatedInode::Touch(uint64_t begin, uint64_t end) {
  for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
    dirty_[static_cast<size_t>(s)] = *order_ + 1;
    Loss& loss = lost_[static_cast<size_t>(s)];
    if (loss == Loss::kClean) loss = Loss::kNone;
  }
  std::memcpy(Own(&seen_) + begin, cache_.get() + begin, static_cast<size_t>(end - begin));
}

void SimulatedInode::Forget(uint64_t begin, uint64_t end) {
  for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
    dirty_[static_cast<size_t>(s)] = 0;
    lost_[static_cast<size_t>(s)] = Loss::kNone;
  }
}

void SimulatedInode::Write(uint64_t offset, const void* from, size_t length) {
  if (length == 0) return;
  Absorb();
  if (offset + length > size_) Resize(offset + length);
  std::memcpy(Own(&cache_) + offset, from, length);
  Touch(offset, offset + length);
}

void SimulatedInode::CutCache(uint64_t size) {
  Absorb();
  if (size < size_) {
    std::memset(Own(&cache_) + size, 0, static_cast<size_t>(size_ - size));
    std::memset(Own(&seen_) + size, 0, static_cast<size_t>(size_ - size));
    // A sector that the cut divides stays dirty.
    Forget(AlignUp(size, kSectorBytes), size_);
  }
  size_ = size;
}

void SimulatedInode::Resize(uint64_t size) {
  if (size == size_) return;
  const uint64_t tail_end = std::min(AlignUp(size, kBlockBytes), size_);
  CutCache(size);
  // The zeros after a cut are ordinary data: they may be written before the cut is.
  if (size < tail_end) Touch(size, tail_end);
  changes_.push_back(Change{Change::Kind::kResize, (*order_)++, size, 0, false});
}

void SimulatedInode::ZeroRange(uint64_t offset, uint64_t length) {
  Absorb();
  std::memset(Own(&cache_) + offset, 0, static_cast<size_t>(length));
  std::memset(Own(&seen_) + offset, 0, static_cast<size_t>(length));
  Forget(offset, offset + length);
  changes_.push_back(Change{Change::Kind::kZeroRange, (*order_)++, offset, offset + length, false});
}

void SimulatedInode::AddMapping(uint64_t offset, uint64_t length, uint32_t process) {
  // Its address must not change any more.
  Own(&cache_);
  mappings_.push_back(MappedRange{offset, offset + length, process});
}

void SimulatedInode::RemoveMapping(uint64_t offset, uint64_t length, uint32_t process) {
  Absorb();
  const auto found =
      std::find_if(mappings_.begin(), mappings_.end(), [&](const MappedRange& range) {
        return range.begin == offset && range.end == offset + length && range.process == process;
      });
  if (found != mappings_.end()) mappings_.erase(found);
}

void SimulatedInode::ForgetProcess(uint32_t process) {
  locks_.ReleaseAllOf(process);
  Absorb();
  mappings_.erase(
      std::remove_if(mappings_.begin(), mappings_.end(),
                     [process](const MappedRange& range) { return range.process == process; }),
      mappings_.end());
}

bool SimulatedInode::IsMapped(uint64_t begin, uint64_t end) const {
  return std::any_of(mappings_.begin(), mappings_.end(), [&](const MappedRange& range) {
    return range.begin < end && begin < range.end;
  });
}

void SimulatedInode::Populate(uint64_t begin, uint64_t end) {
  for (uint64_t b = begin / kBlockBytes; b * kBlockBytes < end; ++b) {
    populated_[static_cast<size_t>(b)] = true;
  }
}

bool SimulatedInode::IsPopulated(uint64_t begin, uint64_t end) const {
  for (uint64_t b = begin / kBlockBytes; b * kBlockBytes < end; ++b) {
    if (populated_[static_cast<size_t>(b)]) return true;
  }
  return false;
}

void SimulatedInode::Absorb() {
  for (const MappedRange& range : mappings_) {
    if (std::memcmp(cache_.get() + range.begin, seen_.get() + range.begin,
                    static_cast<size_t>(range.end - range.begin)) == 0) {
      continue;
    }
    for (uint64_t at = range.begin; at < range.end; at += kSectorBytes) {
      const uint64_t end = std::min(at + kSectorBytes, range.end);
      const size_t length = static_cast<size_t>(end - at);
      if (std::memcmp(cache_.get() + at, seen_.get() + at, length) != 0) Touch(at, end);
    }
  }
}

void SimulatedInode::Apply(const Change& change, uint8_t* device, uint64_t* device_size) {
  if (change.kind == Change::Kind::kZeroRange) {
    std::memset(device + change.begin, 0, static_cast<size_t>(change.end - change.begin));
    return;
  }
  if (change.begin < *device_size) {
    const uint64_t from = change.tail_lost ? AlignUp(change.begin, kBlockBytes) : change.begin;
    // To the end of the block, as a page goes to the device as a whole.
    const uint64_t until = AlignUp(*device_size, kBlockBytes);
    if (from < until) std::memset(device + from, 0, static_cast<size_t>(until - from));
  }
  *device_size = change.begin;
}

void SimulatedInode::CommitBefore(uint64_t order) {
  size_t done = 0;
  while (done < changes_.size() && changes_[done].order < order) ApplyToDevice(changes_[done++]);
  changes_.erase(changes_.begin(), changes_.begin() + static_cast<ptrdiff_t>(done));
}

void SimulatedInode::FlushSector(uint64_t sector) {
  const uint64_t needs = dirty_[static_cast<size_t>(sector)];
  if (needs == 0) return;
  CommitBefore(needs - 1);
  dirty_[static_cast<size_t>(sector)] = 0;
  if (lost_[static_cast<size_t>(sector)] == Loss::kStuck) return;
  const uint64_t at = sector * kSectorBytes;
  std::memcpy(Own(&device_) + at, cache_.get() + at, kSectorBytes);
}

void SimulatedInode::SyncRange(uint64_t begin, uint64_t end) {
  for (uint64_t b = begin / kBlockBytes; b < blocks_.size() && b * kBlockBytes < end; ++b) {
    populated_[static_cast<size_t>(b)] = false;
  }
  SyncSectors(AlignDown(begin, kBlockBytes), std::min(AlignUp(end, kBlockBytes), capacity_),
              [] { return true; });
}

void SimulatedInode::FailSync(uint64_t begin, uint64_t end, Random* random) {
  Absorb();
  begin = AlignDown(begin, kBlockBytes);
  end = std::min(AlignUp(end, kBlockBytes), capacity_);
  for (Change& change : changes_) {
    if (change.kind == Change::Kind::kResize && random->OneIn(2)) change.tail_lost = true;
  }
  const bool some = random->OneIn(2);
  const Loss loss = random->OneIn(2) ? Loss::kClean : Loss::kStuck;
  for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
    if (some && random->OneIn(2)) FlushSector(s);
    uint64_t& dirty = dirty_[static_cast<size_t>(s)];
    if (dirty == 0) continue;
    dirty = 0;
    lost_[static_cast<size_t>(s)] = loss;
  }
}

std::vector<uint8_t> SimulatedInode::DeviceAsRead() const {
  std::vector<uint8_t> device(device_.get(), device_.get() + capacity_);
  uint64_t device_size = device_size_;
  for (const Change& change : changes_) Apply(change, device.data(), &device_size);
  std::fill(device.begin() + static_cast<ptrdiff_t>(size_), device.end(), uint8_t{0});
  return device;
}

size_t SimulatedInode::ReadDevice(uint64_t offset, void* to, size_t length) {
  if (offset >= size_) return 0;
  const size_t read = static_cast<size_t>(std::min<uint64_t>(length, size_ - offset));
  // Commits every change, so the device is as readers see it.
  SyncSectors(AlignDown(offset, kBlockBytes),
              std::min(AlignUp(offset + read, kBlockBytes), capacity_), [] { return true; });
  std::memcpy(to, device_.get() + offset, read);
  return read;
}

void SimulatedInode::DropCache(uint64_t begin, uint64_t end) {
  if (!HasLostSectors()) return;
  Absorb();
  const std::vector<uint8_t> device = DeviceAsRead();
  end = std::min(AlignUp(end, kBlockBytes), capacity_);
  for (uint64_t s = AlignDown(begin, kBlockBytes) / kSectorBytes; s * kSectorBytes < end; ++s) {
    Loss& loss = lost_[static_cast<size_t>(s)];
    if (loss == Loss::kNone || dirty_[static_cast<size_t>(s)] != 0) continue;
    loss = Loss::kNone;
    const uint64_t at = s * kSectorBytes;
    std::memcpy(Own(&cache_) + at, device.data() + at, kSectorBytes);
    std::memcpy(Own(&seen_) + at, device.data() + at, kSectorBytes);
  }
}

uint64_t SimulatedInode::DirtyBytes(uint64_t begin, uint64_t end) {
  Absorb();
  uint64_t bytes = 0;
  for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < std::min(end, capacity_); ++s) {
    if (dirty_[static_cast<size_t>(s)] != 0) bytes += kSectorBytes;
  }
  return bytes;
}

bool SimulatedInode::HasLostSectors() const {
  return std::any_of(lost_.begin(), lost_.end(), [](Loss loss) { return loss != Loss::kNone; });
}

void SimulatedInode::WriteBackSome(uint64_t begin, uint64_t end, Random* random) {
  Absorb();
  if (random->OneIn(4)) CommitBefore(*order_ - random->Below(std::min<uint64_t>(*order_, 4) + 1));
  const uint64_t share = random->Between(1, 4);
  for (uint64_t s = begin / kSectorBytes; s * kSectorBytes < end; ++s) {
    if (dirty_[static_cast<size_t>(s)] != 0 && random->Below(4) < share) FlushSector(s);
  }
}

namespace {

bool Survives(Survival survival, Random* random) {
  switch (survival) {
    case Survival::kNothing: return false;
    case Survival::kSome: return random->OneIn(2);
    case Survival::kMost: return !random->OneIn(8);
    case Survival::kEverything: return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<SimulatedInode> SimulatedInode::AfterPowerCut(Random* random, Survival survival,
                                                              uint64_t journal_end,
                                                              std::shared_ptr<uint64_t> order) {
  Absorb();
  const Memory device = CopyOf(device_);
  uint64_t device_size = device_size_;
  uint64_t first_lost_change = UINT64_MAX;
  for (const Change& change : changes_) {
    if (change.order >= journal_end) {
      first_lost_change = change.order;
      break;
    }
    Apply(change, device.get(), &device_size);
  }
  for (size_t s = 0; s < dirty_.size(); ++s) {
    if (dirty_[s] == 0 || dirty_[s] - 1 > first_lost_change) continue;
    if (!Survives(survival, random)) continue;
    const uint64_t at = s * kSectorBytes;
    uint64_t from = 0;
    uint64_t to = kSectorBytes;
    // A mapped page may be written back while it is being stored to: then a sector is half new.
    if (!mappings_.empty() && random->OneIn(16)) {
      from = random->Below(kSectorBytes / 8) * 8;
      to = from + random->Below((kSectorBytes - from) / 8 + 1) * 8;
    }
    std::memcpy(device.get() + at + from, cache_.get() + at + from, static_cast<size_t>(to - from));
  }
  if (device_size < capacity_) {
    std::memset(device.get() + device_size, 0, static_cast<size_t>(capacity_ - device_size));
  }
  auto copy = std::make_shared<SimulatedInode>(capacity_, std::move(order), device);
  copy->size_ = copy->device_size_ = device_size;
  copy->blocks_ = blocks_;
  return copy;
}

// The process died in the middle of a store into the map: only part of the stores since the last
// Absorb() happened. The order is the core's: payload, header, first word.
void SimulatedInode::RevertStore(Random* random) {
  uint64_t first = capacity_;
  uint64_t last = 0;
  for (const MappedRange& range : mappings_) {
    for (uint64_t at = range.begin; at < range.end; at += 8) {
      if (std::memcmp(cache_.get() + at, seen_.get() + at, 8) == 0) continue;
      first = std::min(first, at);
      last = std::max(last, at + 8);
    }
  }
  if (first >= last) return;
  const auto revert = [&](uint64_t begin, uint64_t end) {
    if (begin < end) {
      std::memcpy(Own(&cache_) + begin, seen_.get() + begin, static_cast<size_t>(end - begin));
    }
  };
  constexpr uint64_t kFrameHead = 24;
  const uint64_t body = std::min(first + kFrameHead, last);
  if (random->OneIn(2)) {
    revert(first, std::min(first + 4, last));
  } else {
    revert(first, body);
    revert(body + random->Below(last - body + 1), last);
  }
}

std::shared_ptr<SimulatedInode> SimulatedInode::AfterKill(Random* random,
                                                          std::shared_ptr<uint64_t> order) {
  auto copy = std::make_shared<SimulatedInode>(capacity_, std::move(order), device_);
  copy->seen_ = seen_;
  copy->cache_ = random == nullptr ? cache_ : CopyOf(cache_);
  copy->size_ = size_;
  copy->device_size_ = device_size_;
  copy->dirty_ = dirty_;
  copy->lost_ = lost_;
  copy->changes_ = changes_;
  copy->blocks_ = blocks_;
  copy->mappings_ = mappings_;
  if (random != nullptr) copy->RevertStore(random);
  copy->Absorb();
  copy->mappings_.clear();
  return copy;
}

bool SimulatedInode::AllocateBlocks(uint64_t begin, uint64_t end, BlockPool* pool,
                                    uint64_t* fits_until) {
  for (uint64_t b = begin / kBlockBytes; b * kBlockBytes < end; ++b) {
    if (blocks_[static_cast<size_t>(b)]) continue;
    if (pool->free() == 0) {
      *fits_until = std::max(begin, b * kBlockBytes);
      return false;
    }
    ++pool->used;
    blocks_[static_cast<size_t>(b)] = true;
  }
  *fits_until = end;
  return true;
}

bool SimulatedInode::IsAllocated(uint64_t begin, uint64_t end) const {
  for (uint64_t b = begin / kBlockBytes; b * kBlockBytes < end; ++b) {
    if (!blocks_[static_cast<size_t>(b)]) return false;
  }
  return true;
}

uint64_t SimulatedInode::CountBlocks() const {
  return static_cast<uint64_t>(std::count(blocks_.begin(), blocks_.end(), true));
}

void SimulatedInode::FreeBlocksFrom(uint64_t offset, BlockPool* pool) {
  for (uint64_t b = AlignUp(offset, kBlockBytes) / kBlockBytes; b < blocks_.size(); ++b) {
    if (!blocks_[static_cast<size_t>(b)]) continue;
    blocks_[static_cast<size_t>(b)] = false;
    --pool->used;
  }
}

}  // namespace durlog::crash
