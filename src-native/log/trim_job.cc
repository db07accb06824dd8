#include "log/trim_job.h"

#include <memory>

#include "record/segment_name.h"

namespace durlog {

Result<bool> TrimJob::IsWorthKeeping(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                          directory_.Open(name, OpenMode::kReadWrite));
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  return bytes == segment_bytes_;
}

void TrimJob::Run() {
  for (const Item& item : items_) {
    const std::string name = SegmentName(item.first_seq);
    bool keep = false;
    if (!item.recycled_name.empty()) {
      const Result<bool> worth = IsWorthKeeping(name);
      keep = worth.ok() && worth.value();
    }
    status_ = keep ? directory_.Rename(name, item.recycled_name) : directory_.Remove(name);
    if (!status_.ok()) return;
    if (keep) recyclable_.push_back(item.recycled_name);
    ++trimmed_;
  }
  status_ = directory_.Sync();
}

}  // namespace durlog
