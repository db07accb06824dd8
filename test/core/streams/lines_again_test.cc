#include "streams/lines_again.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "memory_file_system.h"
#include "observed_file_system.h"

namespace durlog {
namespace {

constexpr uint64_t kLinesPage = 4096;
using Calls = std::vector<std::string>;

class LinesAgainTest : public testing::Test {
 protected:
  LinesAgainTest() { memory_.files.capabilities.direct_io = true; }

  // Writes `lines` again, with which the file ends after `start` other bytes.
  Result<bool> WriteAfter(uint64_t start, const std::string& lines) {
    auto bytes = std::make_shared<MemoryBytes>(start, uint8_t{'b'});
    bytes->insert(bytes->end(), lines.begin(), lines.end());
    memory_.files["s.jsonl"] = std::move(bytes);
    ObservedDirectory directory(
        std::move(memory_.OpenDirectory("memory", false).value()), "", 0,
        [this](const ObservedCall& call) {
          if (call.call.rfind("write", 0) == 0 || call.call == "sync-data") {
            calls_.push_back(call.call + " " + std::to_string(call.offset) + " " +
                             std::to_string(call.length));
          }
          return call.call == failing_ ? failure_ : Status::Ok();
        });
    return WriteLinesAgain(directory, "s.jsonl", start,
                           Bytes{reinterpret_cast<const uint8_t*>(lines.data()), lines.size()});
  }

  std::string Content() {
    const MemoryBytes& bytes = *memory_.files["s.jsonl"];
    return std::string(bytes.begin(), bytes.end());
  }

  MemoryFileSystem memory_;
  Calls calls_;
  std::string failing_;
  Status failure_;
};

// A reader may see zeros in the last page while a direct write extends the file within it.
TEST_F(LinesAgainTest, OnlySpacesExtendTheFileAndTheLinesAreWrittenDirectlyInTheirPages) {
  const Result<bool> written = WriteAfter(kLinesPage + 10, "\"one\"\n\"two\"\n");
  ASSERT_TRUE(written.ok() && *written);
  EXPECT_EQ(Content(), std::string(kLinesPage + 10, 'b') + "\"one\"\n\"two\"\n" +
                           std::string(kLinesPage - 10 - 12, ' '));
  EXPECT_EQ(calls_, (Calls{"write " + std::to_string(kLinesPage + 22) + " " +
                               std::to_string(kLinesPage - 22),
                           "sync-data 0 0", "write-direct 4096 4096", "sync-data 0 0"}));
}

TEST_F(LinesAgainTest, AFileThatEndsWithAPageKeepsItsLength) {
  const std::string lines = std::string(2 * kLinesPage - 1, 'x') + "\n";
  const Result<bool> written = WriteAfter(kLinesPage, lines);
  ASSERT_TRUE(written.ok() && *written);
  EXPECT_EQ(Content(), std::string(kLinesPage, 'b') + lines);
  EXPECT_EQ(std::count(calls_.begin(), calls_.end(), "write-direct 4096 8192"), 1);
}

TEST_F(LinesAgainTest, WithoutDirectWritesTheFileIsLeftAlone) {
  memory_.files.capabilities.direct_io = false;
  const Result<bool> written = WriteAfter(0, "1\n");
  ASSERT_TRUE(written.ok());
  EXPECT_FALSE(*written);
  EXPECT_EQ(Content(), "1\n");
  EXPECT_TRUE(calls_.empty());
}

TEST_F(LinesAgainTest, AFileSystemThatRefusesTheDirectWriteHasNone) {
  failing_ = "write-direct";
  failure_ = Status::System("pwrite", EINVAL, "s.jsonl");
  const Result<bool> written = WriteAfter(0, "1\n");
  ASSERT_TRUE(written.ok());
  EXPECT_FALSE(*written);
}

TEST_F(LinesAgainTest, AFailedDirectWriteIsReported) {
  failing_ = "write-direct";
  failure_ = Status::System("pwrite", EIO, "s.jsonl");
  EXPECT_EQ(WriteAfter(0, "1\n").status().sys_errno(), EIO);
}

}  // namespace
}  // namespace durlog
