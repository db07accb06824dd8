#include "bench/mapped_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "bench/record_pattern.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace durlog::bench {

namespace {

constexpr uint64_t kPopulateStepBytes = 1u << 20;
constexpr uint64_t kPopulateAheadBytes = 16u << 20;
constexpr long kIdleNanos = 20000;

void Nap() {
  const timespec nap{0, kIdleNanos};
  nanosleep(&nap, nullptr);
}

}  // namespace

void Populator::Start(uint8_t* base, uint64_t bytes) {
  base_ = base;
  bytes_ = bytes;
  wanted_ = 0;
  populated_ = 0;
  error_ = 0;
  stop_ = false;
  thread_ = std::thread([this] { Work(); });
}

void Populator::Stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

int Populator::WaitFor(uint64_t end) {
  while (populated_.load(std::memory_order_acquire) < end) {
    const int error = error_.load(std::memory_order_relaxed);
    if (error != 0) return error;
    std::this_thread::yield();
  }
  return 0;
}

void Populator::Work() {
  while (!stop_.load(std::memory_order_relaxed)) {
    const uint64_t done = populated_.load(std::memory_order_relaxed);
    const uint64_t wanted = wanted_.load(std::memory_order_relaxed);
    if (done >= bytes_ || done >= wanted + kPopulateAheadBytes) {
      Nap();
      continue;
    }
    const uint64_t step = std::min(kPopulateStepBytes, bytes_ - done);
    if (madvise(base_ + done, step, MADV_POPULATE_WRITE) != 0) {
      error_.store(errno, std::memory_order_relaxed);
      return;
    }
    populated_.store(done + step, std::memory_order_release);
  }
}

template <MapSync kSync, bool kPopulate>
MappedWriter<kSync, kPopulate>::~MappedWriter() {
  populator_.Stop();
  if (map_ != nullptr) munmap(map_, spec_.file_bytes);
}

template <MapSync kSync, bool kPopulate>
Status MappedWriter<kSync, kPopulate>::Open() {
  DURLOG_ASSIGN_OR_RETURN(file_, OpenFile(spec_.path, O_RDWR));
  void* map = mmap(nullptr, spec_.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (map == MAP_FAILED) return Status::System("mmap", errno, spec_.path);
  map_ = static_cast<uint8_t*>(map);
  offset_ = 0;
  synced_ = 0;
  if (kPopulate) populator_.Start(map_, spec_.file_bytes);
  return Status::Ok();
}

template <MapSync kSync, bool kPopulate>
uint64_t MappedWriter<kSync, kPopulate>::Reserve() {
  if (!spec_.shared) return offset_;
  auto* cursor = reinterpret_cast<std::atomic<uint64_t>*>(map_);
  return kSharedHeaderBytes + cursor->fetch_add(spec_.record_bytes, std::memory_order_relaxed);
}

template <MapSync kSync, bool kPopulate>
int MappedWriter<kSync, kPopulate>::Append(const uint8_t* record) {
  const uint64_t offset = Reserve();
  const uint64_t end = offset + spec_.record_bytes;
  if (end > spec_.file_bytes) return ENOSPC;
  if (kPopulate) {
    const int error = populator_.Reach(end);
    if (error != 0) return error;
  }
  std::memcpy(map_ + offset, record, spec_.record_bytes);
  offset_ = end;
  return 0;
}

template <MapSync kSync, bool kPopulate>
int MappedWriter<kSync, kPopulate>::Sync() {
  if (kSync == MapSync::kNone) return 0;
  const uint64_t from = AlignDown(synced_, kBlockBytes);
  const int flags = kSync == MapSync::kSync ? MS_SYNC : MS_ASYNC;
  synced_ = offset_;
  return msync(map_ + from, offset_ - from, flags) == 0 ? 0 : errno;
}

template <MapSync kSync, bool kPopulate>
Status MappedWriter<kSync, kPopulate>::Close() {
  populator_.Stop();
  if (map_ != nullptr && munmap(map_, spec_.file_bytes) != 0) {
    return Status::System("munmap", errno, spec_.path);
  }
  map_ = nullptr;
  return CloseFile(&file_, spec_.path);
}

template class MappedWriter<MapSync::kNone, false>;
template class MappedWriter<MapSync::kNone, true>;
template class MappedWriter<MapSync::kAsync, false>;
template class MappedWriter<MapSync::kSync, false>;

}  // namespace durlog::bench
