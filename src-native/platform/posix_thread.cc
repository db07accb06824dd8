#include <pthread.h>
#include <signal.h>

#include <utility>

#include "platform/thread.h"

namespace durlog {
namespace {

class PosixThread final : public Thread {
 public:
  explicit PosixThread(std::function<void()> work) : work_(std::move(work)) {}
  ~PosixThread() override {
    if (started_) pthread_join(thread_, nullptr);
  }

  // The thread inherits this mask. The signals of map faults stay unblocked, because they go to the
  // thread that causes the fault.
  int Start() {
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    const int error = pthread_create(&thread_, nullptr, Run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started_ = error == 0;
    return error;
  }

 private:
  static void* Run(void* self) {
    static_cast<PosixThread*>(self)->work_();
    return nullptr;
  }

  const std::function<void()> work_;
  pthread_t thread_ = {};
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<Thread>> Thread::Start(std::function<void()> work) {
  auto thread = std::make_unique<PosixThread>(std::move(work));
  const int error = thread->Start();
  if (error != 0) return Status::System("pthread_create", error, "");
  return std::unique_ptr<Thread>(std::move(thread));
}

}  // namespace durlog
