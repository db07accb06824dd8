#include "base/owner_line.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(OwnerLineTest, EachLineHasTheSameLengthAndNamesItsProcess) {
  for (const int64_t pid : {int64_t{1}, int64_t{4194304}, int64_t{4294967295}}) {
    const std::string line = OwnerLine(pid);
    EXPECT_EQ(line.size(), kOwnerLineBytes);
    EXPECT_EQ(line.back(), '\n');
    EXPECT_EQ(OwnerInLine(line.data(), line.size()), pid);
  }
  const std::string none = OwnerLine(0);
  EXPECT_EQ(none, std::string(kOwnerLineBytes - 1, ' ') + '\n');
  EXPECT_EQ(OwnerInLine(none.data(), none.size()), 0);
}

TEST(OwnerLineTest, OtherBytesNameNoProcess) {
  EXPECT_EQ(OwnerInLine("", 0), 0);
  EXPECT_EQ(OwnerInLine("-7", 2), 0);
  EXPECT_EQ(OwnerInLine("\0\0\0\0", 4), 0);
  EXPECT_EQ(OwnerInLine("garbage", 7), 0);
}

}  // namespace
}  // namespace durlog
