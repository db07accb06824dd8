// Growable memory, aligned as direct I/O requires.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/huge_pages.h"

namespace durlog {

class AlignedBuffer {
 public:
  // The alignment of the address. No device that is written to directly has larger blocks.
  static constexpr size_t kAlignment = 64 << 10;

  // For tests: if set, called before each allocation, which fails if it returns true.
  using Refusal = bool (*)(size_t bytes);
  static inline std::atomic<Refusal> refusal_for_tests{nullptr};

  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  uint8_t* data() { return memory_.get(); }
  const uint8_t* data() const { return memory_.get(); }
  size_t capacity() const { return capacity_; }

  // Makes room for `needed` bytes and keeps the first `used`. Grows to at least double, so that
  // appending costs amortised constant time. False if there is no memory; nothing has changed then.
  [[nodiscard]] bool Reserve(size_t needed, size_t used) {
    if (needed <= capacity_) return true;
    size_t grown = capacity_ == 0 ? kInitialBytes : capacity_ * 2;
    if (grown < needed) grown = needed;
    const bool huge = grown >= kMinHugeBytes;
    const size_t granularity = huge ? kHugePageBytes : kGranularity;
    grown = (grown + granularity - 1) & ~(granularity - 1);
    const Refusal refusal = refusal_for_tests.load(std::memory_order_relaxed);
    if (refusal != nullptr && refusal(grown)) return false;
    const auto alignment = static_cast<std::align_val_t>(huge ? kHugePageBytes : kAlignment);
    Memory memory(static_cast<uint8_t*>(::operator new(grown, alignment, std::nothrow)),
                  Free{alignment});
    if (!memory) return false;
    // The first copy into 4 KiB pages costs more for their faults than for its bytes. A direct
    // write of 1 MiB from them takes 80 us longer.
    if (huge) PreferHugePages(memory.get(), grown);
    if (used > 0) std::memcpy(memory.get(), memory_.get(), used);
    memory_ = std::move(memory);
    capacity_ = grown;
    return true;
  }

 private:
  static constexpr size_t kInitialBytes = 64 << 10;
  static constexpr size_t kGranularity = 4096;
  static constexpr size_t kHugePageBytes = 2 << 20;
  static constexpr size_t kMinHugeBytes = kHugePageBytes / 2;
  struct Free {
    Free() : alignment(static_cast<std::align_val_t>(kAlignment)) {}
    explicit Free(std::align_val_t given) : alignment(given) {}
    void operator()(uint8_t* memory) const { ::operator delete(memory, alignment); }
    std::align_val_t alignment;
  };
  using Memory = std::unique_ptr<uint8_t, Free>;
  Memory memory_;
  size_t capacity_ = 0;
};

}  // namespace durlog
