// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// For functions that both the CPU and a GPU run.
#if defined(__CUDACC__)
#define INFEROSCOPE_HOST_DEVICE __host__ __device__
#else
#define INFEROSCOPE_HOST_DEVICE
#endif
