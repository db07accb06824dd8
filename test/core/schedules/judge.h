// The promises that must hold at the end of every run, whichever members have died.
#pragma once

#include <string>

#include "model_files.h"
#include "stage.h"

namespace durlog::schedules {

// Checks the log after all members have left or died. Each acknowledged record that is not trimmed
// has its seq and bytes, no record is there twice, each batch is complete or absent, and the next
// open recovers the log and leaves it clean. Returns "" if all of this holds. Changes the files.
std::string Judge(ModelFiles& files, const Stage& stage);

}  // namespace durlog::schedules
