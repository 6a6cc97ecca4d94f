"""The rules of plain English that a program can check: tidy.py applies them to the comments of src and tests.

usage: english.py [--all] FILE...      (prints each place that breaks a rule; --all adds advice that tidy.py does not check)
"""
import io
import os
import re
import sys
import tokenize

PRONOUNS = re.compile(r"\b(who|whoever|whom|nobody|somebody|anybody|everybody)\b", re.I)
PRONOUNS_PER_10000 = 3

# A sentence needs a subject: these words hide it.
OPENINGS = re.compile(r"(Of|Who|Whoever|Whom|Whose|What|Where|That|Nor|Nobody|Somebody|Anybody|Everybody)\b")
# A phrase -> what to write instead.
PHRASES = {
    r"\bbe it\b": "whether it is",
    r"\bso many\b": "this many",
    r"\bin the place of\b": "instead of",
    r"\bthere is none that\b": "no ... does",
    r"(?<!each )(?<!all )\bof which\b": "a sentence of its own",
}
# Advice alone: a program cannot tell a good use from a bad one.
SENTENCE_WORDS_MAX = 25
VERBS = re.compile(r"\b(is|are|was|were|be|has|have|had|does|do|did|can|could|may|must|will|would|should|[a-z]+s|[a-z]+ed)\b", re.I)
ADVICE = {
    r"\bof (them|it)\b": "one of-chain too many?",
    r"\bwhose\b": "a sentence of its own?",
    r"\bso (is|are|does|do|has|have|was|were)\b": "an inverted sentence?",
    r"\bbut for\b": "except",
    r"\b(he|his|him)\b": "it",
    r"\b(says|say|said|hears?|heard|asks?|asked|house|door|desk|home)\b": "a metaphor?",
}
# Files outside the tree that comments may name: formats, headers of libraries, other programs.
OUTSIDE = {"nvml.h", "merges.txt", "gpt2-merges.txt", "llama2.c"}
CITATION = re.compile(r"(?<![\w./*<-])((?:[\w.-]+/)*[\w-]+\.(?:md|py|c|h|cu|txt|yaml))\b(?![/*])")

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_comments(text):
    for match in TOKEN.finditer(text):
        token = match.group(0)
        if not token.startswith("/"):
            continue
        line = text.count("\n", 0, match.start()) + 1
        inside = token[2:-2] if token.startswith("/*") else token[2:]
        words = re.sub(r"^[ \t]*\* ?", "", inside, flags=re.M).strip()
        yield line, words


def python_comments(text):
    previous, block, first = None, [], 0
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != first + len(block):
                yield first, "\n".join(block)
                block = []
            if not block:
                first = token.start[0]
            block.append(token.string.lstrip("#!").strip())
        elif token.type == tokenize.STRING and previous in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            yield token.start[0], token.string.strip("rb\"'").strip()
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            previous = token.type
    if block:
        yield first, "\n".join(block)


def comments(path, text):
    """(line, text) of each comment of a C or Python file, and of each docstring."""
    if path.endswith((".c", ".h", ".cu", ".cuh")):
        return c_comments(text)
    return python_comments(text) if path.endswith(".py") else iter(())


def sentences(words):
    """The sentences of a comment; a list item, an empty line and a full stop before a capital end one."""
    for part in re.split(r"\n\s*\n|\n\s*(?:- |\d+\. )", "\n" + words):
        flat = re.sub(r"\s+", " ", part).strip()
        yield from filter(None, re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z\"'(])", flat))


def n_words(text):
    return len(re.findall(r"[A-Za-z][A-Za-z'-]*", text))


def faults_of_sentence(sentence):
    """What is wrong with one sentence, each as a phrase for the message."""
    opening = OPENINGS.match(sentence)
    if opening:
        yield f'opens with "{opening.group(1)}": name the subject'
    for phrase, instead in PHRASES.items():
        match = re.search(phrase, sentence, re.I)
        if match:
            yield f'"{match.group(0)}": {instead}'


def advice_on_sentence(sentence):
    if PRONOUNS.search(sentence):
        yield f'"{PRONOUNS.search(sentence).group(0)}": name the thing'
    for phrase, instead in ADVICE.items():
        match = re.search(phrase, sentence, re.I)
        if match:
            yield f'"{match.group(0)}": {instead}'
    if n_words(sentence) > SENTENCE_WORDS_MAX:
        yield f"{n_words(sentence)} words"
    if n_words(sentence) > 4 and not VERBS.search(sentence):
        yield "no verb"
    if re.search(r"\w[:;] [a-z]", sentence) and n_words(sentence) > 12:
        yield "a colon or semicolon: is it a cause?"


def comment_faults(path, text):
    """The places where a comment breaks a rule by itself, whatever its room does."""
    for line, words in comments(path, text):
        for sentence in sentences(words):
            for fault in faults_of_sentence(sentence):
                yield f"{path}:{line}: {fault}: {sentence[:80]}"


def pronoun_count(path, text):
    """(pronouns for persons, words) in the comments of a file."""
    found = [words for _, words in comments(path, text)]
    return sum(len(PRONOUNS.findall(w)) for w in found), sum(map(n_words, found))


def pronoun_faults(sources):
    """Rooms with too many pronouns for persons; sources are (room, path, text)."""
    rooms = {}
    for room, path, text in sources:
        total = rooms.setdefault(room, [0, 0])
        for i, n in enumerate(pronoun_count(path, text)):
            total[i] += n
    for room, (pronouns, words) in sorted(rooms.items()):
        allowed = max(1, words * PRONOUNS_PER_10000 // 10000)
        if pronouns > allowed:
            yield f"{room}: {pronouns} of who, nobody, somebody and the like in {words} words, at most {allowed}"


def citation_faults(path, text, files):
    """Comments that cite a document which is not in the tree; files are the paths of the tree."""
    known = {f for f in files} | {os.path.basename(f) for f in files}
    for line, words in comments(path, text):
        for match in CITATION.finditer(words):
            name = match.group(1)
            if "NAME" in name or name in known | OUTSIDE:
                continue
            if not any(f.endswith("/" + name) for f in files):
                yield f"{path}:{line}: cites {name}, which is not in the tree"


def main():
    is_all = "--all" in sys.argv
    totals = [0, 0]
    for path in (p for p in sys.argv[1:] if p != "--all"):
        text = open(path, encoding="utf-8", errors="replace").read()
        for i, n in enumerate(pronoun_count(path, text)):
            totals[i] += n
        for line, words in comments(path, text):
            for sentence in sentences(words):
                found = list(faults_of_sentence(sentence))
                found += list(advice_on_sentence(sentence)) if is_all else []
                if found:
                    print(f"{path}:{line}: [{' | '.join(found)}] {sentence}")
    print(f"{totals[0]} pronouns for persons in {totals[1]} words of comments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
