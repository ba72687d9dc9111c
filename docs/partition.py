#!/usr/bin/python3
"""Makes docs/partition.svg, the picture of a partition that README.md shows: the first layers of InceptionV3 on four
Raspberry Pi 4, as `adaps show --html` draws them.

    docs/partition.py            in a folder where adaps and models/zoo are built; writes docs/partition.svg
    docs/partition.py -o FILE    writes FILE
"""
import argparse
import html
import os
import re
import subprocess
import tempfile

LAYERS = 6
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CELL, LEFT, TOP, LOW = 138, 18, 84, 108  # a layer's width; where the maps begin; where they end, beneath TOP

STYLE = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;font-size:12px;fill:#1c1f23}
.title{font-size:16px;font-weight:bold}.soft{fill:#5b636c}.page{fill:#fbfbfa;stroke:#d9dcdf}.fused{fill:#eef3f8}
svg svg text,.letter{font-size:9px;font-weight:bold;text-anchor:middle;paint-order:stroke;stroke:#fffc;stroke-width:2px}.part{stroke:#33383d;stroke-width:.8}.line{fill:#14171a}
"""


def page_of(folder):
    """The page of the plan, made in a folder."""
    def run(*command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    model, plan, page = (os.path.join(folder, name) for name in ("inceptionv3.onnx", "plan", "page.html"))
    run("models/zoo", "inceptionv3", "-o", model)
    run("./adaps", "plan", "-d", os.path.join(SOURCE, "devices/pi4x4.conf"), "-o", plan, model)
    run("./adaps", "show", "--html", page, plan)
    with open(page, encoding="utf-8") as file:
        return file.read()


def colours_of(page):
    """The rules for devices' colours, with the colours in their places."""
    values = dict(re.findall(r"--(c\d): (#\w+);", page))
    return "".join(f".{name}{{fill:{value}}}.h{name[1]}{{fill:url(#hatch{name[1]})}}" for name, value in values.items())


def layer(found, number, x):
    """A layer's map with its name, kind and size, as SVG."""
    block = found.group(0)
    picture = re.search(r'<svg class="map".*?</svg>', block, re.S).group(0)
    picture = re.sub(r"<title>.*?</title>", "", picture)
    height = float(re.search(r' height="(\d+)"', picture).group(1))
    picture = picture.replace("<svg ", f'<svg x="{x}" y="{TOP + LOW - height:.0f}" ', 1)
    name = re.search(r"<b><i>\d+</i> (.*?)</b>", block).group(1)
    kind, size = re.findall(r"<small>(.*?)</small>", block)
    short = html.escape(html.unescape(name).split(".")[0])
    lines = [(f"{number} {short}", "name"), (kind, "soft"), (size, "soft")]
    return picture + "".join(f'<text class="{style}" x="{x}" y="{TOP + LOW + 18 + 16 * i}">{text}</text>'
                             for i, (text, style) in enumerate(lines)) + "\n"


def legend(page):
    """The devices, and what is hatched."""
    out, x, y = "", LEFT, TOP + LOW + 84
    for number, letter, name in re.findall(r'data-d="(\d+)"><span class="badge b\d">(\w+)</span><bdi>(.*?)</bdi></button>', page):
        out += (f'<rect class="c{number}" x="{x}" y="{y - 13}" width="18" height="17" rx="3"/>'
                f'<text class="letter" x="{x + 9}" y="{y - 1}">{letter}</text><text x="{x + 24}" y="{y}">{name}</text>\n')
        x += 84
    return out + (f'<rect class="c0" x="{x}" y="{y - 13}" width="34" height="17"/>'
                  f'<rect class="h0" x="{x}" y="{y - 4}" width="34" height="8"/>'
                  f'<text x="{x + 42}" y="{y}">hatched: rows that two devices have (a halo)</text>\n')


def picture_of(page):
    blocks = list(re.finditer(r'<div class="layer" id="t0l\d+".*?(?=<div class="layer"|</details>)', page, re.S))[:LAYERS]
    patterns = re.search(r"<defs>.*?</defs>", page, re.S).group(0)
    latency = re.search(r'data-key="predicted_ms"[^>]*>(.*?)</data>', page).group(1)
    single = re.search(r'data-key="single_ms"[^>]*>(.*?)</data>', page).group(1)
    width, height = 2 * LEFT + LAYERS * CELL, TOP + LOW + 104
    out = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
           f"<style>{STYLE}{colours_of(page)}</style>\n{patterns}\n"
           f'<rect class="page" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>\n'
           f'<text class="title" x="{LEFT}" y="30">InceptionV3 on four Raspberry Pi 4</text>\n'
           f'<text class="soft" x="{LEFT}" y="50">{latency} predicted, {single} on one of them. In the first {LAYERS} layers '
           f"{blocks[0].group(0).count('badge')} devices compute a band each and exchange nothing.</text>\n"
           f'<rect class="fused" x="{LEFT - 8}" y="{TOP - 18}" width="{LAYERS * CELL + 16}" height="{LOW + 76}" rx="8"/>\n')
    for i, block in enumerate(blocks):
        out += layer(block, i + 1, LEFT + 4 + i * CELL)
    return out + legend(page) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("-o", "--output", default=os.path.join(SOURCE, "docs/partition.svg"))
    output = parser.parse_args().output
    with tempfile.TemporaryDirectory() as folder:
        picture = picture_of(page_of(folder))
    with open(output, "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
