// A LiveWatcher that calls JavaScript.
#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <string>

#include "live/live_watcher.h"

namespace durlog {

// Used on the environment's thread. A pending Watch() keeps the event loop alive.
class LivePageWatch {
 public:
  // `on_change` is called without arguments.
  static Result<std::unique_ptr<LivePageWatch>> Start(Napi::Env env, const std::string& path,
                                                      const Napi::Function& on_change);
  ~LivePageWatch();
  LivePageWatch(const LivePageWatch&) = delete;
  LivePageWatch& operator=(const LivePageWatch&) = delete;

  // As the functions of LiveWatcher.
  void Watch(uint64_t memory_end, uint64_t synced_end, const std::optional<FileId>& valid_page);
  void WatchUnlocked(uint64_t session);
  void Unwatch();

 private:
  explicit LivePageWatch(napi_env env) : env_(env) {}
  static void CallOnChange(napi_env env, napi_value on_change, void* context, void* data);
  static void StopAtTeardown(void* self) { static_cast<LivePageWatch*>(self)->Stop(); }
  void Stop();
  void KeepLoopAlive(bool alive);

  const napi_env env_;
  napi_threadsafe_function call_ = nullptr;
  bool keeps_alive_ = false;
  std::unique_ptr<LiveWatcher> watcher_;
};

}  // namespace durlog
