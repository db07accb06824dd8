#include "disk_server.h"

#define FUSE_USE_VERSION 35
#include <fuse_lowlevel.h>
#include <linux/falloc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "unix.h"

namespace powercut {
namespace {

constexpr fuse_ino_t kDiskInode = 2;
constexpr fuse_ino_t kNotesInode = 3;
constexpr double kForeverSeconds = 1e9;
constexpr unsigned kMaxWriteBytes = 1U << 20;

struct Served {
  RecordedDisk* disk;
  DiskServer::Caching caching;
};

const Served& ServedBy(fuse_req_t req) { return *static_cast<Served*>(fuse_req_userdata(req)); }

struct stat AttributesOf(const RecordedDisk& disk, fuse_ino_t inode) {
  struct stat st = {};
  st.st_ino = inode;
  st.st_nlink = 1;
  st.st_mode = inode == FUSE_ROOT_ID ? S_IFDIR | 0700U : S_IFREG | 0600U;
  if (inode == kDiskInode) st.st_size = static_cast<off_t>(disk.image_bytes());
  return st;
}

void Init(void*, fuse_conn_info* connection) { connection->max_write = kMaxWriteBytes; }

void Lookup(fuse_req_t req, fuse_ino_t, const char* name) {
  fuse_entry_param entry = {};
  if (std::strcmp(name, "disk") == 0) entry.ino = kDiskInode;
  if (std::strcmp(name, "notes") == 0) entry.ino = kNotesInode;
  if (entry.ino == 0) {
    fuse_reply_err(req, ENOENT);
    return;
  }
  entry.attr = AttributesOf(*ServedBy(req).disk, entry.ino);
  entry.attr_timeout = kForeverSeconds;
  entry.entry_timeout = kForeverSeconds;
  fuse_reply_entry(req, &entry);
}

void GetAttributes(fuse_req_t req, fuse_ino_t inode, fuse_file_info*) {
  const struct stat st = AttributesOf(*ServedBy(req).disk, inode);
  fuse_reply_attr(req, &st, kForeverSeconds);
}

// Accepts and ignores the call: opening `notes` with O_TRUNC must not fail and must not lose notes.
void SetAttributes(fuse_req_t req, fuse_ino_t inode, struct stat*, int, fuse_file_info* info) {
  GetAttributes(req, inode, info);
}

void OpenFile(fuse_req_t req, fuse_ino_t inode, fuse_file_info* info) {
  // A note must reach the server unchanged, before write(2) returns.
  info->direct_io =
      inode == kNotesInode || ServedBy(req).caching == DiskServer::Caching::kNone ? 1 : 0;
  fuse_reply_open(req, info);
}

void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*) {
  const RecordedDisk& disk = *ServedBy(req).disk;
  const uint64_t begin = static_cast<uint64_t>(offset);
  if (inode != kDiskInode || begin >= disk.image_bytes()) {
    fuse_reply_buf(req, nullptr, 0);
    return;
  }
  const uint64_t length = std::min<uint64_t>(size, disk.image_bytes() - begin);
  fuse_reply_buf(req, reinterpret_cast<const char*>(disk.image() + begin), length);
}

void Write(fuse_req_t req, fuse_ino_t inode, const char* bytes, size_t size, off_t offset,
           fuse_file_info*) {
  RecordedDisk& disk = *ServedBy(req).disk;
  if (const int error = inode == kDiskInode ? disk.Strike(OpKind::kWrite) : 0) {
    fuse_reply_err(req, error);
    return;
  }
  const bool done = inode == kNotesInode ? disk.AddNote(std::string_view(bytes, size))
                                         : disk.Write(static_cast<uint64_t>(offset), bytes, size);
  if (done) {
    fuse_reply_write(req, size);
  } else {
    fuse_reply_err(req, EIO);
  }
}

// The loop device sends the file system's flushes, and the flush after a forced-unit-access write,
// as fsync.
void Sync(fuse_req_t req, fuse_ino_t inode, int, fuse_file_info*) {
  if (const int error = inode == kDiskInode ? ServedBy(req).disk->Strike(OpKind::kFlush) : 0) {
    fuse_reply_err(req, error);
    return;
  }
  const bool done = inode == kNotesInode || ServedBy(req).disk->Flush();
  fuse_reply_err(req, done ? 0 : EIO);
}

// The loop device sends discards and write-zeroes as fallocate.
void Allocate(fuse_req_t req, fuse_ino_t inode, int mode, off_t offset, off_t length,
              fuse_file_info*) {
  if (inode != kDiskInode || (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) == 0) {
    fuse_reply_err(req, EOPNOTSUPP);
    return;
  }
  const bool done =
      ServedBy(req).disk->Zero(static_cast<uint64_t>(offset), static_cast<uint64_t>(length));
  fuse_reply_err(req, done ? 0 : EIO);
}

fuse_lowlevel_ops Operations() {
  fuse_lowlevel_ops ops = {};
  ops.init = Init;
  ops.lookup = Lookup;
  ops.getattr = GetAttributes;
  ops.setattr = SetAttributes;
  ops.open = OpenFile;
  ops.read = Read;
  ops.write = Write;
  ops.fsync = Sync;
  ops.fallocate = Allocate;
  return ops;
}

// The server's whole life: it ends when the file system is unmounted or the rig dies.
int Serve(Served served, const std::string& mount_point, const UniqueFd& ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // This process must not wait for memory reclaim, because reclaim may wait for this process.
  prctl(PR_SET_IO_FLUSHER, 1);
  // The rig handles Ctrl-C. It still needs this server to unmount the file systems on the disk.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  char name[] = "powercut";
  char option[] = "-o";
  char options[] = "fsname=powercut,subtype=powercut";
  char* argv[] = {name, option, options, nullptr};
  fuse_args args = FUSE_ARGS_INIT(3, argv);
  const fuse_lowlevel_ops ops = Operations();
  fuse_session* const session = fuse_session_new(&args, &ops, sizeof(ops), &served);
  if (session == nullptr || fuse_session_mount(session, mount_point.c_str()) != 0) return 1;
  if (write(ready.get(), "r", 1) != 1) return 1;
  return fuse_session_loop(session) == 0 ? 0 : 1;
}

}  // namespace

DiskServer::DiskServer(RecordedDisk& disk, std::string mount_point, Caching caching)
    : mount_point_(std::move(mount_point)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("pipe");
  UniqueFd ready_in(ends[0]);
  UniqueFd ready_out(ends[1]);
  pid_ = fork();
  if (pid_ < 0) ThrowErrno("fork");
  if (pid_ == 0) {
    ready_in.Close();
    _exit(Serve(Served{&disk, caching}, mount_point_, ready_out));
  }
  ready_out.Close();
  char byte = 0;
  while (read(ready_in.get(), &byte, 1) < 0 && errno == EINTR) {
  }
  if (byte != 'r') {
    waitpid(pid_, nullptr, 0);
    throw std::runtime_error("the FUSE file system could not be mounted on " + mount_point_);
  }
}

DiskServer::~DiskServer() {
  // Lazy unmount: a loop device that is being detached may still hold a file for a moment.
  umount2(mount_point_.c_str(), MNT_DETACH);
  int status = 0;
  constexpr int kAttempts = 500;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (waitpid(pid_, &status, WNOHANG) != 0) return;
    usleep(10000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
}

}  // namespace powercut
