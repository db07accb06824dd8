// The file systems under trial, and the requirements of each on its disk.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace powercut {

struct FileSystem {
  const char* name;
  uint64_t image_bytes;
  const char* make_command;  // followed by the device
  // The units that the medium writes as a whole. Btrfs does not survive a torn 4 KiB superblock, so
  // its medium never tears within 4 KiB.
  std::vector<uint32_t> sectors_bytes;
};

inline const FileSystem& FileSystemNamed(const std::string& name) {
  // Background initialization is off: it would fill the log with writes that are not the
  // workload's. XFS needs at least 300 MB, Btrfs at least 110 MB.
  static const FileSystem kFileSystems[] = {
      {"ext4",
       uint64_t{96} << 20,
       "mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0",
       {512, 4096}},
      {"xfs", uint64_t{320} << 20, "mkfs.xfs -q -f", {512, 4096}},
      {"btrfs", uint64_t{192} << 20, "mkfs.btrfs -q -f", {4096}},
  };
  for (const FileSystem& file_system : kFileSystems) {
    if (name == file_system.name) return file_system;
  }
  throw std::runtime_error("no such file system: " + name);
}

}  // namespace powercut
