// Carries out a recovery's plan.
#pragma once

#include "platform/file_system.h"
#include "recovery/plan.h"

namespace durlog {

// Rewrites the kept records that were not known to be synced and may be in the cache only, past the
// cache if the file system allows it. States that they are synced, and makes the cuts. When this
// returns, no byte that was cut can return, every kept record is durable, and if there was a cut
// the log states it.
Status ApplyRecovery(Directory& directory, const Capabilities& capabilities, RecoveryPlan* plan);

}  // namespace durlog
