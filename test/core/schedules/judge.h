// The promises that must hold at the end of every run, whichever members have died.
#ifndef DURLOG_TEST_CORE_SCHEDULES_JUDGE_H_
#define DURLOG_TEST_CORE_SCHEDULES_JUDGE_H_

#include <string>

#include "model_files.h"
#include "stage.h"

namespace durlog::schedules {

// All members are gone. Each acknowledged record that is not trimmed is there with its seq and
// bytes, each record once, a batch as a whole or not at all; the next open takes the log up, and
// leaves it clean. "" where all of that holds. The files are changed.
std::string Judge(ModelFiles& files, const Stage& stage);

}  // namespace durlog::schedules

#endif  // DURLOG_TEST_CORE_SCHEDULES_JUDGE_H_
