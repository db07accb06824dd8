#include "base/owner_line.h"

#include <gtest/gtest.h>

namespace durlog {
namespace {

TEST(OwnerLineTest, EachLineHasTheSameLengthAndNamesItsProcess) {
  // The largest ids of Linux, in the namespace with the largest inode, and of Windows.
  for (const OwnerProcess owner : {OwnerProcess{1, 4026531836}, OwnerProcess{4194304, 4294967295},
                                   OwnerProcess{4294967295, 0}}) {
    const std::string line = OwnerLine(owner);
    EXPECT_EQ(line.size(), kOwnerLineBytes);
    EXPECT_EQ(line.back(), '\n');
    const OwnerProcess found = OwnerInLine(line.data(), line.size());
    EXPECT_EQ(found.id, owner.id);
    EXPECT_EQ(found.name_space, owner.name_space);
  }
  const std::string none = OwnerLine({});
  EXPECT_EQ(none, std::string(kOwnerLineBytes - 1, ' ') + '\n');
  EXPECT_EQ(OwnerInLine(none.data(), none.size()).id, 0);
}

TEST(OwnerLineTest, AnIdIsOnlyMeantForItsNamespace) {
  const OwnerProcess owner{1, 7};
  EXPECT_EQ(owner.IdIn(7), 1);
  EXPECT_EQ(owner.IdIn(8), 0);
  EXPECT_EQ(owner.IdIn(0), 0);
  // The line of an earlier version names no namespace.
  EXPECT_EQ(OwnerInLine("1", 1).IdIn(7), 0);
  EXPECT_EQ(OwnerInLine("1", 1).IdIn(0), 1);
}

TEST(OwnerLineTest, OtherBytesNameNoProcess) {
  EXPECT_EQ(OwnerInLine("", 0).id, 0);
  EXPECT_EQ(OwnerInLine("-7", 2).id, 0);
  EXPECT_EQ(OwnerInLine("\0\0\0\0", 4).id, 0);
  EXPECT_EQ(OwnerInLine("garbage", 7).id, 0);
}

}  // namespace
}  // namespace durlog
