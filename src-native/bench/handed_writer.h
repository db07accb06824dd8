// A writer whose records are written by a second thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "bench/baseline.h"

namespace durlog::bench {

// Append() wakes a waiting thread, and waits until that thread has written the record. This
// measures the cost of an append whose caller may not wait for the device itself, without an event
// loop or any JavaScript. Neither thread spins.
template <class Writer>
class Handed {
 public:
  explicit Handed(const Spec& spec) : writer_(spec) {}
  ~Handed() { Stop(); }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;

  Status Open() {
    DURLOG_RETURN_IF_ERROR(writer_.Open());
    stopping_ = false;
    thread_ = std::thread([this] { Work(); });
    return Status::Ok();
  }

  bool HasRoom(uint64_t records) const { return writer_.HasRoom(records); }

  int Append(const uint8_t* record) {
    std::unique_lock<std::mutex> lock(mutex_);
    record_ = record;
    handed_.notify_one();
    written_.wait(lock, [this] { return record_ == nullptr; });
    return error_;
  }

  int Sync() { return writer_.Sync(); }

  Status Close() {
    Stop();
    return writer_.Close();
  }

 private:
  void Stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      stopping_ = true;
    }
    handed_.notify_one();
    thread_.join();
  }

  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      handed_.wait(lock, [this] { return stopping_ || record_ != nullptr; });
      if (record_ == nullptr) return;
      const uint8_t* const record = record_;
      lock.unlock();
      const int error = writer_.Append(record);
      lock.lock();
      error_ = error;
      record_ = nullptr;
      written_.notify_one();
    }
  }

  Writer writer_;
  std::mutex mutex_;
  std::condition_variable handed_;
  std::condition_variable written_;
  const uint8_t* record_ = nullptr;  // the record to write; null after it has been written
  int error_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace durlog::bench
