"""Pages of reports in a real browser: nothing is cut, nothing overlaps, both colours can be read, values appear under the pointer.

usage: reports.py SHOAL MODELS_FOLDER [FOLDER]; with FOLDER the screenshots stay there
"""
import functools
import os
import subprocess
import tempfile

from browser import ELEMENT, Browser
from serve_shared import main, test

FOLDER = tempfile.TemporaryDirectory()
POLICIES = "default,fcfs,seallm,muxserve,rr,temporal,scls-cb,aladdin"
# Pairs of texts of one picture that cover each other, texts outside of their picture, and what the page loads or runs.
LOOK = """
const faults = [];
const root = document.documentElement;
if (root.scrollWidth > window.innerWidth) faults.push(`the page is ${root.scrollWidth} pixels wide`);
for (const svg of document.querySelectorAll('svg')) {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map((t) => [t.firstChild?.textContent ?? '', t.getBoundingClientRect()]);
  for (const [i, [name, a]] of texts.entries()) {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) faults.push(`outside: ${name}`);
    for (const [other, b] of texts.slice(i + 1)) {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 2 && down > 4) faults.push(`covered: ${name} and ${other}`);
    }
  }
  const legend = svg.closest('.plot')?.querySelector('.legend')?.getBoundingClientRect();
  if (legend && Math.min(frame.right, legend.right) - Math.max(frame.left, legend.left) > 2
      && Math.min(frame.bottom, legend.bottom) - Math.max(frame.top, legend.top) > 2) faults.push('a legend lies on its plot');
}
for (const box of document.querySelectorAll('table')) {
  const wide = box.closest('.wide');
  if (!wide || (wide.scrollWidth > wide.clientWidth && getComputedStyle(wide).overflowX !== 'auto')) faults.push('a table is cut');
}
if (document.querySelectorAll('script,pre,link,img,iframe').length) faults.push('scripts, <pre> or loaded things');
const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((x) => { x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const paper = light(getComputedStyle(document.body).backgroundColor);
const ratio = (a) => (Math.max(a, paper) + 0.05) / (Math.min(a, paper) + 0.05);
for (const [css, property, wanted] of [['p,td,th,dt,dd,h1,h2,figcaption,li', 'color', 4.5], ['svg text', 'fill', 4.5], ['polyline', 'stroke', 2.5]])
  for (const e of document.querySelectorAll(css))
    if (ratio(light(getComputedStyle(e)[property])) < wanted) faults.push(`${css} can't be read: ${getComputedStyle(e)[property]}`);
return [...new Set(faults)];
"""


def at(name):
    return os.path.join(FOLDER.name, name)


def call(shoal, *args):
    done = subprocess.run([shoal, *args], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, (args, done.stderr)


@functools.cache
def make(shoal, models):
    """Writes a page of each kind. Returns their names with the texts that each must have."""
    call(shoal, "sim", "--workload", "sea16", "--requests", "1500", "--html", at("one.html"), "--csv", at("one.csv"))
    call(shoal, "sim", "--workload", "sea16", "--requests", "600", "--compare", POLICIES, "--seeds", "2", "--html", at("many.html"))
    call(shoal, "sim", "--workload", "sea16", "--requests", "600", "--policy", "fcfs", "--csv", at("other.csv"))
    call(shoal, "report", at("one.csv"), at("other.csv"), "--html", at("report.html"))
    call(shoal, "plan", "4x8xa800", "sea16", "--planner", "muxserve", "--html", at("plan.html"))
    call(shoal, "plan", "2x8xa100", "sea16", "--planner", "machine,muxserve", "--html", at("planners.html"))
    call(shoal, "bench", "kernels", "--model", os.path.join(models, "tale.gguf"), "--tries", "1", "--rounds", "1", "--html", at("kernels.html"))
    return {"one": ["NL", "normalized latency", "MET is the part", "all"], "many": ["scls-cb less default", "2 seeds"], "report": ["other.csv", "requests/s"],
            "plan": ["weights GiB", "expected:"], "planners": ["planning s", "machine"], "kernels": ["bound by", "memory", "attention"]}


@test
def pages_are_whole_at_each_width_and_colour(shoal, models):
    pages = make(shoal, models)
    for width in (1300, 600, 400):
        for dark in (False, True):
            with Browser(width, 1200, dark) as browser:
                for name, texts in pages.items():
                    browser.open("file://" + at(name + ".html"))
                    faults = browser.run(LOOK)
                    assert faults == [], (name, width, dark, faults[:5])
                    text = browser.text("body")
                    assert all(t in text for t in texts), (name, texts, text[:400])
                    browser.shoot(f"report-{name}-{width}-{'dark' if dark else 'light'}")
                browser.is_content()


# Faults that LOOK has to see.
PLANTED = {
    "covered": "const t = document.querySelector('svg text'); t.after(t.cloneNode(true));",
    "outside": "document.querySelector('svg text').setAttribute('transform', 'translate(-900,0)');",
    "pixels wide": "document.body.style.minWidth = '3000px';",
    "a legend lies": "document.querySelector('.legend').style.marginLeft = '-300px';",
    "a table is cut": "document.querySelector('.wide').style.overflowX = 'hidden'; document.querySelector('table').style.minWidth = '3000px';",
    "can't be read": "document.querySelector('p').style.color = 'rgb(240, 240, 240)';",
    "scripts": "document.body.append(document.createElement('pre'));",
}


@test
def a_page_that_is_broken_is_noticed(shoal, models):
    make(shoal, models)
    with Browser() as browser:
        for fault, script in PLANTED.items():
            browser.open("file://" + at("many.html"))
            browser.run(script)
            faults = browser.run(LOOK)
            assert any(fault in text for text in faults), (fault, faults)


@test
def values_appear_under_the_pointer(shoal, models):
    make(shoal, models)
    with Browser() as browser:
        browser.open("file://" + at("many.html"))
        tells = "return [...document.querySelectorAll('svg')].map((s) => [...s.querySelectorAll('circle title, rect title')].filter((t) => /[0-9]/.test(t.textContent)).length)"
        counts = browser.run(tells)
        assert len(counts) == 8 and min(counts) >= 40, counts
        point = "circle = document.querySelector('circle.h'); return [getComputedStyle(circle).fillOpacity, getComputedStyle(circle).stroke]"
        assert browser.run("let " + point) == ["0", "none"]
        hover = {"type": "pointer", "id": "mouse", "actions": [{"type": "pointerMove", "origin": {ELEMENT: browser.element("circle.h")}, "x": 0, "y": 0}]}
        browser.call("/actions", {"actions": [hover]})
        assert browser.run("return [...document.querySelectorAll('circle.h')].some((c) => getComputedStyle(c).fillOpacity === '1')")


@test
def printed_pages_are_light_and_have_all_columns(shoal, models):
    make(shoal, models)
    with Browser(1060, 750) as browser:  # A4 across, less its margins
        browser.open("file://" + at("one.html"))
        browser.cdp("Emulation.setEmulatedMedia", media="print")
        assert browser.run("return [...document.querySelectorAll('table')].every((t) => t.getBoundingClientRect().right <= window.innerWidth)")
        assert len(browser.cdp("Page.printToPDF", landscape=True)["data"]) > 20000


if __name__ == "__main__":
    main()
