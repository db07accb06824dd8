#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace durlog {
namespace {

TEST(StatusTest, DefaultStatusIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.sys_errno(), 0);
  EXPECT_STREQ(status.operation(), "");
  EXPECT_EQ(status.path(), "");
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.offset(), -1);
  EXPECT_EQ(status.owner_pid(), 0);
  EXPECT_GT(status.first_lost_seq(), status.last_lost_seq());
}

TEST(StatusTest, SystemErrorKeepsItsDetails) {
  const Status status = Status::System("fdatasync", EIO, "/log/0001");
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.sys_errno(), EIO);
  EXPECT_STREQ(status.operation(), "fdatasync");
  EXPECT_EQ(status.path(), "/log/0001");
  EXPECT_NE(status.message().find("fdatasync"), std::string::npos);
}

TEST(StatusTest, DiskQuotaAndSizeLimitAreNoSpace) {
#ifdef EDQUOT  // not on Windows
  EXPECT_EQ(Status::System("pwrite", EDQUOT, "x").code(), Code::kNoSpace);
#endif
  for (const int error : {ENOSPC, EFBIG}) {
    EXPECT_EQ(Status::System("pwrite", error, "x").code(), Code::kNoSpace) << error;
  }
  EXPECT_EQ(Status::System("pwrite", EROFS, "x").code(), Code::kIo);
}

TEST(StatusTest, AFailedSyncMayNotBeRepeatedWhateverItsErrno) {
  for (const int error : {EIO, ENOSPC, EFBIG, EMFILE, ENOMEM}) {
    const Status status = Status::OfSync("fdatasync", error, "x");
    EXPECT_EQ(status.code(), Code::kIo) << error;
    EXPECT_EQ(status.sys_errno(), error);
    EXPECT_FALSE(status.may_be_repeated()) << error;
  }
}

TEST(StatusTest, DescriptorsAndMemoryHaveTheirOwnCodes) {
  for (const int error : {EMFILE, ENFILE}) {
    EXPECT_EQ(Status::System("openat", error, "x").code(), Code::kTooManyFiles) << error;
  }
  EXPECT_EQ(Status::System("mmap", ENOMEM, "x").code(), Code::kOutOfMemory);
}

TEST(StatusTest, ErrorsThatTheUserCanRemedyNameTheRemedy) {
  const std::pair<int, const char*> remedies[] = {
      {EACCES, "needs the right to read"},
      {ENOSPC, "free some space"},
      {EMFILE, "ulimit -n"},
      {EROFS, "mount the file system with rw"},
  };
  for (const auto& [error, remedy] : remedies) {
    const std::string message = Status::System("openat", error, "x").message();
    EXPECT_NE(message.find(remedy), std::string::npos) << message;
  }
}

TEST(StatusTest, DetailsAreAddedWithoutLosingOthers) {
  const Status status = Status::Error(Code::kIo, "first")
                            .WithCode(Code::kCorrupt)
                            .WithPath("segment")
                            .WithOffset(4096)
                            .WithOwner(77)
                            .WithLost(10, 12)
                            .WithMessage("second");
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.path(), "segment");
  EXPECT_EQ(status.offset(), 4096);
  EXPECT_EQ(status.owner_pid(), 77);
  EXPECT_EQ(status.first_lost_seq(), 10u);
  EXPECT_EQ(status.last_lost_seq(), 12u);
  EXPECT_EQ(status.message(), "second");
}

TEST(StatusTest, CopyIsIndependent) {
  Status original = Status::System("open", ENOENT, "a");
  Status copy = original;
  copy = std::move(copy).WithPath("b");
  EXPECT_EQ(original.path(), "a");
  EXPECT_EQ(copy.path(), "b");
  original = Status::Ok();
  EXPECT_TRUE(original.ok());
  EXPECT_FALSE(copy.ok());
}

TEST(StatusTest, MovedStatusKeepsItsDetails) {
  Status from = Status::Error(Code::kLocked, "held").WithOwner(5);
  const Status to = std::move(from);
  EXPECT_EQ(to.code(), Code::kLocked);
  EXPECT_EQ(to.owner_pid(), 5);
}

Result<std::unique_ptr<int>> Half(int number) {
  if (number % 2 != 0) return Status::Error(Code::kInvalidArgument, "odd");
  return std::make_unique<int>(number / 2);
}

Result<int> Quarter(int number) {
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<int> half, Half(number));
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

Status CheckQuarter(int number) {
  DURLOG_RETURN_IF_ERROR(Quarter(number).TakeStatus());
  return Status::Ok();
}

TEST(ResultTest, MacroPassesTheValueOn) {
  const Result<int> quarter = Quarter(12);
  ASSERT_TRUE(quarter.ok());
  EXPECT_EQ(quarter.value(), 3);
  EXPECT_TRUE(CheckQuarter(12).ok());
}

TEST(ResultTest, MacroReturnsOnError) {
  const Result<int> quarter = Quarter(6);
  ASSERT_FALSE(quarter.ok());
  EXPECT_EQ(quarter.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckQuarter(6).message(), "odd");
}

}  // namespace
}  // namespace durlog
