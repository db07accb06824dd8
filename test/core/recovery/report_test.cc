#include "recovery/report.h"

#include <gtest/gtest.h>

namespace durlog {

TEST(SeqsTextTest, OneSeqIsNotARange) {
  EXPECT_EQ(SeqsText(5, 5), "seq 5");
  EXPECT_EQ(SeqsText(5, 9), "seq 5 to 9");
}

}  // namespace durlog
