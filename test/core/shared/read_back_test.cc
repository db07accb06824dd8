// Tests of which members read back from the device what they have synced.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "observed_file_system.h"
#include "shared_test_folder.h"

namespace durlog {
namespace {

class ReadBackTest : public SharedTestFolder {
 protected:
  ReadBackTest()
      : files_([this](const ObservedCall& call) {
          if (call.call == "read-direct") ++reads_;
          return Status::Ok();
        }) {}

  void SetUp() override {
    SharedTestFolder::SetUp();
    const Result<Capabilities> can = folder_->Probe();
    if (can.ok() && !can->direct_io) GTEST_SKIP() << "there is no direct I/O on this file system";
  }
  // A member whose direct reads are counted.
  std::unique_ptr<SharedLog> OpenCounted() {
    Result<std::unique_ptr<SharedLog>> log = SharedLog::Open(files_, PathOf("log"), Small());
    EXPECT_TRUE(log.ok()) << log.status().message();
    if (!log.ok()) return nullptr;
    (*log)->Attach(&inline_, &listener_);
    return std::move(*log);
  }
  static void AppendSynced(SharedLog& log) {
    const Result<uint64_t> seq = log.AppendSync(AsBytes(PayloadOf(24)), Level::kSync);
    EXPECT_TRUE(seq.ok()) << seq.status().message();
  }
  // Whether a member that OpenCounted() has opened reads back what it syncs now.
  bool ReadsBack(SharedLog& log) {
    reads_ = 0;
    AppendSynced(log);
    return reads_ > 0;
  }

  int reads_ = 0;
  ObservedFileSystem files_;
};

TEST_F(ReadBackTest, AMemberThatJoinsReadsBackUntilAnEarlierMemberHasSynced) {
  std::unique_ptr<SharedLog> early = OpenMember();
  Write(*early, PayloadOf(0));
  std::unique_ptr<SharedLog> late = OpenCounted();
  EXPECT_TRUE(ReadsBack(*late));
  EXPECT_TRUE(ReadsBack(*late));
  AppendSynced(*early);
  EXPECT_FALSE(ReadsBack(*late));
  EXPECT_FALSE(ReadsBack(*late));
}

TEST_F(ReadBackTest, AMemberThatJoinsBeforeTheFirstRecordReadsNothingBack) {
  std::unique_ptr<SharedLog> early = OpenMember();
  std::unique_ptr<SharedLog> second = OpenCounted();
  Write(*early, PayloadOf(0));
  EXPECT_FALSE(ReadsBack(*second));
  Leave(std::move(early));
  Leave(std::move(second));
  early = OpenMember();
  second = OpenCounted();
  Write(*early, PayloadOf(0));
  EXPECT_FALSE(ReadsBack(*second));
}

TEST_F(ReadBackTest, AMemberThatAppendsHasTheNextSegmentOpenBeforeItsFirstRecord) {
  std::unique_ptr<SharedLog> early = OpenMember();
  std::unique_ptr<SharedLog> other = OpenCounted();
  for (int i = 0; i < 20; ++i) {
    Write(*early, PayloadOf(24));
    Write(*other, PayloadOf(24));
  }
  while (listener_.rotated.empty()) Write(*early, PayloadOf(24));
  EXPECT_FALSE(ReadsBack(*other));
}

TEST_F(ReadBackTest, ASyncBeforeAMemberJoinsDoesNotEndItsReadBack) {
  std::unique_ptr<SharedLog> early = OpenMember();
  AppendSynced(*early);
  AppendSynced(*early);
  std::unique_ptr<SharedLog> late = OpenCounted();
  EXPECT_TRUE(ReadsBack(*late));
}

TEST_F(ReadBackTest, ASyncOfAMemberThatReadsBackEndsNoOtherReadBack) {
  std::unique_ptr<SharedLog> early = OpenMember();
  Write(*early, PayloadOf(0));
  std::unique_ptr<SharedLog> late = OpenMember();
  std::unique_ptr<SharedLog> later = OpenCounted();
  AppendSynced(*late);
  EXPECT_TRUE(ReadsBack(*later));
}

TEST_F(ReadBackTest, ASyncOfAMemberThatReadsBackNoMoreEndsThatOfOthers) {
  std::unique_ptr<SharedLog> early = OpenMember();
  Write(*early, PayloadOf(0));
  std::unique_ptr<SharedLog> late = OpenMember();
  AppendSynced(*early);
  AppendSynced(*late);
  Leave(std::move(early));
  std::unique_ptr<SharedLog> later = OpenCounted();
  EXPECT_TRUE(ReadsBack(*later));
  AppendSynced(*late);
  EXPECT_FALSE(ReadsBack(*later));
}

TEST_F(ReadBackTest, EachSegmentIsReadBackByItself) {
  std::unique_ptr<SharedLog> early = OpenMember();
  std::unique_ptr<SharedLog> late = OpenCounted();
  EXPECT_FALSE(ReadsBack(*late));
  while (listener_.rotated.empty()) Write(*early, PayloadOf(24));
  EXPECT_TRUE(ReadsBack(*late));
  AppendSynced(*early);
  EXPECT_FALSE(ReadsBack(*late));
}

}  // namespace
}  // namespace durlog
