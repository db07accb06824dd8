#include "seeded_workers.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace durlog::crash {
namespace {

SeededWorkers* g_current = nullptr;

}  // namespace

SeededWorkers::SeededWorkers(uint64_t seed, uint32_t percent_at_once, uint32_t percent_switch,
                             size_t max_begun)
    : random_(seed),
      percent_at_once_(percent_at_once),
      percent_switch_(percent_switch),
      previous_(std::exchange(g_current, this)),
      max_begun_(max_begun) {}

SeededWorkers::~SeededWorkers() {
  Finish();
  g_current = previous_;
}

void SeededWorkers::Execute(std::shared_ptr<Job> job, uint32_t owner) {
  queue_.push_back(Queued{std::move(job), owner});
  if (running_ == nullptr && random_.Percent(percent_at_once_)) RunOne();
}

void SeededWorkers::Resume(size_t index) {
  Fiber* const fiber = begun_[index].fiber.get();
  running_ = fiber;
  running_owner_ = begun_[index].owner;
  fiber->Resume();
  running_ = nullptr;
  if (!fiber->done()) return;
  for (size_t i = 0; i < begun_.size(); ++i) {
    if (begun_[i].fiber.get() != fiber) continue;
    begun_.erase(begun_.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

void SeededWorkers::RunOne() {
  if (idle() || running_ != nullptr) return;
  const size_t queued = begun_.size() < max_begun_ ? queue_.size() : 0;
  const size_t pick = static_cast<size_t>(random_.Below(begun_.size() + queued));
  if (pick < begun_.size()) return Resume(pick);
  const size_t at = pick - begun_.size();
  const Queued next = queue_[at];
  queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(at));
  begun_.push_back(
      Begun{std::make_unique<Fiber>([job = next.job] { job->RunOnce(); }), next.owner});
  Resume(begun_.size() - 1);
}

void SeededWorkers::AtCall() {
  if (!random_.Percent(percent_switch_)) return;
  if (running_ != nullptr) {
    running_->Pause();
  } else {
    RunOne();
  }
}

void SeededWorkers::GiveWay() {
  if (running_ != nullptr) return running_->Pause();
  if (begun_.empty()) {
    std::fprintf(stderr, "a job is awaited that no worker runs\n");
    std::abort();
  }
  // Not a job from the queue: the caller can wait only for a job that has begun.
  Resume(static_cast<size_t>(random_.Below(begun_.size())));
}

void SeededWorkers::Finish() {
  // A job may wait for another one, so each turn resumes a random job.
  while (!begun_.empty()) Resume(static_cast<size_t>(random_.Below(begun_.size())));
}

void SeededWorkers::Abandon(uint32_t owner) {
  std::vector<Queued> queue;
  for (Queued& queued : queue_) {
    if (queued.owner != owner) queue.push_back(std::move(queued));
  }
  queue_ = std::move(queue);
  std::vector<Begun> begun;
  for (Begun& one : begun_) {
    (one.owner == owner ? abandoned_ : begun).push_back(std::move(one));
  }
  begun_ = std::move(begun);
}

void SeededWorkers::FinishAll() {
  for (Begun& one : abandoned_) begun_.push_back(std::move(one));
  abandoned_.clear();
  Finish();
}

}  // namespace durlog::crash

void durlog::stand_in::LetOthersRun() { crash::g_current->GiveWay(); }
