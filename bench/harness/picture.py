"""Draws grouped horizontal bars with their range as SVG, readable on a light and on a dark page."""

from dataclasses import dataclass
from html import escape

WIDTH = 840
LABELS = 200
NOTES = 190
BAR = 16
LINE = 24
HEADING = 44
TITLE = 28
REMARK = 20

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 18px; font-weight: 600; }
  .heading { font-weight: 600; }
  .quiet { fill: #59636e; }
  .ours { fill: #2563a8; }
  .other { fill: #9aa4af; }
  .range { stroke: #1f2328; stroke-width: 1.5; fill: none; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .quiet { fill: #9198a1; }
    .ours { fill: #5b9be6; }
    .other { fill: #5c6570; }
    .range { stroke: #e6edf3; }
  }
"""


@dataclass(frozen=True)
class Bar:
    """One bar: its value with the range of its runs, and what is written behind it."""

    label: str
    value: float
    low: float
    high: float
    note: str
    ours: bool


def draw(title, remarks, groups):
    """The SVG of `groups`, a dict of heading to bars, with lines of `remarks` under the title.

    Each group has a scale of its own.
    """
    parts, y = [_text(16, TITLE, title, "title")], TITLE
    for remark in remarks:
        y += REMARK
        parts.append(_text(16, y, remark, "quiet"))
    y += REMARK
    for heading, bars in groups.items():
        parts.append(_text(16, y + 24, heading, "heading"))
        y += HEADING - 8
        longest = max(bar.high for bar in bars)
        for bar in bars:
            parts.append(_bar(bar, y, (WIDTH - LABELS - NOTES) / longest))
            y += LINE
    height = y + 16
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>"]) + "\n"


def _bar(bar, y, scale):
    middle = y + BAR / 2
    low, high = LABELS + bar.low * scale, LABELS + bar.high * scale
    width, kind = bar.value * scale, "ours" if bar.ours else "other"
    whisker = f"M{low:.1f} {middle}H{high:.1f}M{low:.1f} {middle - 4}v8M{high:.1f} {middle - 4}v8"
    return "\n".join(
        [
            _text(LABELS - 8, middle + 4.5, bar.label, anchor="end"),
            f'<rect class="{kind}" x="{LABELS}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>',
            f'<path class="range" d="{whisker}"/>',
            _text(high + 8, middle + 4.5, bar.note),
        ]
    )


def _text(x, y, words, kind=None, anchor=None):
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y}"{attributes}>{escape(words)}</text>'
