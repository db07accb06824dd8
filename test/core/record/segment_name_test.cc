#include "record/segment_name.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(SegmentNameTest, NamesSortBySeq) {
  EXPECT_EQ(SegmentName(0), "00000000000000000000.seg");
  EXPECT_EQ(SegmentName(1000), "00000000000000001000.seg");
  EXPECT_EQ(SegmentName(UINT64_MAX), "18446744073709551615.seg");
  EXPECT_LT(SegmentName(9), SegmentName(10));
  EXPECT_LT(SegmentName(999), SegmentName(UINT64_MAX));
}

TEST(SegmentNameTest, ANameLeadsBackToItsSeq) {
  for (const uint64_t seq : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 53, UINT64_MAX}) {
    EXPECT_EQ(ParseSegmentName(SegmentName(seq)), seq);
  }
}

TEST(SegmentNameTest, SegmentNameMustMatchExactly) {
  const char* const others[] = {
      "",
      ".seg",
      "1.seg",
      "0000000000000000000.seg",    // 19 digits
      "000000000000000000000.seg",  // 21 digits
      "00000000000000000000",       // no suffix
      "00000000000000000000.SEG",
      "00000000000000000000.seg ",
      "00000000000000000000.segx",
      "00000000000000000000.seg.bak",
      "0000000000000000000a.seg",
      "-0000000000000000001.seg",
      "+0000000000000000001.seg",
      " 0000000000000000001.seg",
      "18446744073709551616.seg",  // 2^64
      "99999999999999999999.seg",
      "lock",
      "spare-0123456789abcdef",
  };
  for (const char* name : others) EXPECT_FALSE(ParseSegmentName(name).has_value()) << name;
  EXPECT_FALSE(ParseSegmentName(std::string("0000000000000000000\0.seg", 24)).has_value());
}

TEST(SegmentNameTest, SpareIsNeverASegment) {
  EXPECT_EQ(SpareName(0x0123456789abcdef), "spare-0123456789abcdef");
  EXPECT_TRUE(IsSpareName(SpareName(0)));
  EXPECT_FALSE(ParseSegmentName(SpareName(UINT64_MAX)).has_value());
  EXPECT_FALSE(IsSpareName("spar"));
  EXPECT_FALSE(IsSpareName(SegmentName(0)));
  EXPECT_FALSE(IsSpareName(kLockName));
}

TEST(SegmentNameTest, SpareNameMustMatchExactly) {
  EXPECT_FALSE(IsSpareName("spare-"));
  EXPECT_FALSE(IsSpareName("spare-parts-list.txt"));
  EXPECT_FALSE(IsSpareName("spare-0123456789ABCDEF"));
  EXPECT_FALSE(IsSpareName("spare-0123456789abcdef.bak"));
}

}  // namespace
}  // namespace durlog
