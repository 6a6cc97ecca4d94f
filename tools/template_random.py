"""Random templates over the whole grammar of jinja2, and random conversations for them to render.

case(seed) gives (template, context): the same seed gives the same case. Expressions know roughly which type they make, so
that most templates render; some do not, on purpose. What a run of this module prints is one case.
"""
import json
import random
import sys

WORDS = ["", "a", "Hello", "  padded \n", "x,y,,z", "two words", "Ünïcödé ß", "ΣΑΣ ὈΔΥΣΣΕΎΣ", "日本語 テキスト", "😀 emoji",
         "tab\there", "line one\nline two\r\nthree\n\n", "<b>&'\"</b>", "12", "-3.5e2", "0x1F", "%s and %d", "{} {0}", "{a}",
         "snake_case-word", "İstanbul ǆ ﬁ", "nbsp\u00a0end\u3000", "e\u0301x", "aAbB", "١٢", "²", "a.b.0", "None", "/p?q=1 2",
         "a long line of words that may be wrapped at a hyphen-ated-word -- or a dash", "role", "content", "\x1c\x85\u2028 sep"]
NAMES = ["messages", "tools", "s", "t", "i", "j", "f", "b", "n", "xs", "ys", "d", "e", "nested", "undefined_name", "bos_token"]
KINDS = {"messages": "list", "tools": "any", "s": "str", "t": "str", "i": "int", "j": "int", "f": "float", "b": "bool",
         "n": "none", "xs": "list", "ys": "list", "d": "dict", "e": "dict", "nested": "dict", "bos_token": "str"}
TYPES = ["str", "int", "float", "bool", "list", "dict", "none", "any"]


class Random(random.Random):
    def some(self, items):
        return items[self.randrange(len(items))]

    def chance(self, p):
        return self.random() < p


def value(r, depth=0):
    """A random JSON value."""
    kind = r.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return r.chance(0.5)
    if kind == 2:
        return r.some([0, 1, -1, 2, 7, 10, 255, -1000, 123456789])
    if kind == 3:
        return r.some([0.0, 1.5, -2.25, 0.1, 1e10, 1e-7, 2.5, 3.5, 1234567.891, -0.0, 1e16, 0.30000000000000004])
    if kind < 6:
        return r.some(WORDS)
    if kind == 6:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    keys = ["a", "b", "role", "content", "name", "Key", "x y", "items", "é", "1"]
    return {r.some(keys): value(r, depth + 1) for _ in range(r.randrange(4))}


def message(r):
    m = {"role": r.some(["system", "user", "assistant", "tool", "developer"])}
    form = r.randrange(8)
    if form == 0:
        m["content"] = None
    elif form == 1:
        m["content"] = [{"type": "text", "text": r.some(WORDS)} for _ in range(r.randrange(3))]
    elif form != 2:
        m["content"] = r.some(WORDS)
    if r.chance(0.2):
        m["reasoning_content"] = r.some(WORDS)
    if r.chance(0.2):
        m["name"] = r.some(["bob", "Ann", ""])
    if r.chance(0.25):
        m["tool_calls"] = [{"id": "call00001", "type": "function",
                            "function": {"name": r.some(["f", "g"]), "arguments": value(r) if r.chance(0.7) else "{\"a\": 1}"}}]
    return m


def tool(r):
    return {"type": "function", "function": {
        "name": r.some(["f", "g"]), "description": r.some(WORDS),
        "parameters": {"type": "object", "properties": {r.some(["p", "q"]): {"type": r.some(["string", "integer"])}},
                       "required": r.some([[], ["p"]])}}}


def context(r):
    return {"messages": [message(r) for _ in range(r.randrange(5))],
            "tools": None if r.chance(0.3) else [tool(r) for _ in range(r.randrange(3))],
            "s": r.some(WORDS), "t": r.some(WORDS), "i": r.some([0, 1, 2, 3, 5, 10, 42, -7]), "j": r.some([1, 2, 3, -1, 4]),
            "f": r.some([0.5, 1.0, -2.5, 3.14159, 1e3, 2.5, 0.1]), "b": r.chance(0.5), "n": None,
            "xs": [r.some([value(r), r.some(WORDS), r.randrange(9)]) for _ in range(r.randrange(5))],
            "ys": r.some([[3, 1, 2, 2], ["b", "a", "C", "c"], [1.5, 2, True], [], [[1, 2], [0, 5]], ["x"]]),
            "d": {r.some(["a", "b", "c", "role", "items"]): value(r) for _ in range(r.randrange(4))},
            "e": {"z": r.randrange(5), "A": r.some(WORDS), "m": r.randrange(5)},
            "nested": {"a": {"b": [1, {"c": r.some(WORDS)}]}, "role": r.some(WORDS), "n": 3},
            "bos_token": "<s>", "add_generation_prompt": r.chance(0.5)}


def conversation(seed):
    """A context as chats have it: turns in order, some with parts, calls of tools or reasoning; for whole templates."""
    r = Random(f"conversation {seed}")
    turns = [{"role": r.some(["system", "system", "developer"]), "content": r.some(WORDS)}] if r.chance(0.5) else []
    for _ in range(r.randrange(1, 4)):
        text = r.some(WORDS)
        turns.append({"role": "user", "content": [{"type": "text", "text": text}] if r.chance(0.2) else text})
        form = r.randrange(8)
        answer = {"role": "assistant", "content": r.some(["", "<think>\nhm\n</think>\n\n"]) + r.some(WORDS)}
        if r.chance(0.3):
            answer["reasoning_content"] = answer["thinking"] = r.some(WORDS)
        if form < 3:
            arguments = value(r)
            arguments = arguments if isinstance(arguments, dict) else {"a": arguments}
            answer["content"] = r.some([None, "", r.some(WORDS)])
            answer["tool_calls"] = [{"id": "call00001", "type": "function", "function": {
                "name": "f", "arguments": arguments if r.chance(0.7) else json.dumps(arguments)}}]
            turns += [answer, {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": r.some(WORDS)}]
        elif form < 7:
            turns.append(answer)
    given = {"messages": turns, "tools": [tool(r) for _ in range(r.randrange(1, 3))] if r.chance(0.4) else None,
             "documents": [{"doc_id": 1, "title": r.some(WORDS), "text": r.some(WORDS)}] if r.chance(0.1) else None,
             "add_generation_prompt": r.chance(0.7), "bos_token": "<s>", "eos_token": "</s>"}
    for key, choices in (("enable_thinking", [True, False]), ("reasoning_effort", ["low", "high"]), ("thinking", [True, False])):
        if r.chance(0.2):
            given[key] = r.some(choices)
    return given


def is_one_group(text):
    """One string, or one pair of brackets around everything."""
    if text[0] in "\"'":
        return text[-1] == text[0] and text.count(text[0]) == 2 and "\\" not in text
    depth, quote, k = 0, None, 0
    while k < len(text):
        c = text[k]
        if quote:
            k += c == "\\"
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0 and k < len(text) - 1:
                return False
        k += 1
    return True


class Template:
    def __init__(self, seed):
        self.r = Random(seed)
        self.scopes = [dict(KINDS)]
        self.macros = []
        self.in_loop = 0
        self.has_loop_name = 0
        self.n_names = 0
        self.depth = 0

    # --- expressions -----------------------------------------------------------------------------------------------

    def names(self, kind):
        seen = {}
        for scope in self.scopes:
            seen.update(scope)
        return [n for n, k in seen.items() if kind == "any" or k == kind]

    def quoted(self, text):
        quote = self.r.some(["'", '"'])
        text = text.replace("\\", "\\\\").replace(quote, "\\" + quote).replace("\n", "\\n").replace("\r", "\\r")
        return quote + text + quote

    def literal(self, kind):
        r = self.r
        if kind == "str":
            return self.quoted(r.some(WORDS)) if r.chance(0.95) else r.some([r"'\x41\u00e9\101\q'", "'a' \"b\"", "'\\\nx'"])
        if kind == "int":
            return r.some(["0", "1", "2", "3", "10", "42", "-1", "1_000", "0x1f", "0b101", "0o17", "7"])
        if kind == "float":
            return r.some(["0.5", "1.0", "2.5", "1e3", "-0.25", "1_0.5", "3.14", "1E-3", "100.0"])
        if kind == "bool":
            return r.some(["true", "false", "True", "False"])
        if kind == "none":
            return r.some(["none", "None"])
        if kind == "list":
            items = [self.expr(r.some(TYPES)) for _ in range(r.randrange(4))]
            if r.chance(0.3):
                return "(" + ", ".join(items) + ("," if len(items) == 1 or (items and r.chance(0.2)) else "") + ")"
            return "[" + ", ".join(items) + ("," if items and r.chance(0.1) else "") + "]"
        if kind == "dict":
            pairs = [f"{self.literal(r.some(['str', 'str', 'str', 'int', 'none', 'float', 'bool']))}: {self.expr('any')}"
                     for _ in range(r.randrange(3))]
            return "{" + ", ".join(pairs) + "}"
        return self.literal(r.some(TYPES[:-1]))

    def expr(self, kind="any"):
        """An expression that mostly makes this kind."""
        r = self.r
        if r.chance(0.01):
            kind = r.some(TYPES)
        if kind == "any":
            kind = r.some(TYPES[:-1])
        self.depth += 1
        try:
            names = self.names(kind)
            if self.depth > 4 or r.chance(0.3):
                return r.some(names) if names and r.chance(0.7) else self.literal(kind)
            if r.chance(0.08):
                return f"({self.expr(kind)} if {self.condition()}" + (f" else {self.expr(kind)})" if r.chance(0.85) else ")")
            if r.chance(0.05):
                return f"({self.expr(kind)} {r.some(['or', 'and'])} {self.expr(kind)})"
            if r.chance(0.03):
                return f"{self.postfix(self.expr('any'))}|default({self.expr(kind)}{r.some(['', ', true', ', boolean=true'])})"
            return getattr(self, "make_" + kind)()
        finally:
            self.depth -= 1

    def postfix(self, text):
        """An operand that attributes, subscripts, calls and filters may follow."""
        if text.replace("_", "").isalnum() and not text[0].isdigit():
            return text
        if text[0] in "([{\"'" and is_one_group(text):
            return text
        return f"({text})"

    def divisor(self, kind):
        return self.expr(kind) if self.r.chance(0.4) else self.r.some(["1", "2", "3", "7", "-2", "2.5", "0.5", "true"])

    def condition(self):
        return self.expr("bool") if self.r.chance(0.7) else self.expr("any")

    def small(self):
        return self.r.some(["0", "1", "2", "3", "4", "5", "8", "-1", "-2", "none", "i", "j"])

    def subscript(self, of):
        r = self.r
        form = r.randrange(6)
        if form == 0:
            return f"{of}[{self.small()}]"
        if form == 1:
            return f"{of}[{r.some(['', self.small()])}:{r.some(['', self.small()])}]"
        if form == 2:
            return f"{of}[{r.some(['', self.small()])}:{r.some(['', self.small()])}:{r.some(['', '1', '2', '-1', '-2', 'j'])}]"
        if form == 3:
            return f"{of}.{r.some(['0', 'role', 'content', 'a', 'items', 'name', 'z', 'upper', '_x', 'pop'])}"
        if form == 4:
            return f"{of}[{self.quoted(r.some(['role', 'content', 'a', 'z', 'A', 'get', 'x y', 'c']))}]"
        return f"{of}.{r.some(['a', 'nested', 'tool_calls'])}"

    def args(self, *spec):
        """Arguments for parameters ("name", text): some by name, the tail left out at times."""
        r = self.r
        out, by_name = [], False
        required = [s for s in spec if not s[0].startswith("?")]
        for name, text in spec:
            optional = name.startswith("?")
            name = name.lstrip("?")
            if optional and r.chance(0.55):
                by_name = True
                continue
            by_name = by_name or r.chance(0.15)
            out.append(f"{name}={text}" if by_name else text)
        if r.chance(0.004):
            out.append(r.some(["1", "'x'", "nope=1"]))
        if r.chance(0.004) and required:
            out = out[1:]
        return "(" + ", ".join(out) + ")" if out or r.chance(0.3) else ""

    def make_str(self):
        r = self.r
        form = r.randrange(12)
        if form < 4:
            return self.str_method()
        if form < 7:
            return self.str_filter()
        if form == 7:
            return " ~ ".join(self.expr("any") for _ in range(r.randrange(2, 4)))
        if form == 8:
            return f"{self.postfix(self.expr('str'))} " + r.some([f"+ {self.postfix(self.expr('str'))}", f"* {r.randrange(4)}"])
        if form == 9:
            return self.subscript(self.postfix(self.expr("str")))
        if form == 10:
            return self.formatting()
        if self.macros and r.chance(0.7):
            return self.macro_call()
        if self.has_loop_name and r.chance(0.5):
            return r.some(["loop.cycle('odd', 'even')", "loop.index ~ '/' ~ loop.length", "loop.previtem|default('P')|string",
                           "loop.nextitem|default('N')|string", "loop|string"])
        return r.some(["strftime_now('%Y-%m-%d')", "strftime_now(\"%d %B %Y %H:%M %j %A %%\")", "joiner()()", "cycler('a', 'b').next()",
                       "range(3)|string", "d.keys()|string", "e.items()|string", "namespace(a=1)|string"])

    def str_method(self):
        r = self.r
        of = self.postfix(self.expr("str"))
        ch = r.some([" ", "a", "x", ",", "-", "é"])
        return of + r.some([
            ".upper()", ".lower()", ".title()", ".capitalize()", ".swapcase()", ".casefold()", ".strip()", ".lstrip()", ".rstrip()",
            f".strip({self.quoted(ch)})", f".lstrip({self.expr('str')})", f".rstrip({self.quoted('xy ')})",
            f".replace({self.expr('str')}, {self.expr('str')})", f".replace({self.quoted(ch)}, {self.expr('str')}, {self.small()})",
            f".center({self.r.randrange(20)})", f".ljust({r.randrange(15)}, {self.quoted(ch)})", f".rjust({r.randrange(15)})",
            f".zfill({r.randrange(12)})", f".removeprefix({self.expr('str')})", f".removesuffix({self.quoted(ch)})",
            f".partition({self.quoted(ch)})[{r.randrange(3)}]", f".rpartition({self.quoted(ch)})|join('|')",
            f".join({self.expr('list')})", f".join(['p', 'q', {self.expr('str')}])", ".expandtabs()", f".expandtabs({r.randrange(5)})",
            f".split()[{r.randrange(2)}]", f".split({self.quoted(ch)})|last", ".splitlines()|join('/')", f".format({self.expr('any')})"])

    def str_filter(self):
        r = self.r
        if r.chance(0.35):
            of = self.postfix(self.expr("any"))
            return of + r.some(["|string", "|tojson", "|e", "|escape", "|safe", "|trim", "|upper", "|forceescape", "|urlencode", "|capitalize",
                                "|tojson" + self.args(("?ensure_ascii", "true"), ("?indent", r.some(["2", "0", "'  '", "none"])),
                                                      ("?separators", "(',', ':')"), ("?sort_keys", "true")),
                                "|list|string", "|pprint"][:-1] + ["|string"])
        if r.chance(0.2):
            return f"{self.postfix(self.expr('list'))}|join({self.quoted(r.some([', ', '']))})"
        of = self.postfix(self.expr("str"))
        return of + r.some([
            "|upper", "|lower", "|title", "|capitalize", "|trim", f"|trim({self.quoted('ax ')})", f"|center({r.randrange(20)})",
            "|replace" + self.args(("old", self.expr("str")), ("new", self.expr("str")), ("?count", self.small())),
            "|indent" + self.args(("?width", r.some(["2", "'> '", "0"])), ("?first", "true"), ("?blank", "true")),
            "|truncate" + self.args(("?length", r.some(["5", "10", "3"])), ("?killwords", "true"), ("?end", "'..'"), ("?leeway", "0")),
            "|wordwrap" + self.args(("?width", r.some(["5", "10", "20"])), ("?break_long_words", "false"), ("?wrapstring", "'|'"),
                                    ("?break_on_hyphens", r.some(["true", "false"]))),
            "|reverse", "|first", "|last", "|format" + self.args(("?a", self.expr("any"))), "|list|join('.')", "|escape", "|string",
            "|batch(2)|map('join')|join('+')", "|urlencode", "|d('x')", "|xmlattr"])

    def formatting(self):
        r = self.r
        conversion = r.some(["s", "r", "d", "i", "x", "X", "o", "e", "f", "g", "G", "c", "a", "5.1f", "-6d", "05d", "+d", " d", "#x", ".3f",
                             "08.2f", ".2s", "10s", "-10s", "%", "5%", ".3d", "#o", "*d"])
        kind = "float" if conversion[-1] in "efgG" else "int" if conversion[-1] in "dixXoc" else "any"
        if r.chance(0.4):
            spec = r.some(["", ":", ":>8", ":*^9", ":<5", ":05d", ":+.2f", ":,", ":x", ":#b", ":.3", ":e", "!r", "!s:>6", ":10.3f", ":_", ":%", ":g",
                           ":=+8", ":{}", "!a", ":c", ":08,.1f", ": d", ":^10", ":.0f", ":n"])
            field = r.some(["", "0", "1", "a", "0[0]", "a.real", "0[a]", "a[z]"])
            return self.quoted("<{" + field + spec + "}>") + f".format({self.expr('any')}, {self.expr('int')}, a={self.expr('any')})"
        if r.chance(0.25):
            return f"'%({r.some(['z', 'A', 'a'])}){r.some(['s', 'd', 'r'])}!' % {self.postfix(self.expr('dict'))}"
        arguments = f"({self.expr(kind)},)" if r.chance(0.5) else self.postfix(self.expr(kind))
        if "*" in conversion:
            arguments = f"({r.randrange(8)}, {self.expr(kind)})"
        return f"'<%{conversion}>' % {arguments}"

    def make_int(self):
        r = self.r
        form = r.randrange(9)
        if form < 3:
            return f"{self.postfix(self.expr('int'))} {r.some(['+', '-', '*', '//', '%', '**'])} {self.postfix(self.divisor('int'))}"
        if form == 3:
            return f"{self.postfix(self.expr(r.some(['str', 'list', 'dict', 'any'])))}|{r.some(['length', 'count'])}"
        if form == 4:
            return f"{self.postfix(self.expr('any'))}|int" + self.args(("?default", self.expr("int")), ("?base", r.some(["16", "0", "2", "10"])))
        if form == 5:
            of = self.postfix(self.expr("str"))
            what = self.quoted(r.some(["a", "", "e", " ", "x"]))
            return of + r.some([f".find({what})", f".rfind({what})", f".count({what})", f".index({what})", f".find({what}, {self.small()})",
                                f".count({what}, {self.small()}, {self.small()})", "|wordcount", f".rindex({what})"])
        if form == 6:
            return r.some(["-", "+"]) + self.postfix(self.expr("int"))
        if form == 7:
            return self.postfix(self.expr("list")) + r.some(["|sum", "|max", "|min", "|first", "|last", f".index({self.expr('any')})",
                                                             f".count({self.expr('any')})", "|sum(start=1)", f"[{self.small()}]",
                                                             "|map('length')|sum", "|map('int')|sum", "|max(case_sensitive=true)"])
        if self.has_loop_name:
            return "loop." + r.some(["index", "index0", "revindex", "revindex0", "length", "depth", "depth0"])
        return r.some(["i.real", "i.numerator", "j|abs", "i|abs", "i.bit_length()", "(i|round)", "i|round(-1)", "true + true"])

    def make_float(self):
        r = self.r
        form = r.randrange(6)
        if form < 2:
            return f"{self.postfix(self.expr('float'))} {r.some(['+', '-', '*', '/', '//', '%'])} {self.postfix(self.divisor('float'))}"
        if form == 2:
            return f"{self.postfix(self.expr('int'))} / {self.postfix(self.divisor('int'))}"
        if form == 3:
            return f"{self.postfix(self.expr(r.some(['float', 'int'])))}|round" + self.args(
                ("?precision", r.some(["1", "2", "0", "-1", "5", "none"])), ("?method", r.some(["'floor'", "'ceil'", "'common'"])))
        if form == 4:
            return f"{self.postfix(self.expr('any'))}|float" + self.args(("?default", self.expr("float")))
        return f"{self.postfix(self.expr('float'))}" + r.some(["|abs", " ** 2", ".real", ".imag", "|filesizeformat", "|string|float"])

    def make_none(self):
        return self.r.some(["none", "n", "d.get('nope')", "undefined_name", "messages[9]", "none|first", "xs[99]", "d.nope"])

    def make_bool(self):
        r = self.r
        form = r.randrange(9)
        if form < 3:
            kind = r.some(["int", "str", "float", "int", "str"])
            if r.chance(0.3):
                return f"{self.postfix(self.expr('any'))} {r.some(['==', '!='])} {self.postfix(self.expr('any'))}"
            chain = f"{self.postfix(self.expr(kind))} {r.some(['==', '!=', '<', '<=', '>', '>='])} {self.postfix(self.expr(kind))}"
            return chain + (f" {r.some(['<', '==', '>='])} {self.postfix(self.expr(kind))}" if r.chance(0.15) else "")
        if form == 3:
            left, right = r.some([("str", "str"), ("any", "list"), ("str", "dict"), ("int", "list"), ("none", "list")])
            return f"{self.postfix(self.expr(left))} {r.some(['in', 'not in'])} {self.postfix(self.expr(right))}"
        if form == 4:
            return f"not {self.postfix(self.expr('any'))}"
        if form < 7:
            return self.test()
        if form == 7:
            of = self.postfix(self.expr("str"))
            what = self.quoted(r.some(["a", "", "H", " ", "x"]))
            return of + r.some([f".startswith({what})", f".endswith({what})", f".startswith(('a', {what}))", ".isalpha()", ".isdigit()", ".isalnum()",
                                ".isspace()", ".isupper()", ".islower()", ".istitle()", ".isnumeric()", ".isdecimal()", ".isascii()",
                                ".isprintable()", f".startswith({what}, {self.small()})", ".isidentifier()"])
        if self.has_loop_name:
            return r.some(["loop.first", "loop.last", "loop.changed(i)", f"loop.changed({self.expr('any')})"])
        return f"{self.expr('bool')} {r.some(['and', 'or'])} {self.expr('bool')}"

    def test(self):
        r = self.r
        of = self.postfix(self.expr("any"))
        plain = ["defined", "undefined", "none", "string", "mapping", "number", "integer", "float", "boolean", "callable", "sequence", "iterable",
                 "escaped", "true", "false", "lower", "upper"]
        form = r.randrange(8)
        verb = r.some(["is", "is", "is not"])
        if form < 4:
            return f"{of} {verb} {r.some(plain)}"
        if form == 4:
            return f"{self.postfix(self.expr('int'))} {verb} {r.some(['odd', 'even', 'divisibleby 2', 'divisibleby(3)', 'divisibleby j'])}"
        if form == 5:
            name = r.some(["eq", "ne", "lt", "gt", "le", "ge", "equalto", "lessthan", "greaterthan"])
            kind = r.some(["int", "str", "float"])
            return f"{self.postfix(self.expr(kind))} {verb} {name}({self.expr(kind)})"
        if form == 6:
            return f"{of} {verb} in {self.postfix(self.expr('list'))}"
        return r.some([f"{of} {verb} sameas {r.some(['none', 'true', 'false'])}", f"'upper' {verb} filter", f"'odd' {verb} test", f"'nope' {verb} filter"])

    def make_list(self):
        r = self.r
        form = r.randrange(10)
        of = self.postfix(self.expr("list"))
        if form < 5:
            return of + self.list_filter()
        if form == 5:
            return f"({of}|list) " + r.some([f"+ ({self.postfix(self.expr('list'))}|list)", f"* {r.randrange(4)}", f"+ {of}"])
        if form == 6:
            return f"{of}[{r.some(['', self.small()])}:{r.some(['', self.small()])}{r.some(['', '', ':2', ':-1'])}]"
        if form == 7:
            return r.some(["range", "range"]) + f"({r.some(['', self.small() + ', '])}{r.randrange(1, 7)}{r.some(['', ', 2', ', -1'])})" + r.some(["", "|list"])
        if form == 8:
            what = self.postfix(self.expr("str"))
            sep = self.quoted(r.some([",", " ", "a", "\n", "--"]))
            return what + r.some([".split()", f".split({sep})", f".split({sep}, 1)", ".splitlines()", ".splitlines(true)", f".rsplit({sep}, 1)",
                                  "|list", f".partition({sep})", f".rsplit(maxsplit={self.small()})", f".split(none, {r.randrange(3)})"])
        return self.postfix(self.expr("dict")) + r.some([".items()|list", ".keys()|list", ".values()|list", "|dictsort", "|items|list", "|list",
                                                         "|dictsort" + self.args(("?case_sensitive", "true"), ("?by", "'value'"), ("?reverse", "true"))])

    def list_filter(self):
        r = self.r
        attribute = self.quoted(r.some(["role", "content", "a", "0", "name", "z", "1"]) if r.chance(0.95) else "function.name")
        return r.some([
            "|list", "|reverse|list", "|unique|list", "|sort", "|sort(reverse=true)", f"|sort(attribute={attribute})", "|sort(case_sensitive=true)",
            f"|map(attribute={attribute})|list", f"|map(attribute={attribute}, default={self.expr('any')})|list", "|map('upper')|list",
            f"|map({self.quoted(r.some(['string', 'length', 'trim', 'lower', 'int', 'float', 'tojson', 'first', 'list', 'title', 'abs', 'e']))})|list",
            f"|map('replace', 'a', {self.expr('str')})|list", f"|map('default', {self.expr('any')}, true)|list",
            "|select|list", "|reject|list", f"|select({self.quoted(r.some(['string', 'number', 'defined', 'none', 'odd', 'mapping', 'iterable']))})|list",
            f"|reject({self.quoted(r.some(['string', 'number', 'none', 'even']))})|list", f"|select('equalto', {self.expr('any')})|list",
            f"|selectattr({attribute})|list", f"|selectattr({attribute}, 'defined')|list", f"|rejectattr({attribute})|list",
            f"|selectattr({attribute}, {self.quoted(r.some(['equalto', '==', 'ne', 'in']))}, {self.expr('any')})|list",
            f"|rejectattr({attribute}, 'none')|list", "|batch" + self.args(("linecount", str(r.randrange(1, 4))), ("?fill_with", self.expr("any"))) + "|list",
            "|slice" + self.args(("slices", str(r.randrange(1, 4))), ("?fill_with", self.expr("any"))) + "|list",
            "|groupby" + self.args(("attribute", attribute), ("?default", self.expr("str")), ("?case_sensitive", "true")),
            f"|groupby({attribute})|map(attribute='grouper')|list", f"|groupby({attribute})|map('last')|list", "|map('string')|unique|list",
            "|map('lower')", "|select", "|map('string')|sort", "|map('string')|sort(reverse=true, case_sensitive=true)"])

    def make_dict(self):
        r = self.r
        form = r.randrange(6)
        if form == 0:
            return f"dict({r.some(['a', 'b'])}={self.expr('any')})"
        if form == 1:
            return f"dict({self.expr('dict')}, c={self.expr('any')})"
        if form == 2:
            return f"dict([['k', {self.expr('any')}], ('l', 2)])"
        if form == 3:
            return r.some(["nested.a", "nested['a']", "(messages|first)|default({})", "(tools or [])|first|default({})", "loop.previtem|default({})",
                           "messages[0]|default({})", "dict(e, **d)", "dict(e.items())", "dict(range(2)|batch(2)|list)"])
        if form == 4:
            return f"{self.postfix(self.expr('dict'))}.{r.some(['copy()', 'get(' + self.quoted('nope') + ', {})'])}"
        return r.some(["e", "d", "nested"])

    # --- statements ------------------------------------------------------------------------------------------------

    def tag(self, inside):
        r = self.r
        before = r.some(["", "", "", "-", "-", "+"])
        behind = r.some(["", "", "", "-", "-", "+"])
        pad = r.some([" ", " ", " ", "", "\n"])
        return "{%" + before + pad + inside + " " + behind + "%}"

    def text(self):
        return self.r.some(["", " ", "\n", "  \n  ", "text", " a b ", "\n\n", "x\n", "\t", "é", "{ }", "% }", "line\n    ", "{#- c -#}", "{# note #}\n",
                            "{% raw %}{{ raw }}{% endraw %}", "{%- raw -%} {% x %} {%- endraw +%}\n", "\u00a0"])

    def output(self):
        r = self.r
        inside = self.expr("any")
        if r.chance(0.05):
            inside += ", " + self.expr("any")
        return "{{" + r.some(["", "", "-"]) + " " + inside + " " + r.some(["", "", "-"]) + "}}"

    def body(self, n=2):
        out = [self.text()]
        for _ in range(self.r.randrange(1, n + 1)):
            out += [self.statement(), self.text()]
        return "".join(out)

    def scoped(self, names, n=2):
        self.scopes.append(names)
        text = self.body(n)
        self.scopes.pop()
        return text

    def new_name(self):
        self.n_names += 1
        return self.r.some(["v", "w", "u", "s", "i", "xs", "x"]) if self.r.chance(0.8) else f"v{self.n_names}"

    def statement(self):
        r = self.r
        if len(self.scopes) > 4 or r.chance(0.4):
            return self.output()
        forms = [self.st_if, self.st_for, self.st_for, self.st_set, self.st_set, self.st_capture, self.st_with, self.st_filter, self.st_macro,
                 self.st_call, self.st_print, self.st_namespace, self.st_generation]
        if self.in_loop and r.chance(0.1):
            return self.tag("if " + self.condition()) + self.tag(r.some(["break", "continue"])) + self.tag("endif")
        return r.some(forms)()

    def st_if(self):
        text = self.tag(f"if {self.condition()}") + self.body()
        for _ in range(self.r.randrange(2)):
            text += self.tag(f"elif {self.condition()}") + self.body(1)
        if self.r.chance(0.5):
            text += self.tag("else") + self.body(1)
        return text + self.tag("endif")

    def st_for(self):
        r = self.r
        name = self.new_name()
        if r.chance(0.2):
            head = f"for {name}, {r.some(['y', 'z'])} in {self.postfix(self.expr('dict'))}{r.some(['.items()', '|items', '|dictsort'])}"
            names = {name: "str", "y": "any", "z": "any"}
        else:
            head = f"for {name} in {self.expr(r.some(['list', 'list', 'list', 'str', 'dict']))}"
            names = {name: "any"}
        recursive = r.chance(0.08)
        if r.chance(0.2):
            head += f" if {self.condition_in(names)}"
        if recursive:
            head += " recursive"
        uses_loop = recursive or r.chance(0.5)
        self.in_loop += 1
        self.has_loop_name += uses_loop
        inner = self.scoped(names)
        if recursive:
            inner += "{% if loop.depth < 3 %}{{ loop(" + r.some(["[1, 2]", "xs", name, "[]"]) + ") }}{% endif %}"
        self.has_loop_name -= uses_loop
        text = self.tag(head) + inner
        self.in_loop -= 1
        if r.chance(0.3):
            text += self.tag("else") + self.body(1)
        return text + self.tag("endfor")

    def condition_in(self, names):
        self.scopes.append(names)
        text = f"({self.condition()})" if self.r.chance(0.5) else self.condition()
        self.scopes.pop()
        return text

    def st_set(self):
        r = self.r
        kind = r.some(TYPES[:-1])
        name = self.new_name()
        if r.chance(0.12):
            other = r.some(["y", "z"])
            text = self.tag(f"set {name}, {other} = {self.expr('any')}, {self.expr('any')}")
            self.scopes[-1].update({name: "any", other: "any"})
            return text
        text = self.tag(f"set {name} = {self.expr(kind)}")
        self.scopes[-1][name] = kind
        return text

    def st_capture(self):
        r = self.r
        name = self.new_name()
        chain = r.some(["", "", " | upper", " | trim | title", " | replace('a', 'b')", " | length"])
        loops, self.in_loop = self.in_loop, self.in_loop if r.chance(0.2) else 0
        text = self.tag(f"set {name}{chain}") + self.scoped({}, 1) + self.tag("endset")
        self.in_loop = loops
        self.scopes[-1][name] = "str"
        return text

    def st_with(self):
        name = self.new_name()
        head = self.r.some([f"with {name} = {self.expr('any')}", f"with {name} = {self.expr('int')}, z = {self.expr('any')}", "with"])
        return self.tag(head) + self.scoped({name: "any"}) + self.tag("endwith")

    def st_filter(self):
        chain = self.r.some(["upper", "trim", "replace('a', 'o')", "indent(2)", "title | trim", "lower", "escape", "wordwrap(8)", "urlencode"])
        return self.tag("filter " + chain) + self.scoped({}, 1) + self.tag("endfilter")

    def st_macro(self):
        r = self.r
        name = f"m{len(self.macros)}"
        parameters = r.some([[], ["p"], ["p", "q"], ["p", "q", "r"]])
        n_defaults = r.randrange(len(parameters) + 1)
        head = [p if k < len(parameters) - n_defaults else f"{p}={self.expr('any') if r.chance(0.8) else (parameters[0])}"
                for k, p in enumerate(parameters)]
        loops, names = self.in_loop, self.has_loop_name
        self.in_loop = self.has_loop_name = 0
        extra = r.some(["", "", "", "{{ varargs }}", "{{ kwargs }}", "{{ caller() if caller is defined }}", "{{ caller('C') }}"])
        text = self.tag(f"macro {name}({', '.join(head)})") + self.scoped({p: "any" for p in parameters}) + extra + self.tag("endmacro")
        self.in_loop, self.has_loop_name = loops, names
        self.macros.append((name, parameters))
        return text

    def macro_call(self):
        r = self.r
        name, parameters = r.some(self.macros)
        out = []
        for p in parameters:
            if r.chance(0.8):
                value_text = self.expr("any")
                by_name = r.chance(0.25) or (out and "=" in out[-1].split("(")[0])
                out.append(f"{p}={value_text}" if by_name else value_text)
                if not by_name and len(out) > 1 and any(o.startswith(tuple(x + "=" for x in parameters)) for o in out[:-1]):
                    out.pop()
        if r.chance(0.05):
            out.append("*[1]" if not any("=" in o.split("(")[0] for o in out) else "**{'zz': 1}")
        return f"{name}({', '.join(out)})"

    def st_call(self):
        r = self.r
        if not self.macros:
            return self.st_macro()
        head = r.some(["call", "call", "call(x)", "call(x='D')"])
        loops, names = self.in_loop, self.has_loop_name
        self.in_loop = self.has_loop_name = 0
        inner = self.scoped({"x": "any"}, 1)
        self.in_loop, self.has_loop_name = loops, names
        return self.tag(f"{head} {self.macro_call()}") + inner + self.tag("endcall")

    def st_print(self):
        return self.tag(f"print {self.expr('any')}" + (f", {self.expr('any')}" if self.r.chance(0.3) else ""))

    def st_namespace(self):
        r = self.r
        text = self.tag(f"set ns = namespace(a={self.expr('any')}, n={r.randrange(5)})")
        self.scopes[-1]["ns"] = "none"
        return text + self.tag(f"for q in {self.expr('list')}") + self.tag("set ns.n = ns.n + 1") + self.tag(
            f"set ns.a = {r.some(['q', 'ns.a ~ q', 'ns.n', self.expr('any')])}") + self.tag("endfor") + "{{ ns.n }}{{ ns.a }}"

    def st_generation(self):
        loops, self.in_loop = self.in_loop, 0
        text = self.tag("generation") + self.scoped({}, 1) + self.tag("endgeneration")
        self.in_loop = loops
        return text


# --- one call of one builtin, with any arguments ---------------------------------------------------------------------

TYPE_NAMES = {str: ["s", "t", "w"], int: ["i", "j", "b"], float: ["f", "g"], list: ["xs", "ys", "ms"], tuple: ["(1, 'a', xs)"],
              dict: ["d", "e", "nested"], range: ["range(1, 9, 2)"], type({}.keys()): ["d.keys()", "e.items()", "e.values()"]}
VALUES = ["s", "t", "w", "i", "j", "b", "f", "g", "xs", "ys", "ms", "d", "e", "nested", "n", "undefined_name", "0", "1", "2", "3", "-1", "10", "16",
          "true", "none", "''", "'a'", "'x,y'", "' '", "'role'", "'a.0'", "('a', 'b')", "[1, 2]", "1.5", "-0.5", "'%'", "range(3)", "{'a': 1}",
          "'content'", "'upper'", "'even'", "'=='", "xs|map('string')", "namespace(a=1)", "2.5", "1e300", "'é'", "'ß'"]
PARAMETERS = ["width", "first", "blank", "default", "base", "attribute", "reverse", "case_sensitive", "by", "count", "precision", "method", "sep",
              "maxsplit", "keepends", "length", "killwords", "end", "leeway", "fill_with", "start", "boolean", "default_value", "tabsize", "chars",
              "ensure_ascii", "indent", "separators", "sort_keys", "linecount", "slices", "binary", "d", "name", "a", "autospace", "num", "seq", "other"]
FORMATS = ["<>=^", "+- ", "#", "0", "123456789", ",_", ".", "bcdeEfFgGnosxX%"]


def letters(r):
    """A text of letters from all over Unicode, but for those that came after Unicode 14."""
    import unicodedata
    out = []
    while len(out) < r.randrange(1, 9):
        c = chr(r.some([r.randrange(32, 127), r.randrange(0xA0, 0x250), r.randrange(0x370, 0x600), r.randrange(0x1E00, 0x2000),
                        r.randrange(0x2000, 0x2200), r.randrange(0x2460, 0x2500), r.randrange(0x3000, 0x3100), r.randrange(0xA640, 0xA7D0),
                        r.randrange(0xFB00, 0xFB20), r.randrange(0x10400, 0x10450), r.randrange(0x1F300, 0x1F600), 0x3A3, 0x130, 0x131, 0x345]))
        if unicodedata.category(c) != "Cn" and not 0xD800 <= ord(c) < 0xE000:
            out.append(c)
    return "".join(out)


def arguments(r):
    out = [r.some(VALUES) for _ in range(r.some([0, 0, 1, 1, 1, 2, 2, 3]))]
    if r.chance(0.2):
        out.append(f"{r.some(PARAMETERS)}={r.some(VALUES)}")
    return "(" + ", ".join(out) + ")" if out else r.some(["", "()"])


def format_spec(r):
    spec = "".join(r.some([""] * 2 + list(group)) for group in FORMATS[:7]) + r.some(FORMATS[7] + "rsa")
    return spec.replace(".", "." + r.some("0123")) if "." in spec else spec


def call_case(r, filters, tests):
    """One call of a filter, a test, a method, a function or a format."""
    v = r.some(VALUES)
    form = r.randrange(10)
    if form < 4:
        inside = f"({v})|{r.some(filters)}{arguments(r)}"
        if r.chance(0.3):
            inside = f"({inside})|{r.some(['list', 'string', 'first', 'length', 'tojson'])}"
    elif form == 4:
        inside = f"({v}) is {r.some(tests)}{r.some(['', '', '(' + r.some(VALUES) + ')'])}"
    elif form < 7:
        kind = r.some(list(TYPE_NAMES))
        inside = f"({r.some(TYPE_NAMES[kind])}).{r.some([m for m in dir(kind) if not m.startswith('__')])}{arguments(r) or '()'}"
    elif form == 7:
        inside = f"'<{{:{format_spec(r)}}}>'.format({v})"
    elif form == 8:
        spec = "".join(r.some([""] * 2 + list(g)) for g in ["-", "+ ", "#", "0", "123456789"]) + r.some(["", "", ".0", ".1", ".2", ".5"])
        inside = f"'<%{spec}{r.some('diuoxXeEfFgGcrsa%')}>' % {r.some(['(', ''])}({v})"
        inside += ",)" if inside.count("(") > inside.count(")") else ""
    else:
        inside = f"{r.some(['range', 'dict', 'namespace', 'cycler', 'joiner', 'raise_exception', 'strftime_now'])}{arguments(r) or '()'}"
        inside += r.some(["", "|list", "|string", ".a", ".next()", "()"])
    given = context(r)
    given.update(w=letters(r), t=letters(r) if r.chance(0.3) else given["t"], g=r.some([1e16, 1.0, -0.0, 123.456, 0.5, 1.5, -7.25, 1e-5]),
                 ms=[{"role": r.some(WORDS), "a": [r.randrange(3)], "n": r.some([None, 1, "b"])} for _ in range(r.randrange(4))])
    return "{{ " + inside + " }}", given


def case(seed, filters=(), tests=()):
    """(template, context); with the names of filters and tests some are calls of one of them."""
    template = Template(seed)
    if filters and template.r.chance(0.25):
        return call_case(template.r, filters, tests)
    n = template.r.randrange(1, 5)
    text = "".join(template.statement() + template.text() for _ in range(n))
    return text, context(Random(f"context {seed}"))


if __name__ == "__main__":
    source, given = case(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(source)
    print(json.dumps(given, ensure_ascii=False))
