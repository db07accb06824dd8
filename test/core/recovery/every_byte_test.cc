// A small log's last segment, cut at every byte and flipped at every byte.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inline_executor.h"
#include "inspect/frames.h"
#include "log/log.h"
#include "memory_file_system.h"
#include "read/log_reader.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

class NoListener final : public LogListener {
 public:
  void OnFailure(const Status& status, uint64_t, uint64_t, bool) override {
    ADD_FAILURE() << status.message();
  }
  void OnRotated(uint64_t) override {}
};

std::string SquarePayload(uint64_t seq) { return "payload number " + std::to_string(seq * seq); }

class EveryByteTest : public testing::Test {
 protected:
  // Two segments; of the last one's records some were acknowledged at sync and some were not.
  void SetUp() override {
    options_.strategy = Strategy::kPwrite;
    options_.preallocation_auto = false;
    options_.preallocation = Preallocation::kNone;
    options_.segment_bytes = kMinSegmentBytes;
    options_.max_record_bytes = 1000;
    Result<std::unique_ptr<Log>> log = Log::Open(disk_, "memory", options_);
    ASSERT_TRUE(log.ok());
    (*log)->Attach(&executor_, &listener_);
    uint64_t last_first_seq = 0;
    while (last_first_seq == 0 || (*log)->next_seq() < last_first_seq + 12) {
      const std::string payload = SquarePayload((*log)->next_seq());
      const Bytes bytes{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
      const bool synced = last_first_seq == 0 || (*log)->next_seq() < last_first_seq + 6;
      ASSERT_TRUE((*log)->AppendSync(bytes, synced ? Level::kSync : Level::kMemory).ok());
      if ((*log)->Stats().segments > 1 && last_first_seq == 0) {
        last_first_seq = (*log)->next_seq() - 1;
      }
    }
    end_seq_ = (*log)->next_seq();
    name_ = SegmentName(last_first_seq);
    for (const auto& [name, bytes] : disk_.files) whole_[name] = *bytes;
    const Result<std::vector<FrameReport>> frames = ListFrames(disk_, "memory", name_, 0, 100);
    ASSERT_TRUE(frames.ok());
    frames_ = *frames;
    ASSERT_GE(frames_.size(), 12u);
  }

  void Restore() {
    disk_.files.clear();
    for (const auto& [name, bytes] : whole_) {
      disk_.files[name] = std::make_shared<MemoryBytes>(bytes);
    }
  }
  MemoryBytes& Last() { return *disk_.files[name_]; }

  // Opens, and reads everything that is there: each record as it was written. Its next seq.
  std::optional<uint64_t> OpenAndRead(RecoveryState* state) {
    const Result<std::unique_ptr<Log>> log = Log::Open(disk_, "memory", options_);
    if (!log.ok()) {
      EXPECT_EQ(log.status().code(), Code::kCorrupt) << log.status().message();
      return std::nullopt;
    }
    *state = (*log)->recovery().state;
    uint64_t seq = 0;
    Result<std::unique_ptr<LogReader>> reader = LogReader::Open(disk_, "memory", 0);
    EXPECT_TRUE(reader.ok());
    std::vector<uint8_t> buffer(16384);
    std::vector<ReadEntry> entries(64);
    for (;;) {
      const Result<ReadBatch> batch =
          (*reader)->Next(buffer.data(), buffer.size(), entries.data(), 64, LogReader::kNoLimit);
      EXPECT_TRUE(batch.ok()) << batch.status().message();
      if (!batch.ok() || batch->count == 0) break;
      for (size_t i = 0; i < batch->count; ++i, ++seq) {
        const uint8_t* const at = buffer.data() + entries[i].offset;
        EXPECT_EQ(std::string(at, at + entries[i].length), SquarePayload(seq));
      }
    }
    EXPECT_EQ(seq, (*log)->next_seq());
    return seq;
  }

  // The synced end that every frame except that of record `but` proves.
  uint64_t SyncedEndWithout(uint64_t but) const {
    uint64_t synced_end = 0;
    for (const FrameReport& frame : frames_) {
      const bool counts = frame.status == DecodeStatus::kWhole && frame.fields.seq != but;
      if (counts) synced_end = std::max(synced_end, frame.fields.synced_end());
    }
    return synced_end;
  }

  MemoryFileSystem disk_;
  LogOptions options_;
  InlineExecutor executor_;
  NoListener listener_;
  uint64_t end_seq_ = 0;
  std::string name_;
  std::map<std::string, MemoryBytes> whole_;
  std::vector<FrameReport> frames_;
};

TEST_F(EveryByteTest, TruncationYieldsAPrefixOrARefusal) {
  for (size_t bytes = 0; bytes <= whole_[name_].size(); ++bytes) {
    if (bytes > 200 && bytes < kSegmentHeaderBytes - 20) bytes = kSegmentHeaderBytes - 20;
    Restore();
    Last().resize(bytes);
    RecoveryState state = RecoveryState::kClean;
    const std::optional<uint64_t> next_seq = OpenAndRead(&state);
    ASSERT_EQ(next_seq.has_value(), bytes >= kSegmentHeaderBytes) << bytes;
    if (!next_seq) continue;
    uint64_t expected = frames_.front().fields.seq;
    bool at_border = bytes == kSegmentHeaderBytes;
    for (const FrameReport& frame : frames_) {
      if (frame.status != DecodeStatus::kWhole) continue;
      if (frame.offset + frame.bytes <= bytes) expected = frame.fields.seq + 1;
      at_border = at_border || frame.offset + frame.bytes == bytes;
    }
    EXPECT_EQ(*next_seq, expected) << bytes;
    EXPECT_EQ(state, at_border ? RecoveryState::kClean : RecoveryState::kTornTail) << bytes;
  }
}

TEST_F(EveryByteTest, FlipYieldsNoWrongOrSilentlyLostRecord) {
  for (const uint8_t mask : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xff}}) {
    for (size_t at = 0; at < whole_[name_].size(); ++at) {
      if (at == 200 || at == 2048 + 200) at += 1500;
      Restore();
      Last()[at] ^= mask;
      RecoveryState state = RecoveryState::kClean;
      const std::optional<uint64_t> next_seq = OpenAndRead(&state);
      const FrameReport* hit = nullptr;
      for (const FrameReport& frame : frames_) {
        const uint64_t covered = frame.offset + kFrameHeaderBytes + frame.fields.length;
        if (frame.status == DecodeStatus::kWhole && at >= frame.offset && at < covered)
          hit = &frame;
      }
      if (hit == nullptr) {
        EXPECT_EQ(next_seq, end_seq_) << at;  // a header's copy, or alignment
      } else if (hit->fields.seq < SyncedEndWithout(hit->fields.seq)) {
        EXPECT_FALSE(next_seq.has_value()) << at;
      } else {
        EXPECT_EQ(next_seq, hit->fields.seq) << at;
        const bool is_last = hit->fields.seq + 1 == end_seq_;
        EXPECT_EQ(state, is_last ? RecoveryState::kTornTail : RecoveryState::kHole) << at;
      }
    }
  }
}

}  // namespace
}  // namespace durlog
