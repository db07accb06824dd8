#include "log/trim_job.h"

#include <memory>

#include "record/segment_name.h"

namespace durlog {

Result<uint64_t> TrimJob::SizeOf(const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, directory_.Open(name, OpenMode::kRead));
  return file->Size();
}

void TrimJob::Run() {
  // A worker's zeros would end up in the records of the segment that the file becomes.
  for (const std::shared_ptr<Segment>& segment : left_) segment->file().AwaitFills();
  left_.clear();
  for (const Item& item : items_) {
    const std::string name = SegmentName(item.first_seq);
    const Result<uint64_t> bytes = SizeOf(name);
    const bool keep = !item.recycled_name.empty() && bytes.ok() && *bytes == segment_bytes_;
    status_ = keep ? directory_.Rename(name, item.recycled_name) : directory_.Remove(name);
    if (!status_.ok()) return;
    if (keep) recyclable_.push_back(item.recycled_name);
    ++trimmed_;
    if (bytes.ok()) trimmed_bytes_ += *bytes;
  }
  status_ = directory_.Sync();
}

}  // namespace durlog
