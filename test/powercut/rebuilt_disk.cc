#include "rebuilt_disk.h"

#include <cstring>
#include <fstream>
#include <stdexcept>

namespace powercut {

// The loop device reads and writes past every cache, so that a disk never shows contents of the
// previous one.
RebuiltDisk::RebuiltDisk(const Recording& recording)
    : recording_(recording),
      directory_(scratch_.MakeFolder("mnt")),
      durable_(recording.image_bytes, Memory::Sharing::kPrivate),
      disk_(recording.image_bytes),
      server_(disk_, scratch_.MakeFolder("fuse"), DiskServer::Caching::kNone),
      loop_(server_.disk_path(), /*direct_io=*/true) {}

void RebuiltDisk::Build(const Cut& cut) {
  Reset();
  AdvanceTo(recording_.DurableAt(cut.index));
  ForEachSurvivor(recording_, cut, [this](const DiskOp& op, uint64_t begin, uint64_t end) {
    Apply(op, recording_.data.data(), begin, end);
  });
}

void RebuiltDisk::BuildAgain(const Cut& cut, const Recording& again, const Cut& again_cut) {
  Build(cut);
  const uint64_t durable = again.DurableAt(again_cut.index);
  for (uint64_t i = 0; i < durable; ++i) {
    const DiskOp& op = again.ops[i];
    Apply(op, again.data.data(), op.offset, op.offset + op.length);
  }
  ForEachSurvivor(again, again_cut, [&](const DiskOp& op, uint64_t begin, uint64_t end) {
    Apply(op, again.data.data(), begin, end);
  });
}

void RebuiltDisk::Apply(const DiskOp& op, const uint8_t* data, uint64_t begin, uint64_t end) {
  if (op.kind == OpKind::kFlush) return;
  ApplyOp(disk_.image(), op, data, begin, end);
  changed_.push_back({begin, end});
}

// Returns to the durable image: undoes the pieces of the last cut, and the writes made since.
void RebuiltDisk::Reset() {
  for (uint64_t i = 0; i < disk_.op_count(); ++i) {
    const DiskOp& op = disk_.ops()[i];
    changed_.push_back({op.offset, op.offset + op.length});
  }
  for (const Extent& extent : changed_) {
    std::memcpy(disk_.image() + extent.begin, durable_.data() + extent.begin,
                extent.end - extent.begin);
  }
  changed_.clear();
  disk_.ClearLog();
  loop_.DropCache();
}

void RebuiltDisk::AdvanceTo(uint64_t index) {
  if (index < durable_index_) throw std::logic_error("cuts must come in the order of their index");
  for (; durable_index_ < index; ++durable_index_) {
    const DiskOp& op = recording_.ops[durable_index_];
    if (op.kind == OpKind::kFlush) continue;
    const uint64_t end = op.offset + op.length;
    ApplyOp(durable_.data(), op, recording_.data.data(), op.offset, end);
    ApplyOp(disk_.image(), op, recording_.data.data(), op.offset, end);
  }
}

void RebuiltDisk::SaveImage(const std::string& path) const {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(disk_.image()),
            static_cast<std::streamsize>(disk_.image_bytes()));
  out.flush();
  if (!out.good()) throw std::runtime_error("writing " + path + " failed");
}

}  // namespace powercut
