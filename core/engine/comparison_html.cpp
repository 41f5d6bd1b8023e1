// SPDX-License-Identifier: GPL-3.0-or-later
// A comparison as one page that needs nothing else: a table, and charts as SVG within it.
#include "core/engine/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace inferoscope::core {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 1080px; margin: 2em auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: right; padding: .25em .7em; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child, td:last-child, th:last-child { text-align: left; }
.charts { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5em; margin-top: 1.5em; }
figure { margin: 0; } figcaption { font-weight: 600; margin-bottom: .3em; }
.note { color: #57606a; } .a { color: #0550ae; } .b { color: #bc4c00; }
text { font: 11px system-ui, sans-serif; fill: #57606a; }
)";
constexpr const char* kColorA = "#0550ae";
constexpr const char* kColorB = "#bc4c00";
constexpr double kWidth = 500, kHeight = 230, kLeft = 62, kRight = 12, kTop = 8, kBottom = 34;

std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else
      escaped += c;
  }
  return escaped;
}

// 1234567 -> "1.23 M".
std::string shortNumber(double value) {
  static constexpr std::array<std::pair<double, const char*>, 4> kSteps = {
      {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}}};
  for (const auto& [size, name] : kSteps) {
    if (std::abs(value) >= size) return fmt::format("{:.3g}{}", value / size, name);
  }
  return fmt::format("{:.3g}", value);
}

std::string number(const std::optional<double>& value) {
  return value ? shortNumber(*value) : "–";
}

struct Point {
  double x = 0;
  double y = 0;
};
struct Line {
  const char* color;
  bool dashed;
  std::vector<Point> points;
};

// Lines over common axes that begin at 0.
std::string lineChart(const std::string& title, const std::string& x_name, const std::vector<Line>& lines) {
  Point most{1e-9, 1e-9};
  for (const Line& line : lines) {
    for (const Point& point : line.points) most = {std::max(most.x, point.x), std::max(most.y, point.y)};
  }
  const auto x = [&](double value) { return kLeft + value / most.x * (kWidth - kLeft - kRight); };
  const auto y = [&](double value) { return kHeight - kBottom - value / most.y * (kHeight - kTop - kBottom); };
  std::string svg = fmt::format("<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\">\n",
                                escape(title), kWidth, kHeight);
  for (int i = 0; i <= 4; ++i) {
    const double at_y = most.y * i / 4, at_x = most.x * i / 4;
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#d8dee4\"/>", kLeft,
                       kWidth - kRight, y(at_y), y(at_y));
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 6, y(at_y) + 4,
                       shortNumber(at_y));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(at_x),
                       kHeight - kBottom + 15, shortNumber(at_x));
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kWidth - kRight, kHeight - 3,
                     escape(x_name));
  for (const Line& line : lines) {
    std::string path;
    for (const Point& point : line.points) path += fmt::format("{:.1f},{:.1f} ", x(point.x), y(point.y));
    svg += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{} points=\"{}\"/>\n", line.color,
                       line.dashed ? " stroke-dasharray=\"5 4\"" : "", path);
  }
  return svg + "</svg></figure>\n";
}

Line overTime(const ComparedLane& lane, const char* color, double SeriesPoint::*field, bool dashed = false) {
  Line line{color, dashed, {{0, 0}}};
  for (const SeriesPoint& point : lane.series) line.points.push_back({point.time_s, point.*field});
  return line;
}

Line gapPercentiles(const ComparedLane& lane, const char* color) {
  Line line{color, false, {}};
  for (std::size_t p = 0; p < lane.itl_ms.size(); ++p) line.points.push_back({double(p), lane.itl_ms[p]});
  return line;
}

// Bytes per output token: one bar a lane, one part a class.
std::string bytesChart(const Comparison& comparison) {
  static constexpr std::array<const char*, 5> kColors = {"#0969da", "#8250df", "#bf3989", "#9a6700", "#1a7f37"};
  const auto total = [](const RunSummary& run) {
    double sum = 0;
    for (const ByteClass& each : byteClasses()) sum += run.bytesPerToken(each.field).value_or(0);
    return sum;
  };
  const double most = std::max({total(comparison.a.run), total(comparison.b.run), 1e-9});
  std::string svg = fmt::format(
      "<figure><figcaption>Bytes moved per output token</figcaption><svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth,
      kHeight);
  double top = 20;
  for (const auto& [name, run] : {std::pair("A", &comparison.a.run), std::pair("B", &comparison.b.run)}) {
    double left = 30;
    svg += fmt::format("<text x=\"10\" y=\"{}\">{}</text>", top + 26, name);
    for (std::size_t i = 0; i < kColors.size(); ++i) {
      const double width = run->bytesPerToken(byteClasses()[i].field).value_or(0) / most * (kWidth - 120);
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"40\" fill=\"{}\"/>", left, top, width,
                         kColors[i]);
      left += width;
    }
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}B</text>\n", left + 6, top + 26, shortNumber(total(*run)));
    top += 56;
  }
  for (std::size_t i = 0; i < kColors.size(); ++i) {
    const double left = 30 + static_cast<double>(i) * 92;
    svg += fmt::format(
        "<rect x=\"{}\" y=\"150\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"159\">{}</text>", left,
        kColors[i], left + 14, byteClasses()[i].name);
  }
  return svg + "</svg></figure>\n";
}

std::string interval(const Difference& difference) {
  return difference.ci95 ? fmt::format("{:.3g} to {:.3g}", difference.ci95->low, difference.ci95->high) : "–";
}

std::string table(const Comparison& comparison) {
  std::string rows =
      "<table><tr><th>Figure</th><th class=\"a\">A</th><th class=\"b\">B</th><th>B / A</th>"
      "<th>95% interval</th><th>n</th><th>Verdict</th></tr>\n";
  for (const Difference& difference : comparison.differences) {
    const std::string unit =
        difference.unit.empty() ? "" : fmt::format(" <span class=\"note\">{}</span>", difference.unit);
    rows +=
        fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    escape(difference.label), unit, number(difference.a), number(difference.b),
                    number(difference.ratio), interval(difference), difference.num_pairs, escape(difference.verdict));
  }
  return rows + "</table>\n";
}

std::string qualityText(const Quality& quality) {
  std::string text =
      fmt::format("{} of {} answers equal token by token", quality.num_equal_answers, quality.num_answers);
  if (quality.first_divergent_token)
    text += fmt::format(", the first difference at token {}", *quality.first_divergent_token);
  if (quality.kl_mean) {
    text += fmt::format(
        "; over {} contexts: KL(A‖B) mean {:.3g} and 99th percentile {:.3g} nats, same likeliest token in {:.2f}%",
        quality.num_rows, *quality.kl_mean, quality.kl_p99.value_or(0), 100 * quality.top1_agreement.value_or(0));
  }
  if (const auto& read = quality.text) {
    text += fmt::format("; perplexity of {} ({} tokens): A {:.4g}, B {:.4g}, KL mean {:.3g} nats", escape(read->name),
                        read->num_tokens, read->perplexity_a, read->perplexity_b, read->kl_mean);
  }
  return text + ".";
}

std::string sampleText(const Comparison& comparison) {
  std::string text = repeatsWords(comparison);
  if (comparison.limits.measured()) {
    text += fmt::format("; probed {:.1f} GB/s with {} threads", comparison.limits.read_bytes_per_s * 1e-9,
                        comparison.limits.num_threads);
  }
  return text + ".";
}

}  // namespace

std::string comparisonHtml(const Comparison& comparison) {
  const ComparedLane& a = comparison.a;
  const ComparedLane& b = comparison.b;
  std::string page = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>";
  page += escape(fmt::format("{}: {}", comparison.title, whatDiffers(a.run.options, b.run.options)));
  page += std::string("</title><style>") + kStyle + "</style>\n";
  page +=
      fmt::format("<h1>{}</h1><p><b class=\"a\">A</b> against <b class=\"b\">B</b>: {}. Model {} ({}), seed {}.</p>\n",
                  escape(comparison.title), escape(whatDiffers(a.run.options, b.run.options)),
                  escape(comparison.model_name), escape(comparison.model), comparison.seed);
  page += fmt::format("<p class=\"note\">{} {}</p>\n", sampleText(comparison), qualityText(comparison.quality));
  for (const std::string& notice : comparison.notices) page += fmt::format("<p><b>Note:</b> {}</p>\n", escape(notice));
  page += table(comparison) + "<div class=\"charts\">\n";
  page +=
      lineChart("Output tokens", "lane time, s",
                {overTime(a, kColorA, &SeriesPoint::output_tokens), overTime(b, kColorB, &SeriesPoint::output_tokens)});
  page +=
      lineChart("KV slots: held (dashed) and written", "lane time, s",
                {overTime(a, kColorA, &SeriesPoint::kv_held, true), overTime(a, kColorA, &SeriesPoint::kv_written),
                 overTime(b, kColorB, &SeriesPoint::kv_held, true), overTime(b, kColorB, &SeriesPoint::kv_written)});
  page += lineChart("Gap between two tokens (ITL), ms", "percentile",
                    {gapPercentiles(a, kColorA), gapPercentiles(b, kColorB)});
  page += bytesChart(comparison);
  return page + "</div></html>\n";
}

}  // namespace inferoscope::core
