#include "base/histogram.h"

#include <algorithm>

namespace durlog {
namespace {

constexpr unsigned kSubBits = 4;
static_assert(Histogram::kSubBuckets == 1u << kSubBits, "the bits below the highest one");

}  // namespace

// Each value below kSubBuckets has a separate bucket.
size_t Histogram::BucketOf(uint64_t value) {
  const uint64_t bounded = std::min<uint64_t>(value, UINT32_MAX);
  unsigned shift = 0;
  for (unsigned step = 16; step > 0; step /= 2) {
    if (bounded >> (kSubBits + shift + step) != 0) shift += step;
  }
  if (bounded < kSubBuckets) return static_cast<size_t>(bounded);
  return shift * kSubBuckets + static_cast<size_t>(bounded >> shift);
}

uint64_t Histogram::HighestOf(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return bucket;
  const size_t shift = bucket / kSubBuckets - 1;
  const uint64_t first = bucket % kSubBuckets + kSubBuckets;
  return ((first + 1) << shift) - 1;
}

void Histogram::Add(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

uint64_t Histogram::Percentile(uint32_t per_mille) const {
  const uint64_t wanted = (count_ * per_mille + 999) / 1000;
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= wanted && seen > 0) return std::min(HighestOf(i), max_);
  }
  return max_;
}

void RollingHistogram::Record(uint64_t value, uint64_t now_micros) {
  all_.Record(value);
  const uint64_t number = now_micros / kSliceMicros;
  const size_t slice = static_cast<size_t>(number % kSlices);
  if (numbers_[slice] != number) {
    slices_[slice].Clear();
    numbers_[slice] = number;
  }
  slices_[slice].Record(value);
}

Histogram RollingHistogram::LastMinute(uint64_t now_micros) const {
  const uint64_t number = now_micros / kSliceMicros;
  Histogram sum;
  for (size_t i = 0; i < kSlices; ++i) {
    if (numbers_[i] + kSlices > number) sum.Add(slices_[i]);
  }
  return sum;
}

}  // namespace durlog
