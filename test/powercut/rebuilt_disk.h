// A mountable disk as it could be after a power cut: one image, one loop device and one mount
// point. Only the differences between two cuts are written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cut.h"
#include "disk_server.h"
#include "mounts.h"
#include "recording.h"

namespace powercut {

class RebuiltDisk {
 public:
  // `recording` must outlive it.
  explicit RebuiltDisk(const Recording& recording);

  // Makes the disk of `cut`. The cuts must not go back before the last flush of an earlier cut, and
  // are fastest in the order of their index. The disk must not be mounted.
  void Build(const Cut& cut);
  // Makes the disk of a second cut, `again_cut`, in the recording `again` of a program's writes to
  // the disk of the first cut.
  void BuildAgain(const Cut& cut, const Recording& again, const Cut& again_cut);

  // The log of the operations on the disk since it was built.
  const RecordedDisk& disk() const { return disk_; }
  // The device to mount, and an empty folder to mount it on.
  const std::string& device() const { return loop_.path(); }
  const std::string& directory() const { return directory_; }
  std::string notes_path() const { return server_.notes_path(); }
  void SaveImage(const std::string& path) const;

 private:
  struct Extent {
    uint64_t begin;
    uint64_t end;
  };

  void Reset();
  void AdvanceTo(uint64_t index);
  void Apply(const DiskOp& op, const uint8_t* data, uint64_t begin, uint64_t end);

  const Recording& recording_;
  ScratchDirectory scratch_;
  std::string directory_;
  Memory durable_;  // the disk as the operations before durable_index_ made it
  uint64_t durable_index_ = 0;
  RecordedDisk disk_;  // the served disk: durable_ with changed_ and the later writes
  std::vector<Extent> changed_;
  DiskServer server_;
  LoopDevice loop_;
};

}  // namespace powercut
