// A log as small as one can be and still be wrong in every way that matters: the stand-in by which
// the rig itself is tried. Segments of fixed slots, made ahead as `spare` and renamed into place.
#ifndef DURLOG_TEST_POWERCUT_STANDIN_LOG_H_
#define DURLOG_TEST_POWERCUT_STANDIN_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unix.h"

namespace powercut {

constexpr uint64_t kSlotsPerSegment = 64;

// What a broken stand-in leaves out.
enum class Break { kNothing, kAckBeforeSync, kNoDirectorySync, kNoInvalidation };

struct StandinRecord {
  uint64_t checksum;
  uint64_t seq;
  uint64_t generation;  // 1: the workload wrote it; 2, 3: the verifier after the first, second cut
  uint8_t payload[488];
};
static_assert(sizeof(StandinRecord) == 512, "a slot is one sector: a record is never torn");

StandinRecord MakeRecord(uint64_t seq, uint64_t generation);
bool IsWhole(const StandinRecord& record, uint64_t seq);

class StandinLog {
 public:
  StandinLog(std::string directory, Break broken);

  // The first seqs of the segments there are, in order.
  std::vector<uint64_t> Segments() const;
  std::vector<StandinRecord> ReadSegment(uint64_t first_seq) const;

  // Makes the file that the next Roll() renames; without it, Roll() makes one itself.
  void MakeSpare();
  // Makes the segment that starts at `first_seq` and appends there from now on.
  void Roll(uint64_t first_seq);
  // Appends from now on to the existing segment that starts at `first_seq`.
  void Continue(uint64_t first_seq);
  void Append(const StandinRecord& record);
  // Starts writing back what was appended, without waiting for it.
  void StartWriteback();
  void Sync();
  void Remove(uint64_t first_seq);
  void SyncDirectory();
  // Makes the slots from `seq` on in the current segment empty.
  void Invalidate(uint64_t seq);

 private:
  std::string PathOf(uint64_t first_seq) const;

  std::string directory_;
  Break broken_;
  UniqueFd file_;
  uint64_t first_seq_ = 0;
};

// Writes one line into the disk's log of writes; it is there when this returns.
void WriteNote(const std::string& line);

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_STANDIN_LOG_H_
