# SPDX-License-Identifier: MIT
"""Pictures of studies: gnuplot's, made small. `study` has options.pictures, the folder that they go to."""

import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#7a5195", "#a05a2c"]
POINTS = [7, 5, 9, 13, 11, 6, 4, 8, 12, 10]  # gnuplot's numbers of filled and of hollow marks

DEFAULTS = (' stroke-linecap="butt"', ' stroke-linejoin="miter"', ' stroke-width="1.00"', ' class="gridline"')
COMMON = 'fill="none" color="black" stroke="currentColor"'  # of nearly all groups: said once, at the top


def small_svg(text):
    """gnuplot's SVG without empty groups, what is the default anyway, and digits that nobody sees."""
    text = re.sub(r"<desc>.*?</desc>|<title>.*?</title>|\t|(?<=<g) id=\"[^\"]*\"", "", text, flags=re.S)
    for default in DEFAULTS:
        text = text.replace(default, "")
    text = re.sub(r"rgb\( *(\d+), *(\d+), *(\d+)\)", lambda m: "#%02x%02x%02x" % tuple(map(int, m.groups())), text)
    text = re.sub(r"(\d+\.\d)\d+", r"\1", text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    text = re.sub(r" font-family=\"sans\"( (?=>))?|  (?='/>)", "", text)
    text = re.sub(r"<text><tspan>([^<]*)</tspan></text>", r"<text>\1</text>", text)
    text = text.replace("<rect", '<rect stroke="none"', 1)
    text = text.replace(f"<g {COMMON}>", "<g>").replace("<svg", f'<svg font-family="sans" {COMMON}', 1)
    before = None
    while before != text:
        before, text = text, re.sub(r"<g[^>]*>\s*</g>\n?", "", text)
    xml.etree.ElementTree.fromstring(text)  # still well-formed?
    return text


def gnuplot(study, name, width, height, script):
    head = (f"set terminal svg size {width},{height} font 'sans,12' background '#ffffff'\n"
            "set tics nomirror scale 0.5\nset border 3 linecolor '#444444'\nset grid linecolor '#dddddd'\n"
            "set xzeroaxis linetype 1 linecolor '#888888'\nunset mxtics\nunset mytics\nset key noautotitle samplen 2\n")
    for i, (colour, point) in enumerate(zip(COLOURS, POINTS)):
        head += f"set style line {i + 1} linewidth 1.5 linecolor '{colour}' pointtype {point} pointsize 0.5\n"
    done = subprocess.run(["gnuplot"], input=head + script, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"gnuplot could not draw {name}")
    path = Path(study.options.pictures) / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(small_svg(done.stdout))


def panels(study, name, title, x_label, y_label, curves_of, settings="", across=3):
    """curves_of: {panel's title: {technique: [(x, y), ...]}}; the key has a place of its own after the last panel."""
    names = list(dict.fromkeys(name for curves in curves_of.values() for name in curves))
    style = {name: i + 1 for i, name in enumerate(names)}
    cells = len(curves_of) + 1
    down = -(-cells // across)
    script = f"set xlabel '{x_label}'\nset ylabel '{y_label}'\n{settings}\n"
    plots = ""
    for i, (panel, curves) in enumerate(curves_of.items()):
        parts = []
        for name_of, points in curves.items():
            block = f"$d{i}_{style[name_of]}"
            script += f"{block} << end\n" + "".join(f"{x:g} {y:.5g}\n" for x, y in points) + "end\n"
            parts.append(f"{block} with linespoints linestyle {style[name_of]}")
        plots += f"set title '{panel}'\nplot " + ", ".join(parts) + "\n"
    keys = ", ".join(f"NaN with linespoints linestyle {style[name]} title '{name}'" for name in names)
    plots += "".join(f"unset {what}\n" for what in "title xzeroaxis xlabel ylabel tics border grid logscale".split())
    plots += (f"set key center center\nset xrange [0:1]\nset yrange [0:1]\nplot {keys}\n")
    script += f"set multiplot layout {down},{across} title '{title}'\n{plots}unset multiplot\n"
    gnuplot(study, name, 300 * across, 250 * down + 30, script)
