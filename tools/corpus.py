"""Cuts the training and held-out text of the two demo models out of Debian packages.

    tools/corpus.py DIR

leaves DIR/tale.train.txt, tale.heldout.txt, cee.train.txt and cee.heldout.txt. Needs only apt-get,
dpkg-deb and tar; the packages are kept in DIR/deb. The text is the same for every later version
of a package that did not change its sources, and models/held_out.json holds the hash of what the
stored models were measured on.

tale: the King James Bible (package bible-kjv-text; its text is in the public domain), a chapter a
      paragraph. Every 50th chapter is held out.
cee:  C code of the Linux kernel (package linux-source-6.1, GPL-2.0), without comments and include
      lists, which at this size teach a model nothing but licences. Every 50th file is held out.
"""
import hashlib
import pathlib
import re
import subprocess
import sys

HELD_OUT_EVERY = 50
SAMPLE_BYTES = 32 * 1024  # of held-out text kept beside each model
CEE_FOLDERS = ["kernel", "lib", "mm", "block", "fs", "net/core", "net/ipv4",
               "drivers/net/ethernet/intel"]
CEE_BYTES_MAX = 20 << 20


def package_unpack(folder, name):
    """Downloads a Debian package once and unpacks it; returns the folder it lies in."""
    deb = folder / "deb"
    root = deb / name
    if not root.exists():
        deb.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", name], cwd=deb, check=True)
        root.mkdir()
        archive = sorted(deb.glob(name + "_*.deb"))[-1]
        subprocess.run(["dpkg-deb", "-x", archive, root], check=True)
    return root


def tale_chapters(folder):
    """The chapters of the Bible in order, each one string."""
    program = package_unpack(folder, "bible-kjv") / "usr/bin/bible"
    data = package_unpack(folder, "bible-kjv-text") / "usr/lib"
    verses = subprocess.run(
        [program, "-p", data, "-f", "gen1:1-rev22:21"],
        check=True, capture_output=True, encoding="latin-1", stdin=subprocess.DEVNULL).stdout
    chapters = {}
    for line in verses.splitlines():
        place, _, text = line.partition(" ")
        chapters.setdefault(place.split(":")[0], []).append(text.strip())
    return [" ".join(verse) + "\n\n" for verse in chapters.values()]


# A comment, or a string or character literal (which may hold what looks like a comment).
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_strip(text):
    """C source without comments, includes, trailing blanks and runs of empty lines."""
    text = C_TOKEN.sub(lambda m: m[0] if m[0][0] in "\"'" else "", text)
    text = re.sub(r"^#\s*include\b.*\n", "", text, flags=re.M)
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n\n"


def cee_files(folder):
    """Stripped C files, in an order that does not depend on the archive (by hash of the path)."""
    top = folder / "deb" / "linux"
    if not top.exists():
        archive = next(package_unpack(folder, "linux-source-6.1").glob("usr/src/*.tar.xz"))
        top.mkdir()
        wanted = [f"linux-source-6.1/{name}/*.c" for name in CEE_FOLDERS]
        subprocess.run(["tar", "-xJf", archive, "-C", top, "--strip-components=1", "--wildcards"]
                       + wanted, check=True)
    paths = [p for name in CEE_FOLDERS for p in (top / name).rglob("*.c")]
    key = lambda p: hashlib.sha256(str(p.relative_to(top)).encode()).digest()
    size = 0
    for path in sorted(set(paths), key=key):
        text = c_strip(path.read_text(encoding="utf-8", errors="ignore"))
        # Tables and tests of constants are not what a reader would recognize as C code.
        if 500 < len(text) < 200_000 and text.isascii() and text.count("0x") < len(text) / 60:
            size += len(text)
            if size > CEE_BYTES_MAX:
                return
            yield text


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name, pieces in (("tale", tale_chapters(folder)), ("cee", list(cee_files(folder)))):
        held = pieces[HELD_OUT_EVERY - 1::HELD_OUT_EVERY]
        rest = [p for i, p in enumerate(pieces) if i % HELD_OUT_EVERY != HELD_OUT_EVERY - 1]
        for part, texts in (("train", rest), ("heldout", held)):
            data = "".join(texts).encode()
            (folder / f"{name}.{part}.txt").write_bytes(data)
            print(f"{name}.{part}.txt: {len(texts)} pieces, {len(data)} bytes, "
                  f"sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
