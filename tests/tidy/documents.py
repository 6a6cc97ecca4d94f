"""The rules of plain English for documents in Markdown: tidy.py applies them to each *.md of the tree.

usage: documents.py FILE...      (prints each place that breaks a rule)
"""
import os
import re
import sys

import english

SENTENCE_WORDS_MAX = 30
PARAGRAPH_SENTENCES_MAX = 6
PRONOUNS_PER_10000 = 3

ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s+")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]*)\)")
CODE = re.compile(r"`[^`]*`")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[)\"'*_]*\s+(?=[\"'(*_]*[A-Z0-9`\[])")


def paragraphs(text):
    """(line, text) of each paragraph and list item: without code, tables, quotes, headings and HTML comments."""
    found, first, is_fenced, is_code, was_blank, is_list = [], 0, False, False, True, False
    for n, line in enumerate(text.split("\n") + [""], 1):
        stripped = line.strip()
        is_fence = stripped.startswith("```")
        is_code = line.startswith("    ") and (is_code or (was_blank and not is_list))
        is_apart = is_fence or is_fenced or is_code or stripped.startswith(("|", "#", ">", "<!--"))
        item = None if is_apart else ITEM.match(line)
        if found and (is_apart or item or not stripped):
            yield first, " ".join(found)
            found = []
        if is_fence:
            is_fenced = not is_fenced
        elif not is_apart and stripped:
            first = first if found else n
            found.append(line[item.end():] if item else stripped)
        is_list = bool(item) or (is_list and not stripped.startswith("#") and (not stripped or not was_blank or line[0] == " "))
        was_blank = not stripped


def plain(sentence):
    """A sentence as it is read: a link is its text."""
    return re.sub(r"(?<!\w)[*_]+|[*_]+(?!\w)", "", LINK.sub(r"\1", sentence)).strip()


def sentences(paragraph):
    """Its sentences, without a heading in bold or italics at its beginning; a piece of code is one word."""
    words = re.sub(r"^(\*\*?)[^*]+[.:]\1\s+", "", CODE.sub("Code", paragraph))
    return [plain(s) for s in SENTENCE_END.split(words) if s.strip()]


def sentence_faults(path, text):
    for line, paragraph in paragraphs(text):
        found = sentences(paragraph)
        if len(found) > PARAGRAPH_SENTENCES_MAX:
            yield f"{path}:{line}: {len(found)} sentences in a paragraph, at most {PARAGRAPH_SENTENCES_MAX}: {found[0][:60]}"
        for sentence in found:
            n = english.n_words(sentence)
            if n > SENTENCE_WORDS_MAX:
                yield f"{path}:{line}: a sentence of {n} words, at most {SENTENCE_WORDS_MAX}: {sentence[:80]}"
            if not sentence.endswith("?"):
                for fault in english.faults_of_sentence(sentence):
                    yield f"{path}:{line}: {fault}: {sentence[:80]}"


def pronoun_faults(path, text):
    words = CODE.sub("Code", re.sub(r"```.*?```", "", text, flags=re.S))
    n, n_all = len(english.PRONOUNS.findall(words)), english.n_words(words)
    allowed = max(1, n_all * PRONOUNS_PER_10000 // 10000)
    if n > allowed:
        yield f"{path}: {n} of who, nobody, somebody and the like in {n_all} words, at most {allowed}"


def anchors(text):
    """What a link may name in a document, as GitHub makes it of headings."""
    for match in re.finditer(r"^#+ +(.*)$", text, re.M):
        heading = re.sub(r"[^\w\- ]", "", LINK.sub(r"\1", match.group(1)).lower())
        yield heading.replace(" ", "-")


def link_faults(path, text):
    for n, line in enumerate(text.split("\n"), 1):
        for match in LINK.finditer(CODE.sub("", line)):
            target, _, anchor = match.group(2).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            place = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(place):
                yield f"{path}:{n}: links to {place}, which is not in the tree"
            elif anchor and place.endswith(".md") and anchor not in anchors(open(place, encoding="utf-8").read()):
                yield f"{path}:{n}: {place} has no heading #{anchor}"


def citation_faults(path, text, files):
    """Files that a document names and the tree does not have; paths may leave out src/."""
    known = set(files) | {os.path.basename(f) for f in files}
    for n, line in enumerate(text.split("\n"), 1):
        for match in english.CITATION.finditer(LINK.sub(r"\1", re.sub(r"https?://\S+", "", line))):
            name = match.group(1)
            is_example = name.endswith(".yaml") and "/" not in name
            if "NAME" not in name and not is_example and name not in known | english.OUTSIDE and not any(f.endswith("/" + name) for f in files):
                yield f"{path}:{n}: cites {name}, which is not in the tree"


def faults(path, text, files):
    yield from sentence_faults(path, text)
    yield from pronoun_faults(path, text)
    yield from link_faults(path, text)
    yield from citation_faults(path, text, files)


def main():
    for path in sys.argv[1:]:
        text = open(path, encoding="utf-8").read()
        for fault in [*sentence_faults(path, text), *pronoun_faults(path, text), *link_faults(path, text)]:
            print(fault)
    return 0


if __name__ == "__main__":
    sys.exit(main())
