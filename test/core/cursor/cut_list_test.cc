#include "cursor/cut_list.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "memory_file_system.h"

namespace durlog {
namespace {

constexpr LogUuid kUuid{1, 2, 3};

class CutListTest : public testing::Test {
 protected:
  CutList Read() {
    const Result<CutList> list = ReadCuts(*directory_, kUuid);
    EXPECT_TRUE(list.ok()) << list.status().message();
    return list.ok() ? list.value() : CutList{};
  }
  void Record(uint64_t next_seq) {
    const Status recorded = RecordCut(*directory_, kUuid, next_seq).status();
    ASSERT_TRUE(recorded.ok()) << recorded.message();
  }

  MemoryFileSystem file_system_;
  std::unique_ptr<Directory> directory_ =
      std::move(file_system_.OpenDirectory("memory", true).value());
};

TEST(CutList, ACutNoDeeperThanANewerOneIsForgotten) {
  CutList list;
  list.Add(100);
  list.Add(200);
  list.Add(150);
  ASSERT_EQ(list.entries.size(), 2u);
  EXPECT_EQ(list.LowestSince(0), 100u);
  EXPECT_EQ(list.LowestSince(1), 150u);
  EXPECT_EQ(list.LowestSince(2), 150u);
  EXPECT_EQ(list.LowestSince(3), std::nullopt);
  list.Add(0);
  ASSERT_EQ(list.entries.size(), 1u);
  EXPECT_EQ(list.LowestSince(3), 0u);
}

TEST(CutList, BeyondItsLengthNoCutIsMissed) {
  CutList list;
  CutList all;  // of the same cuts, as they were made
  for (uint64_t cut = 1; cut <= 3 * kMaxCuts; ++cut) {
    list.Add(10 * cut);
    all.entries.push_back({cut, 10 * cut});
  }
  ASSERT_EQ(list.entries.size(), kMaxCuts);
  for (uint64_t since = 0; since <= 3 * kMaxCuts; ++since) {
    const std::optional<uint64_t> told = list.LowestSince(since);
    const std::optional<uint64_t> made = all.LowestSince(since);
    ASSERT_EQ(told.has_value(), made.has_value());
    if (made) {
      EXPECT_LE(*told, *made) << since;
    }
  }
}

TEST_F(CutListTest, AListIsReadAsItWasRecorded) {
  EXPECT_EQ(Read().generation, 0u);
  for (const uint64_t next_seq : {50u, 70u, 60u, 90u}) Record(next_seq);
  const CutList list = Read();
  EXPECT_EQ(list.generation, 4u);
  ASSERT_EQ(list.entries.size(), 3u);
  EXPECT_EQ(list.LowestSince(1), 60u);
}

TEST_F(CutListTest, TheListBeforeCountsWhereTheNewestIsTorn) {
  Record(50);
  Record(70);
  MemoryBytes& bytes = *file_system_.files[kCutsName];
  bytes[kCutsSlotBytes + 40] ^= 1;
  const CutList list = Read();
  EXPECT_EQ(list.generation, 1u);
  EXPECT_EQ(list.LowestSince(0), 50u);
  Record(60);
  EXPECT_EQ(Read().generation, 2u);
}

TEST_F(CutListTest, AGenerationBecomesCurrentOnceItsCutIsFinished) {
  Record(50);
  Record(70);
  EXPECT_EQ(Read().generation, 2u);
  EXPECT_EQ(Read().Current(), 0u);
  EXPECT_EQ(Read().LowestSince(0), 50u);
  for (int time = 0; time < 2; ++time) {
    ASSERT_TRUE(FinishCuts(*directory_).ok());
    EXPECT_EQ(Read().Current(), 2u);
  }
  Record(60);
  EXPECT_EQ(Read().Current(), 2u);
  // The store that finishes the cut is torn.
  ASSERT_TRUE(FinishCuts(*directory_).ok());
  MemoryBytes& bytes = *file_system_.files[kCutsName];
  const size_t finished = Load32(bytes.data() + kCutsSlotBytes - 8) == 0 ? 0 : kCutsSlotBytes;
  bytes[finished + 40] ^= 1;
  EXPECT_EQ(Read().Current(), 2u);
  EXPECT_EQ(Read().LowestSince(2), 60u);
}

TEST_F(CutListTest, AListThatCannotBeReadIsNoEmptyOne) {
  Record(50);
  file_system_.files[kCutsName]->at(20) ^= 1;
  EXPECT_EQ(ReadCuts(*directory_, kUuid).status().code(), Code::kCorrupt);
  EXPECT_EQ(RecordCut(*directory_, kUuid, 9).status().code(), Code::kCorrupt);
}

TEST_F(CutListTest, AListThatWasNotFinishedIsNone) {
  Record(50);
  file_system_.files[kCutsName]->pop_back();
  EXPECT_EQ(Read().generation, 0u);
  Record(60);
  EXPECT_EQ(Read().LowestSince(0), 60u);
}

TEST_F(CutListTest, TheListOfAnotherLogIsNone) {
  Record(50);
  const Result<CutList> list = ReadCuts(*directory_, LogUuid{9});
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list.value().generation, 0u);
}

TEST_F(CutListTest, AListThatStartsLaterGoesOnAfterItsGeneration) {
  ASSERT_TRUE(StartGeneration(*directory_, kUuid, 7).ok());
  EXPECT_EQ(Read().generation, 7u);
  EXPECT_EQ(Read().LowestSince(7), std::nullopt);
  // Of an older position the copy knows nothing.
  EXPECT_EQ(Read().LowestSince(6), 0u);
  Record(50);
  EXPECT_EQ(Read().generation, 8u);
  EXPECT_EQ(Read().LowestSince(7), 50u);
  EXPECT_EQ(Read().LowestSince(8), std::nullopt);
}

}  // namespace
}  // namespace durlog
