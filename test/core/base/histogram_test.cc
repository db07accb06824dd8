#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace durlog {
namespace {

TEST(Histogram, WithoutValuesEverythingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Percentile(500), 0u);
  EXPECT_EQ(histogram.max(), 0u);
}

TEST(Histogram, APercentileIsAtMostASixteenthAboveTheValueThatItStandsFor) {
  Histogram histogram;
  std::vector<uint64_t> values;
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back((state >> 33) >> (i % 31));
    histogram.Record(values.back());
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.max(), values.back());
  for (const uint32_t per_mille : {1u, 10u, 500u, 900u, 990u, 999u, 1000u}) {
    const uint64_t exact = values[(values.size() * per_mille + 999) / 1000 - 1];
    EXPECT_GE(histogram.Percentile(per_mille), exact) << per_mille;
    EXPECT_LE(histogram.Percentile(per_mille), exact + exact / 16) << per_mille;
  }
}

TEST(Histogram, EveryValueHasABucketAndSmallOnesAreExact) {
  for (uint64_t value = 0; value < 40; ++value) {
    Histogram histogram;
    histogram.Record(value);
    histogram.Record(1000);
    EXPECT_GE(histogram.Percentile(500), value);
    EXPECT_LE(histogram.Percentile(500), value + value / 16);
  }
  for (const uint64_t value : {uint64_t{UINT32_MAX}, uint64_t{1} << 40, UINT64_MAX}) {
    Histogram histogram;
    histogram.Record(value);
    EXPECT_EQ(histogram.max(), value);
    EXPECT_GE(histogram.Percentile(1000), uint64_t{UINT32_MAX});
  }
}

TEST(RollingHistogram, TheLastMinuteForgetsWhatIsOlder) {
  constexpr uint64_t kSecond = 1000000;
  RollingHistogram rolling;
  rolling.Record(1000, 5 * kSecond);
  rolling.Record(10, 30 * kSecond);
  EXPECT_EQ(rolling.LastMinute(31 * kSecond).count(), 2u);
  EXPECT_EQ(rolling.LastMinute(31 * kSecond).max(), 1000u);
  EXPECT_EQ(rolling.LastMinute(65 * kSecond).max(), 10u);
  EXPECT_EQ(rolling.LastMinute(200 * kSecond).count(), 0u);
  rolling.Record(7, 125 * kSecond);
  EXPECT_EQ(rolling.LastMinute(126 * kSecond).count(), 1u);
  EXPECT_EQ(rolling.all().count(), 3u);
  EXPECT_EQ(rolling.all().max(), 1000u);
}

}  // namespace
}  // namespace durlog
