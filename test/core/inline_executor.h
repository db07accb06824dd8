// Runs each job in the call that hands it over.
#ifndef DURLOG_TEST_CORE_INLINE_EXECUTOR_H_
#define DURLOG_TEST_CORE_INLINE_EXECUTOR_H_

#include <memory>

#include "base/executor.h"

namespace durlog {

class InlineExecutor final : public Executor {
 public:
  void Execute(std::shared_ptr<Job> job) override { job->RunOnce(); }
};

}  // namespace durlog

#endif  // DURLOG_TEST_CORE_INLINE_EXECUTOR_H_
