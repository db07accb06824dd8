// A log in memory whose segments are built frame by frame, so that a test says what each frame
// claims and which bytes are damaged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory_file_system.h"
#include "record/record_codec.h"
#include "record/segment_header.h"
#include "record/segment_name.h"
#include "recovery/plan.h"

namespace durlog {

class CraftedLogTest : public testing::Test {
 protected:
  static constexpr uint64_t kSegmentBytes = 64 << 10;
  static constexpr size_t kPayloadBytes = 40;
  static constexpr uint64_t kRecords = 10;  // in each segment
  // The MemoryFileSystem's name of its folder.
  static constexpr char kPath[] = "memory";

  void SetUp() override {
    Result<std::unique_ptr<Directory>> directory = disk_.OpenDirectory(kPath, true);
    ASSERT_TRUE(directory.ok());
    directory_ = std::move(*directory);
  }
  static SegmentHeader HeaderOf(uint64_t first_seq, uint8_t uuid_byte = 1) {
    SegmentHeader header;
    header.uuid.fill(uuid_byte);
    header.salt = first_seq + 1;
    header.segment_bytes = kSegmentBytes;
    return header;
  }
  // A segment of ten records, each of which says that those below `synced_end` are synced.
  void Build(uint64_t first_seq, uint64_t synced_end, uint8_t uuid_byte = 1) {
    const SegmentHeader header = HeaderOf(first_seq, uuid_byte);
    MemoryBytes bytes(kSegmentBytes);
    EncodeSegmentHeader(header, bytes.data());
    for (uint64_t i = 0; i < kRecords; ++i) {
      const std::string payload(kPayloadBytes, static_cast<char>('a' + i));
      FrameFields fields;
      fields.state = FrameState::kCommitted;
      fields.length = kPayloadBytes;
      fields.seq = first_seq + i;
      fields.unsynced = static_cast<uint32_t>(fields.seq - std::min(fields.seq, synced_end));
      const Bytes from{reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
      EncodeFrame(fields, from, header.crc_seed(), bytes.data() + OffsetOf(i));
    }
    disk_.files[SegmentName(first_seq)] = std::make_shared<MemoryBytes>(std::move(bytes));
  }
  static uint64_t OffsetOf(uint64_t record) {
    return kSegmentHeaderBytes + record * FrameBytes(kPayloadBytes);
  }
  // The bytes of a segment as they are now.
  MemoryBytes& Image(uint64_t first_seq) { return *disk_.files[SegmentName(first_seq)]; }
  // Changes a byte of record `seq`, in the segment `first_seq`.
  void Damage(uint64_t first_seq, uint64_t seq) {
    Overwrite(first_seq, OffsetOf(seq - first_seq) + kFrameHeaderBytes, {0xff});
  }
  void Overwrite(uint64_t first_seq, uint64_t offset, const MemoryBytes& bytes) {
    std::copy(bytes.begin(), bytes.end(),
              Image(first_seq).begin() + static_cast<std::ptrdiff_t>(offset));
  }
  // Puts a marker, as earlier versions wrote it, behind the records: all of them are synced.
  void Mark(uint64_t first_seq, uint8_t uuid_byte = 1) {
    FrameFields marker;
    marker.state = FrameState::kMarker;
    marker.seq = first_seq + kRecords;
    EncodeFrame(marker, Bytes{}, HeaderOf(first_seq, uuid_byte).crc_seed(),
                Image(first_seq).data() + OffsetOf(kRecords));
  }
  RecoveryPlan PlanFor(Directory& directory, Evidence evidence = Evidence::kCache) {
    Result<LogFiles> files = ListLogFiles(directory);
    EXPECT_TRUE(files.ok());
    Result<RecoveryPlan> plan = PlanRecovery(directory, std::move(*files), OpenMode::kReadWrite,
                                             ScanExtent::kUnsyncedEnd, evidence);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? std::move(*plan) : RecoveryPlan{};
  }
  RecoveryPlan Plan() { return PlanFor(*directory_); }

  MemoryFileSystem disk_;
  std::unique_ptr<Directory> directory_;
};

}  // namespace durlog
