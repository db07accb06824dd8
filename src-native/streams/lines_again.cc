#include "streams/lines_again.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/aligned_buffer.h"
#include "streams/record_writer.h"

namespace durlog {
Result<bool> WriteLinesAgain(Directory& folder, const std::string& name, uint64_t from,
                             Bytes lines) {
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, folder.Probe());
  if (!capabilities.direct_io) return false;
  const uint64_t begin = AlignDown(from, kStreamPageBytes);
  const size_t before = static_cast<size_t>(from - begin);
  const size_t used = before + lines.size;
  const size_t length = static_cast<size_t>(AlignUp(used, kStreamPageBytes));
  AlignedBuffer pages;
  if (!pages.Reserve(length, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory for the lines of a stream");
  }
  DURLOG_ASSIGN_OR_RETURN(const auto file, folder.Open(name, OpenMode::kReadWrite));
  DURLOG_ASSIGN_OR_RETURN(const size_t read, file->ReadAt(begin, pages.data(), before));
  if (read < before) return false;
  std::memcpy(pages.data() + before, lines.data, lines.size);
  std::memset(pages.data() + used, ' ', length - used);
  // While a direct write extends the file within a page, a reader may see zeros in that page.
  DURLOG_RETURN_IF_ERROR(file->WriteAt(begin + used, pages.data() + used, length - used));
  // Reports a failed write of the checkpoint that did not end. All it has written is written again.
  static_cast<void>(file->SyncData());
  Result<std::unique_ptr<File>> direct = folder.Open(name, OpenMode::kDirectUnsynced);
  if (direct.status().code() == Code::kUnsupported) return false;
  if (!direct.ok()) return direct.TakeStatus();
  const Status written = (*direct)->WriteAt(begin, pages.data(), length);
  if (written.sys_errno() == EINVAL) return false;
  DURLOG_RETURN_IF_ERROR(written);
  DURLOG_RETURN_IF_ERROR((*direct)->SyncData());
  return true;
}

}  // namespace durlog
