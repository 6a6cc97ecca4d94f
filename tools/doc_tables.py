"""Puts what `shoal config` and `shoal repro` print into the documents: the tables of keys, policies and claims, and the
schema.

usage: doc_tables.py SHOAL        (./dev tables builds it first)
"""
import json
import re
import subprocess
import sys

DOCS = ("docs/CONFIG.md", "docs/POLICIES.md", "docs/PLACEMENT.md", "docs/REPRO.md")


def printed(*words):
    return subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=True).stdout


def register():
    """The claims of `shoal repro` as a table."""
    rows = map(json.loads, printed("repro", "--json").splitlines())
    return "| claim | where | compares | settings |\n|---|---|---|---|\n" + "".join(
        f"| `{row['claim']}` | {row['paper']}, {row['section']} | {row['compares']} | {row['settings']} |\n" for row in rows)


def tables(text):
    """Its tables: runs of lines that begin with "|"."""
    return re.findall(r"(?:^\|.*\n)+", text, re.M)


def replace(doc, table):
    """The document with the table in the place of the one that has the same head. None: it has none."""
    head = table.split("\n")[0]
    old = next((t for t in tables(doc) if t.split("\n")[0] == head and shares_a_row(t, table)), None)
    return None if old is None else doc.replace(old, table)


def shares_a_row(old, new):
    """Two tables of one head are told apart by the names in their first column."""
    def names(table):
        return {line.split("|")[1] for line in table.split("\n")[2:] if line}
    return bool(names(old) & names(new))


def main():
    lost = 0
    docs = {path: open(path, encoding="utf-8").read() for path in DOCS}
    for table in tables(printed("config", "keys")) + tables(printed("config", "policies")) + [register()]:
        if table.startswith("| predictor "):
            continue  # docs/PREDICT.md says more of them
        found = False
        for path, doc in docs.items():
            new = replace(doc, table)
            if new is not None:
                docs[path], found = new, True
        if not found:
            lost += 1
            print("in no document:", table.split("\n")[0])
    for path, doc in docs.items():
        open(path, "w", encoding="utf-8").write(doc)
    open("docs/config.schema.json", "w", encoding="utf-8").write(printed("config", "schema"))
    return lost


if __name__ == "__main__":
    sys.exit(main())
