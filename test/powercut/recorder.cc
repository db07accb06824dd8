#include "recorder.h"

#include "child.h"
#include "disk_server.h"
#include "mounts.h"
#include "unix.h"

namespace powercut {
namespace {

constexpr int kWorkloadTimeoutMs = 600000;

void SyncFileSystem(const std::string& directory) {
  const UniqueFd fd = Open(directory, O_RDONLY | O_DIRECTORY);
  if (syncfs(fd.get()) != 0) ThrowErrno("syncfs of " + directory);
}

// A recording without writes, flushes or notes tests nothing.
void RequireSubstance(const Recording& recording) {
  const auto count = [&](OpKind kind) {
    return recording.CountOps(kind, recording.begin, recording.end);
  };
  if (count(OpKind::kWrite) == 0 || count(OpKind::kFlush) == 0 || recording.notes.empty()) {
    throw std::runtime_error("the workload left no writes, no flushes or no notes");
  }
}

}  // namespace

Recording Record(const RecordOptions& options) {
  const ScratchDirectory scratch;
  const std::string directory = scratch.MakeFolder("mnt");
  RecordedDisk disk(options.file_system->image_bytes);
  const DiskServer server(disk, scratch.MakeFolder("fuse"), DiskServer::Caching::kPageCache);
  const LoopDevice loop(server.disk_path(), options.direct_io);
  RunCommand(std::string(options.file_system->make_command) + " " + loop.path());
  Mount mount(loop.path(), directory, options.file_system->name);
  SyncFileSystem(directory);
  const uint64_t begin = disk.op_count();
  {
    Child workload(options.workload, {{"POWERCUT_DIR", directory},
                                      {"POWERCUT_NOTES", server.notes_path()},
                                      {"POWERCUT_SEED", options.seed}});
    const std::string ending = workload.Wait(kWorkloadTimeoutMs);
    if (!ending.empty()) throw std::runtime_error("the workload " + ending);
  }
  // The writes of the unmount are not the workload's: the power is cut before it.
  const uint64_t end = disk.op_count();
  mount.Unmount();
  Recording recording = Recording::Of(disk, options.file_system->name, begin, end);
  RequireSubstance(recording);
  return recording;
}

}  // namespace powercut
