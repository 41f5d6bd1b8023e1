// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QTest>

#include <string>

// QCOMPARE shows strings of the standard library as they are, not as <null>.
template <>
inline char* QTest::toString(const std::string& text) {
  return qstrdup(text.c_str());
}
