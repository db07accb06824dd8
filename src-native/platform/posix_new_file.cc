#include "platform/posix_new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "platform/posix_directory.h"

namespace durlog {
namespace {

// The end of a segment's name: see record/segment_name.h.
constexpr char kSegmentSuffix[] = ".seg";
constexpr mode_t kPrivateMode = 0600;
constexpr mode_t kAccessBits = 0666;

bool IsSegmentName(const std::string& name) {
  const std::string suffix = kSegmentSuffix;
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// The name of a segment other than `besides`; "" if there is none. It is the one that the system
// lists first: each rotation calls this, and a log may have many thousands of segments.
std::string AnySegmentIn(int folder, const std::string& besides) {
  const FolderEntries stream = EntriesOf(folder);
  if (stream == nullptr) return "";
  while (const struct dirent* entry = readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (IsSegmentName(name) && name != besides) return name;
  }
  return "";
}

// Returns whether the file `fd`, which is `made`, has the owner and the group of `model` now.
bool TakeOwner(int fd, const struct stat& made, const struct stat& model) {
  const bool differs = made.st_uid != model.st_uid || made.st_gid != model.st_gid;
  return !differs || fchown(fd, model.st_uid, model.st_gid) == 0;
}

}  // namespace

void TakeAccessOfFolder(int folder, int fd, const std::string& name) {
  struct stat model;
  const std::string segment = AnySegmentIn(folder, name);
  mode_t mode = kPrivateMode;
  if (!segment.empty() && fstatat(folder, segment.c_str(), &model, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISREG(model.st_mode)) {
    mode = model.st_mode & kAccessBits;
  } else if (fstat(folder, &model) != 0) {
    return;
  }
  struct stat made;
  if (fstat(fd, &made) != 0 || !TakeOwner(fd, made, model)) return;
  if (mode != (made.st_mode & 07777)) static_cast<void>(fchmod(fd, mode));
}

void TakeOwnerOfFolder(int folder, int fd) {
  struct stat model;
  struct stat made;
  if (fstat(folder, &model) != 0 || fstat(fd, &made) != 0) return;
  static_cast<void>(TakeOwner(fd, made, model));
}

}  // namespace durlog
