// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <CLI/App.hpp>

#include <stop_token>

namespace inferoscope::cli {

// One command a file. Each adds its flags to the program and runs when the command line names it; what goes wrong is
// thrown as core::Error, a stop as core::Cancelled.
void addInfoCommand(CLI::App& program);
void addTokenizeCommand(CLI::App& program);
void addGenerateCommand(CLI::App& program, std::stop_token stop);
void addLogitsCommand(CLI::App& program, std::stop_token stop);
void addVerifyCommand(CLI::App& program, std::stop_token stop);
void addConvertCommand(CLI::App& program, std::stop_token stop);
void addBenchCommand(CLI::App& program, std::stop_token stop);
void addCompareCommand(CLI::App& program, std::stop_token stop);
void addAdviseCommand(CLI::App& program, std::stop_token stop);
void addRunCommand(CLI::App& program, std::stop_token stop);
void addPerplexityCommand(CLI::App& program, std::stop_token stop);
void addDevicesCommand(CLI::App& program, std::stop_token stop);
void addExplainCommand(CLI::App& program, std::stop_token stop);

}  // namespace inferoscope::cli
