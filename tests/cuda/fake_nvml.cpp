// SPDX-License-Identifier: GPL-3.0-or-later

// What of NVML is used, as a library for tests: one device, at 37 percent.

#include <cstring>

struct Rates {
  unsigned gpu, memory;
};

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  static int only_device;
  *device = &only_device;
  return std::strcmp(bus_id, "0000:01:00.0") == 0 ? 0 : 6;  // 6: not found
}
int nvmlDeviceGetUtilizationRates(void*, Rates* rates) {
  *rates = {37, 5};
  return 0;
}
}
