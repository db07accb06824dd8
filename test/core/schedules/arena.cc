#include "arena.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace durlog::schedules {
namespace {

constexpr size_t kArenaBytes = 64 << 20;
constexpr size_t kAlignment = 16;

uint8_t arena[kArenaBytes];
size_t used = 0;
uint8_t* kept = nullptr;
size_t kept_bytes = 0;
AllocatesIn::Where where_now = AllocatesIn::kOutside;

size_t RoundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void* Allocate(size_t bytes, size_t alignment = kAlignment) {
  if (where_now == AllocatesIn::kOutside) {
    void* const at = std::aligned_alloc(alignment, RoundUp(bytes == 0 ? 1 : bytes, alignment));
    if (at == nullptr) std::abort();
    return at;
  }
  const auto base = reinterpret_cast<uintptr_t>(arena);
  const size_t begin = RoundUp(base + used, alignment) - base;
  if (begin > kArenaBytes || bytes > kArenaBytes - begin) {
    std::fputs("a run needs more memory than its arena has\n", stderr);
    std::abort();
  }
  used = begin + bytes;
  return arena + begin;
}

void* Allocate(size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<size_t>(alignment));
}

void Free(void* at) {
  const auto place = reinterpret_cast<uintptr_t>(at);
  const auto begin = reinterpret_cast<uintptr_t>(arena);
  if (place < begin || place >= begin + kArenaBytes) std::free(at);
}

}  // namespace

void Arena::Clear() { used = 0; }

void Arena::Keep() {
  std::free(kept);
  kept = static_cast<uint8_t*>(std::malloc(used == 0 ? 1 : used));
  if (kept == nullptr) std::abort();
  kept_bytes = used;
  std::memcpy(kept, arena, used);
}

void Arena::Restore() {
  used = kept_bytes;
  std::memcpy(arena, kept, used);
}

AllocatesIn::AllocatesIn(Where where) : before_(where_now) { where_now = where; }
AllocatesIn::~AllocatesIn() { where_now = before_; }

}  // namespace durlog::schedules

void* operator new(std::size_t bytes) { return durlog::schedules::Allocate(bytes); }
void* operator new[](std::size_t bytes) { return durlog::schedules::Allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return durlog::schedules::Allocate(bytes, alignment);
}
void operator delete(void* at, std::align_val_t) noexcept { durlog::schedules::Free(at); }
void operator delete(void* at) noexcept { durlog::schedules::Free(at); }
void operator delete[](void* at) noexcept { durlog::schedules::Free(at); }
void operator delete(void* at, std::size_t) noexcept { durlog::schedules::Free(at); }
void operator delete[](void* at, std::size_t) noexcept { durlog::schedules::Free(at); }
