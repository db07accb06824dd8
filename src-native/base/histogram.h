// A histogram in fixed memory, with an error of at most a sixteenth of each value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace durlog {

// Log-linear buckets: each power of two has sixteen of the same width. Values of 2^32 and above are
// in the last one.
class Histogram {
 public:
  static constexpr size_t kSubBuckets = 16;
  static constexpr size_t kBuckets = (32 - 4) * kSubBuckets + kSubBuckets;

  void Record(uint64_t value) {
    ++buckets_[BucketOf(value)];
    ++count_;
    if (value > max_) max_ = value;
  }
  void Add(const Histogram& other);
  void Clear() { *this = Histogram(); }

  uint64_t count() const { return count_; }
  // The largest value, exact; 0 if there are no values.
  uint64_t max() const { return max_; }
  // The quantile: at least `per_mille` of the values are less than or equal to it. At most a
  // sixteenth above a recorded value, and never above max(). 0 if there are no values.
  uint64_t Percentile(uint32_t per_mille) const;

 private:
  static size_t BucketOf(uint64_t value);
  static uint64_t HighestOf(size_t bucket);

  std::array<uint32_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t max_ = 0;
};

// Histograms of the last minute, in slices of ten seconds, and of all time.
class RollingHistogram {
 public:
  void Record(uint64_t value, uint64_t now_micros);
  const Histogram& all() const { return all_; }
  // Covers the last 50 to 60 seconds.
  Histogram LastMinute(uint64_t now_micros) const;

 private:
  static constexpr uint64_t kSliceMicros = 10'000'000;
  static constexpr size_t kSlices = 6;

  Histogram all_;
  std::array<Histogram, kSlices> slices_;
  std::array<uint64_t, kSlices> numbers_{};  // each slice's time, divided by kSliceMicros
};

}  // namespace durlog
