// Gives all maps of a file the same address, so that ThreadSanitizer sees that the members of a log
// access the same words.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "platform/file_system.h"

namespace durlog {

class OneMap final : public Mapping {
 public:
  explicit OneMap(std::shared_ptr<Mapping> inner)
      : Mapping(inner->fault_flag()), inner_(std::move(inner)) {}
  uint8_t* data() override { return inner_->data(); }
  size_t size() const override { return inner_->size(); }
  Status Populate(size_t offset, size_t length) override {
    return inner_->Populate(offset, length);
  }
  Status Sync(size_t offset, size_t length) override { return inner_->Sync(offset, length); }
  bool WaitOn(size_t offset, uint32_t value, uint64_t micros) override {
    return inner_->WaitOn(offset, value, micros);
  }
  void WakeOn(size_t offset) override { inner_->WakeOn(offset); }

 private:
  const std::shared_ptr<Mapping> inner_;
};

// Any thread may call it. Files are mapped as a whole.
class MapsByFile {
 public:
  Result<std::unique_ptr<Mapping>> Map(File& file, uint64_t offset, size_t length) {
    DURLOG_ASSIGN_OR_RETURN(const FileId id, file.Id());
    const std::lock_guard<std::mutex> guard(mutex_);
    std::weak_ptr<Mapping>& known = maps_[{id.volume, id.index}];
    std::shared_ptr<Mapping> map = known.lock();
    if (!map || map->size() != length) {
      DURLOG_ASSIGN_OR_RETURN(map, file.Map(offset, length));
      known = map;
    }
    return std::unique_ptr<Mapping>(new OneMap(std::move(map)));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<Mapping>> maps_;
};

}  // namespace durlog
