#include <windows.h>

#include <utility>

#include "platform/thread.h"
#include "platform/windows_error.h"
#include "platform/windows_handle.h"

namespace durlog {
namespace {

class WindowsThread final : public Thread {
 public:
  explicit WindowsThread(std::function<void()> work) : work_(std::move(work)) {}
  ~WindowsThread() override {
    if (handle_.valid()) WaitForSingleObject(handle_.get(), INFINITE);
  }

  bool Start() {
    handle_.Reset(CreateThread(nullptr, 0, Run, this, 0, nullptr));
    return handle_.valid();
  }

 private:
  static DWORD WINAPI Run(void* self) {
    static_cast<WindowsThread*>(self)->work_();
    return 0;
  }

  const std::function<void()> work_;
  ScopedHandle handle_;
};

}  // namespace

Result<std::unique_ptr<Thread>> Thread::Start(std::function<void()> work) {
  auto thread = std::make_unique<WindowsThread>(std::move(work));
  if (!thread->Start()) return WindowsError("CreateThread", GetLastError(), "");
  return std::unique_ptr<Thread>(std::move(thread));
}

}  // namespace durlog
