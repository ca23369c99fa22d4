/* SPDX-License-Identifier: MIT
 *
 * A curve seconds = a * bytes^b + c through measured points.
 *
 * For a given b the rest is a straight line through (bytes^b, seconds), whose a and c are found directly; so b alone is
 * searched for: in steps first, then between the neighbours of the best. Errors count in proportion to the time, for a
 * curve has to be as right about short tasks as about long ones. Neither a nor c may be negative: no task takes less
 * time for having more to do, or negative time for having nothing. With points of two sizes c is zero and the curve
 * goes through both.
 */
#include "sched/perf_int.h"

#include <math.h>

enum { STEPS = 80, REFINEMENTS = 40 };
static const double largest_exponent = 4;

/* Beyond this many times the largest size, or below this part of the smallest, a curve says nothing. */
static const double reach = 2;
/* Points this many times off the curve are left out. */
static const double far = 3;

typedef struct line {
    double a, c, error;
} line;

/* x is relative to the largest, so that no power overflows. */
static line fit_line(const thrum__perf_point *points, int count, double largest, double b)
{
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0, error = 0;
    for (int i = 0; i < count; i++) {
        double x = pow(points[i].bytes / largest, b), y = points[i].seconds, weight = points[i].weight / (y * y);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    double determinant = w * wxx - wx * wx;
    double a = determinant > 0 ? (w * wxy - wx * wy) / determinant : 0, c = (wy - a * wx) / w;
    if (a < 0) {
        a = 0;
        c = wy / w;
    } else if (c < 0) {
        a = wxy / wxx;
        c = 0;
    }
    for (int i = 0; i < count; i++) {
        double y = points[i].seconds, off = a * pow(points[i].bytes / largest, b) + c - y;
        error += points[i].weight * off * off / (y * y);
    }
    return (line){a, c, error};
}

/* Golden section: the error falls and then rises between the two. */
static double refine(const thrum__perf_point *points, int count, double largest, double low, double high)
{
    const double golden = 0.6180339887498949;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double error_left = fit_line(points, count, largest, left).error;
    double error_right = fit_line(points, count, largest, right).error;
    for (int i = 0; i < REFINEMENTS; i++)
        if (error_left < error_right) {
            high = right;
            right = left;
            error_right = error_left;
            left = high - golden * (high - low);
            error_left = fit_line(points, count, largest, left).error;
        } else {
            low = left;
            left = right;
            error_left = error_right;
            right = low + golden * (high - low);
            error_right = fit_line(points, count, largest, right).error;
        }
    return (low + high) / 2;
}

static double best_exponent(const thrum__perf_point *points, int count, double largest)
{
    double step = largest_exponent / STEPS, best = step, least = INFINITY;
    for (int i = 1; i <= STEPS; i++) {
        double error = fit_line(points, count, largest, i * step).error;
        if (error < least) {
            least = error;
            best = i * step;
        }
    }
    return refine(points, count, largest, fmax(best - step, step / 10), fmin(best + step, largest_exponent));
}

/* The mean time at each of two sizes, if there are two and no more. */
static bool two_sizes(const thrum__perf_point *points, int count, double least, double most, double seconds[2])
{
    double weight[2] = {0, 0};
    seconds[0] = seconds[1] = 0;
    for (int i = 0; i < count; i++) {
        if (points[i].bytes != least && points[i].bytes != most)
            return false;
        int which = points[i].bytes == most;
        seconds[which] += points[i].weight * points[i].seconds;
        weight[which] += points[i].weight;
    }
    seconds[0] /= weight[0];
    seconds[1] /= weight[1];
    return true;
}

static void fit_all(const thrum__perf_point *points, int count, thrum__perf_curve *curve)
{
    double ends[2], largest = curve->most;
    if (two_sizes(points, count, curve->least, curve->most, ends) && ends[1] > ends[0]) {
        curve->b = fmin(log(ends[1] / ends[0]) / log(curve->most / curve->least), largest_exponent);
        curve->c = 0;
        curve->a = ends[1] / pow(largest, curve->b);
        return;
    }
    curve->b = best_exponent(points, count, largest);
    line found = fit_line(points, count, largest, curve->b);
    curve->a = found.a / pow(largest, curve->b);
    curve->c = found.c;
}

static bool find_range(const thrum__perf_point *points, int count, thrum__perf_curve *curve)
{
    curve->least = INFINITY;
    curve->most = 0;
    for (int i = 0; i < count; i++) {
        curve->least = fmin(curve->least, points[i].bytes);
        curve->most = fmax(curve->most, points[i].bytes);
    }
    return curve->most > curve->least;
}

static int keep_near(thrum__perf_point *points, int count, const thrum__perf_curve *curve)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        double ratio = points[i].seconds / (curve->a * pow(points[i].bytes, curve->b) + curve->c);
        if (ratio < far && ratio > 1 / far)
            points[kept++] = points[i];
    }
    return kept;
}

bool thrum__perf_fit(thrum__perf_point *points, int count, thrum__perf_curve *curve)
{
    if (!find_range(points, count, curve))
        return false;
    fit_all(points, count, curve);
    int kept = keep_near(points, count, curve);
    thrum__perf_curve again;
    if (kept < count && find_range(points, kept, &again)) {
        fit_all(points, kept, &again);
        *curve = again;
    }
    return true;
}

double thrum__perf_curve_at(const thrum__perf_curve *curve, double bytes)
{
    if (bytes < curve->least / reach || bytes > curve->most * reach)
        return -1;
    return curve->a * pow(bytes, curve->b) + curve->c;
}
