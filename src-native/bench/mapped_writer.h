// Stores into a shared map: with page faults, with pages populated ahead, or followed by msync.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "bench/baseline.h"
#include "bench/scratch_file.h"

namespace durlog::bench {

enum class MapSync { kNone, kAsync, kSync };

// Makes pages of a map present and writable on a separate thread, some way ahead of the
// append point (MADV_POPULATE_WRITE, Linux 5.14).
class Populator {
 public:
  ~Populator() { Stop(); }
  void Start(uint8_t* base, uint64_t bytes);
  void Stop();
  // Publishes the append point, and waits until `end` is populated. 0 or errno.
  int Reach(uint64_t end) {
    wanted_.store(end, std::memory_order_relaxed);
    if (end <= populated_.load(std::memory_order_acquire)) return 0;
    return WaitFor(end);
  }

 private:
  int WaitFor(uint64_t end);
  void Work();

  uint8_t* base_ = nullptr;
  uint64_t bytes_ = 0;
  std::thread thread_;
  std::atomic<uint64_t> wanted_{0};
  std::atomic<uint64_t> populated_{0};
  std::atomic<int> error_{0};
  std::atomic<bool> stop_{false};
};

// With spec.shared, the file's first page contains the append point, and each process reserves a
// place with one fetch_add. Otherwise, the records start at offset 0.
template <MapSync kSync, bool kPopulate>
class MappedWriter {
 public:
  explicit MappedWriter(const Spec& spec) : spec_(spec) {}
  MappedWriter(const MappedWriter&) = delete;
  MappedWriter& operator=(const MappedWriter&) = delete;
  ~MappedWriter();

  Status Open();
  bool HasRoom(uint64_t records) const {
    return offset_ + records * spec_.record_bytes <= spec_.file_bytes;
  }
  int Append(const uint8_t* record);
  int Sync();
  Status Close();

 private:
  uint64_t Reserve();

  const Spec spec_;
  ScopedFd file_;
  Populator populator_;
  uint8_t* map_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t synced_ = 0;
};

}  // namespace durlog::bench
