// Removes segments from the front of a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/job.h"
#include "platform/file_system.h"
#include "segment/segment.h"

namespace durlog {

// Removes whole segments, oldest first, or renames them to spares.
class TrimJob final : public Job {
 public:
  struct Item {
    uint64_t first_seq;
    std::string recycled_name;  // "" to remove
  };
  // `left` are the segments among the items that workers may still fill. Only a file of
  // `segment_bytes` is worth keeping; any other is removed. So is a file with another name: the
  // program that made this hard link expects its content to stay.
  TrimJob(Directory& directory, std::vector<std::shared_ptr<Segment>> left, std::vector<Item> items,
          uint64_t segment_bytes)
      : directory_(directory),
        left_(std::move(left)),
        items_(std::move(items)),
        segment_bytes_(segment_bytes) {}

  // After done(). kSyncFailed if the sync of the folder has failed.
  const Status& status() const { return status_; }
  // How many of the items were removed; all of them if status() is OK.
  size_t trimmed() const { return trimmed_; }
  // The size of the removed files, as far as it could be read.
  uint64_t trimmed_bytes() const { return trimmed_bytes_; }
  // The names of the files that were kept and can become spares.
  const std::vector<std::string>& recyclable() const { return recyclable_; }

 protected:
  void Run() override;

 private:
  struct Trimmed {
    uint64_t bytes = 0;
    bool may_recycle = false;
  };
  Status Trim(const Item& item);
  Trimmed Examine(const std::string& name);

  Directory& directory_;
  std::vector<std::shared_ptr<Segment>> left_;
  const std::vector<Item> items_;
  const uint64_t segment_bytes_;
  std::vector<std::string> recyclable_;
  size_t trimmed_ = 0;
  uint64_t trimmed_bytes_ = 0;
  Status status_;
};

}  // namespace durlog
