#include "napi/live_page_watch.h"

#include <utility>

namespace durlog {

Result<std::unique_ptr<LivePageWatch>> LivePageWatch::Start(Napi::Env env, const std::string& path,
                                                            const Napi::Function& on_change) {
  const Status closing = Status::Error(Code::kClosed, "the environment is closing");
  std::unique_ptr<LivePageWatch> watch(new LivePageWatch(env));
  napi_value name;
  if (napi_create_string_latin1(env, "durlog", NAPI_AUTO_LENGTH, &name) != napi_ok) return closing;
  if (napi_create_threadsafe_function(env, on_change, nullptr, name, 0, 1, nullptr, nullptr,
                                      nullptr, CallOnChange, &watch->call_) != napi_ok) {
    watch->call_ = nullptr;
    return closing;
  }
  // Added after the function, whose own hook then runs later: the watcher's thread must end while
  // the function can still be called.
  napi_add_env_cleanup_hook(env, StopAtTeardown, watch.get());
  napi_unref_threadsafe_function(env, watch->call_);
  DURLOG_ASSIGN_OR_RETURN(
      watch->watcher_, LiveWatcher::Start(DefaultFileSystem(), path, [call = watch->call_] {
        static_cast<void>(napi_call_threadsafe_function(call, nullptr, napi_tsfn_nonblocking));
      }));
  return watch;
}

LivePageWatch::~LivePageWatch() {
  if (call_ == nullptr) return;
  napi_remove_env_cleanup_hook(env_, StopAtTeardown, this);
  Stop();
}

void LivePageWatch::Stop() {
  watcher_.reset();
  if (call_ != nullptr) {
    napi_release_threadsafe_function(std::exchange(call_, nullptr), napi_tsfn_abort);
  }
}

// The environment is null while the function is being released.
void LivePageWatch::CallOnChange(napi_env env, napi_value on_change, void*, void*) {
  if (env == nullptr || on_change == nullptr) return;
  napi_value receiver;
  napi_value ignored;
  if (napi_get_undefined(env, &receiver) != napi_ok) return;
  static_cast<void>(napi_call_function(env, receiver, on_change, 0, nullptr, &ignored));
}

void LivePageWatch::Watch(uint64_t memory_end, uint64_t synced_end,
                          const std::optional<FileId>& valid_page) {
  if (!watcher_) return;
  KeepLoopAlive(true);
  watcher_->Watch(memory_end, synced_end, valid_page);
}

void LivePageWatch::WatchUnlocked(uint64_t session) {
  if (!watcher_) return;
  KeepLoopAlive(true);
  watcher_->WatchUnlocked(session);
}

void LivePageWatch::Unwatch() {
  if (!watcher_) return;
  watcher_->Unwatch();
  KeepLoopAlive(false);
}

void LivePageWatch::KeepLoopAlive(bool alive) {
  if (alive == keeps_alive_ || call_ == nullptr) return;
  keeps_alive_ = alive;
  if (alive) {
    napi_ref_threadsafe_function(env_, call_);
  } else {
    napi_unref_threadsafe_function(env_, call_);
  }
}

}  // namespace durlog
