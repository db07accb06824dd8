#include "log/trim_job.h"

#include <memory>
#include <utility>

#include "record/segment_name.h"
#include "write/log_writer.h"

namespace durlog {

TrimJob::Trimmed TrimJob::Examine(const std::string& name) {
  const Result<std::unique_ptr<File>> file = directory_.Open(name, OpenMode::kRead);
  const Result<uint64_t> bytes = file.ok() ? (*file)->Size() : file.status();
  if (!bytes.ok()) return {};
  return {*bytes, *bytes == segment_bytes_ && !(*file)->HasOtherNames()};
}

void TrimJob::Run() {
  for (const std::shared_ptr<Segment>& segment : left_) segment->file().LetGo();
  left_.clear();
  for (const Item& item : items_) {
    status_ = Trim(item);
    if (!status_.ok()) break;
  }
  if (trimmed_ == 0) return;
  // Also after a failure: a file may be used again only if its old name cannot return.
  Status synced = directory_.Sync();
  if (synced.ok()) return;
  status_ = AsSyncFailure(std::move(synced));
  recyclable_.clear();
}

Status TrimJob::Trim(const Item& item) {
  const std::string name = SegmentName(item.first_seq);
  const Trimmed trimmed = Examine(name);
  const bool keep = !item.recycled_name.empty() && trimmed.may_recycle;
  DURLOG_RETURN_IF_ERROR(keep ? directory_.Rename(name, item.recycled_name)
                              : directory_.Remove(name));
  if (keep) recyclable_.push_back(item.recycled_name);
  ++trimmed_;
  trimmed_bytes_ += trimmed.bytes;
  return Status::Ok();
}

}  // namespace durlog
