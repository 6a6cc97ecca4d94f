"""Renders the chat templates of known models with Python's jinja2, as transformers does.

    tools/template_golden.py [OUT]          default tests/golden/data/templates.json

OUT is a list. Its first entry is {"templates": {name: source}, "now": what strftime_now sees}; the
others are {name, template, messages, specials, add_generation_prompt, kwargs}, "template" being one of
those names, with either "expected", the prompt, or "error", the message that the template raised ("" for
an error of jinja2 itself), or "lost", the first message whose text the prompt does not show. kwargs are
further variables (chat_template_kwargs). Messages are as a client sends them; what the template gets is
what other servers would hand it (WANTS).

Besides whole templates, SNIPPETS hold one feature of the language each.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

import chat_templates

ROOT = pathlib.Path(__file__).resolve().parent.parent


NOW = "2026-01-31T09:05:07"  # what strftime_now sees


class Raised(Exception):
    """raise_exception() was called by the template."""


class Generation(jinja2.ext.Extension):
    """The generation tag, as transformers defines it: a call block whose text is kept."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_generation_support"), [], [], body).set_lineno(line)

    @jinja2.pass_eval_context
    def _generation_support(self, context, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise Raised(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.filters["from_json"] = env.filters["fromjson"] = json.loads  # beyond transformers: some models' templates ask for it
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: datetime.datetime.fromisoformat(NOW).strftime(format)
    return env


WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "Tells the weather", "parameters": {
        "type": "object", "required": ["city"], "properties": {
            "city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}, "days": {"type": "array", "items": {"type": "integer"}},
            "at": {"type": "object", "properties": {"hour": {"type": ["integer", "null"]}}}}}}}


def call(arguments, content=None, **more):
    return {"role": "assistant", "content": content,
            "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": arguments}}], **more}


def part(role, text):
    return {"role": role, "content": [{"type": "text", "text": text}]}


def talk(*turns):
    """Messages: "s", "u" and "a" begin a system, user and assistant turn."""
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return [{"role": roles[turn[0]], "content": turn[1:]} for turn in turns]


TALKS = [
    talk("uHello!"),
    talk("sYou are terse.", "uHello!"),
    talk("uHi", "aHello. How can I help?", "uTell me a joke"),
    talk("sBe kind.", "uHi", "aHello.", "uWhy?", "aBecause.", "uBut why?"),
    talk("s  spaced  \n", "u\n  Hi there \t", "a  yes \n\n", "u  ok  "),
    talk("u你好,世界 😀", "aПривет — «мир»", "ué e\u0301 'quotes' \"double\" \\n {{ not }} {% code %}"),
    talk("u"),
    talk("sS", "uQ", "a"),
    talk("uHi", "a<think>\nlet me see\n</think>\n\nFour.", "uSure?", "a<think>again</think>Yes."),
    talk("sOne.", "sTwo.", "uHi"),          # refused by templates that want turns in order
    talk("aI begin.", "uHi"),
    talk("uone", "utwo"),
    talk("uQ", "sLate system", "uR"),
    talk("uQ", "t42"),
    [part("user", "In parts, é")],
    [part("system", "S"), part("user", "one"), part("assistant", "two"), {"role": "user", "content": "three"}],
    [{"role": "user", "content": []}],
    talk("uHi") + [{"role": "assistant", "content": "Four.", "reasoning_content": "Two and two."}] + talk("uSure?"),
    talk("uWeather?") + [call("{\"city\": \"Bern\", \"n\": [1, 2.0]}"), {"role": "tool", "content": "sunny", "tool_call_id": "call00001"}],
    talk("uWeather?") + [call({"city": "Zürich"}, "", reasoning_content="Ask."), {"role": "tool", "content": "rain", "tool_call_id": "call00001"}],
    [{"role": "developer", "content": "D"}] + talk("uHi"),
    [{"role": "user"}],
    talk("uHi", "aA") + [{"role": "user", "content": None}],
]

EXTRA = [
    ("qwen3", talk("uHi"), {"enable_thinking": False}),
    ("qwen3", talk("uHi"), {"enable_thinking": True}),
    ("llama-3.1", talk("sS", "uHi"), {"date_string": "01 Jan 2026"}),
    ("chatml", [{"role": "user", "name": "bob", "content": "Hi"}], {}),
    ("qwen2.5", talk("uWeather?"), {"tools": [WEATHER]}),
    ("qwen3", talk("sS", "uWeather?"), {"tools": [WEATHER, WEATHER]}),
    ("llama-3.1", talk("uWeather?"), {"tools": [WEATHER]}),
    ("like-gpt-oss", talk("sS", "uWeather?"), {"tools": [WEATHER], "reasoning_effort": "high"}),
    ("like-later", talk("uWeather?", "a<think>x</think>y", "uSo?"), {"tools": [WEATHER]}),
    ("like-granite", talk("uQ"), {"documents": [{"doc_id": 1, "text": "Bern is a city."}], "controls": {"length": "short"}}),
    ("like-llama-3.2", talk("uHi"), {"date_string": "01 Jan 2026"}),
]

# What shows all messages, behind each snippet.
SHOWN = "{{ messages|map(attribute='content')|join('|') }}"
# One feature of the language each.
SNIPPETS = [
    "{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % 4 }} {{ 2 ** 5 }} {{ 7 / 2 }} {{ -3 }}",
    "{{ 'a' ~ 1 ~ true ~ none }}", "{{ 'x' * 3 }}", "{{ [1, 2] + [3] }}", "{{ (1, 'a') }} {{ {'k': [1.5, none]} }}",
    "{% if 1 < 2 <= 2 and not (3 == 4) or false %}yes{% else %}no{% endif %}",
    "{{ 'a' if false else 'b' }}{{ 'c' if true }}{{ 'd' if false }}",
    "{{ undefined_thing }}|{{ messages[0].missing }}|{{ undefined_thing is defined }}",
    "{{ undefined_thing.field }}", "{{ messages[9].role }}", "{{ 'a' + 1 }}", "{{ 1 // 0 }}", "{{ nope() }}", "{{ 'a'|nope }}",
    "{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ loop.first }} {{ loop.last }} {{ loop.revindex }};{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index0 }}{{ m.content }}{% else %}none{% endfor %}",
    "{% for x in [] %}a{% else %}empty{% endfor %}",
    "{% for m in messages %}{% if loop.index == 2 %}{% continue %}{% endif %}{{ m.role }}{% if loop.last %}{% break %}{% endif %},{% endfor %}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }} {% endfor %}",
    "{% for x in range(3) %}{{ x }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}{{ range(2, 8, 3)|list }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = i + 10 %}{{ x }} {% endfor %}{{ x }}",
    "{% set ns = namespace(a=1, b='x') %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}{{ ns.b }}",
    "{% set a, b = 'p', 'q' %}{{ b }}{{ a }}",
    "{% set block %}text {{ 1 }} {% endset %}[{{ block }}]",
    "{% macro hi(name, mark='!') %}Hi {{ name }}{{ mark }}{% endmacro %}{{ hi('Ann') }}{{ hi('Bob', mark='?') }}",
    "a  {%- if true -%}  b  {%- endif -%}  c", "  {% if true %}\n  x\n  {% endif %}\n  y\n", "a {#- note -#} b {# c #} d",
    "line\n{# comment #}\nnext\n", "{{ 'a' -}}   \n  b", "x\n\n", "  {{- ' kept ' -}}  ",
    "{{ '  s '|trim }}|{{ 'AbC'|lower }}|{{ 'AbC'|upper }}|{{ 'hello world'|title }}|{{ 'hELLO'|capitalize }}",
    "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a-b-c'.split('-', 1) }}",
    "{{ 'xxabxx'.strip('x') }} {{ 'xxab'.lstrip('x') }} {{ 'abxx'.rstrip('x') }} {{ ' a '.strip() }}|",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith('x') }} {{ 'abc'.upper() }} {{ 'aXb'.replace('X', '--') }} {{ 'abcab'.find('b') }}",
    "{{ 'abcdef'[1:3] }} {{ 'abcdef'[-2:] }} {{ 'abc'[::-1] }} {{ 'abc'[0] }} {{ 'héé'|length }} {{ [1,2,3][::-1] }} {{ [1,2,3][:-1] }}",
    "{{ messages|length }} {{ messages[-1]['role'] }} {{ messages|map(attribute='role')|join(', ') }}",
    "{{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'equalto', 'user')|map(attribute='content')|list }}",
    "{{ [3, 1, 2]|sort }} {{ [3, 1, 2]|max }} {{ [1, 2]|sum }} {{ [1, 1, 2]|unique|list }} {{ [1, 2, 3]|last }} {{ [1, 2]|first }} {{ [1,2]|reverse|list }}",
    "{{ x|default('d') }} {{ ''|default('e', true) }} {{ none|default('f') }} {{ 5|string + 'a' }} {{ '12'|int + 1 }} {{ '1.5'|float }} {{ -3|abs }}",
    "{{ {'b': 1, 'a': [true, none, 'é\"\\n<>&']}|tojson }} {{ [1, {'a': 2}]|tojson(indent=2) }} {{ 1.0|tojson }} {{ 'x'|tojson }}",
    "{{ {'b': 1, 'a': 2}|items|list }} {{ {'b': 1, 'a': 2}|dictsort }} {{ {'a': 1}.get('b', 'none') }} {{ {'a': 1}.keys()|list }}",
    "{{ 'a' in 'abc' }} {{ 'd' not in 'abc' }} {{ 1 in [1, 2] }} {{ 'k' in {'k': 1} }}",
    "{{ 1 is number }} {{ 'a' is string }} {{ [] is iterable }} {{ {} is mapping }} {{ none is none }} {{ 3 is odd }} {{ 4 is even }} {{ true is boolean }} {{ [] is sequence }} {{ 1 is not string }} {{ 4 is divisibleby 2 }} {{ true is true }} {{ 1 is integer }} {{ 1.5 is float }} {{ 1 is eq 1 }}",
    "{{ true }} {{ none }} {{ 1.0 }} {{ 1e10 }} {{ 0.1 + 0.2 }} {{ 100000000000000000000.0 }} {{ True and None }} {{ '' or 'x' }} {{ not '' }}",
    "{{ \"q'\" }} {{ 'q\"' }} {{ ['a\\'b', \"c\"] }} {{ 'tab\\tnl\\n' }} {{ '\\u00e9' }}",
    "{{ 'a\nb\n\nc'|indent(2) }}|{{ 'abc'|replace('b', 'B') }}|{{ [1, 2]|join('-') }}|{{ '%s-%d'|format('a', 3) }}",
    "{% raw %}{{ raw }}{% endraw %}", "{{ raise_exception('stop: ' ~ messages[0].role) }}",
    "{% if %}", "{{ 1 + }}", "{% for x in y %}", "{{ 'open }}", "{% unknown %}", "{{ a",
    "{% set x = namespace(n=0) %}{% for m in messages %}{% for c in m.content %}{% set x.n = x.n + 1 %}{% endfor %}{% endfor %}{{ x.n }}",
    "{% filter upper %}abc{{ 1 }}{% endfilter %}", "{{ messages[0] == messages[0] }} {{ 'b' > 'a' }} {{ [1, 2] == [1, 2] }} {{ 1 == 1.0 }} {{ 1 == true }}",
    "{% call(x) m() %}{% endcall %}", "{{ {'a': {'b': 3}}.a.b }} {{ {'a': 1}['a'] }} {{ [[1, 2], [3]][0][1] }}",
    "{{ 'Ünï 中'|upper }} {{ 'a b c'|wordcount }} {{ 'ab'|list }} {{ '<b>'|e }} {{ '<b>'|safe }}",
]


def seen(messages, wants):
    """The messages as the template gets them."""
    result = []
    for message in messages:
        m = dict(message)
        content = m.get("content")
        if isinstance(content, list) and "parts" not in wants:
            m["content"] = "".join(p["text"] for p in content)
        elif isinstance(content, str) and "text" not in wants:
            m["content"] = [{"type": "text", "text": content}]
        if "reasoning_content" in m:
            m["thinking"] = m["reasoning_content"]
        if "tool_calls" in m and "objects" in wants:
            m["tool_calls"] = json.loads(json.dumps(m["tool_calls"]))
            for made in m["tool_calls"]:
                arguments = made["function"]["arguments"]
                made["function"]["arguments"] = json.loads(arguments) if isinstance(arguments, str) else arguments
        result.append(m)
    return result


def run(env, source, messages, specials, add, kwargs):
    """The text, or the error."""
    variables = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": add, **specials, **kwargs}
    try:
        return env.from_string(source).render(**variables), None
    except Raised as raised:
        return None, str(raised)
    except (jinja2.TemplateError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None, ""


def texts(message):
    content = message.get("content")
    return [p["text"] for p in content] if isinstance(content, list) else [content] if content else []


def first_lost(env, source, messages, wants, expected, *rest):
    """A message is lost when neither its text stands in the prompt, nor a number in the place of the text."""
    for i, message in enumerate(messages):
        if all(text.strip() in expected for text in texts(message)):
            continue
        marked = json.loads(json.dumps(messages))
        marked[i]["content"] = [{"type": "text", "text": "7351964"}] if isinstance(message["content"], list) else "7351964"
        again, _ = run(env, source, seen(marked, wants), *rest)
        if again is None or "7351964" not in again:
            return i
    return None


def render(env, source, messages, wants, *rest):
    """{"expected": prompt}, {"error": what it raised} or {"lost": the index of a message}."""
    expected, error = run(env, source, seen(messages, wants), *rest)
    if expected is None:
        return {"error": error}
    lost = first_lost(env, source, messages, wants, expected, *rest)
    return {"expected": expected} if lost is None else {"lost": lost}


def cases():
    """(name, template name, source, messages, wants, specials, add, kwargs)"""
    for name, (source, bos, eos) in chat_templates.TEMPLATES.items():
        wants = chat_templates.WANTS.get(name, "text")
        specials = {key: text for key, text in (("bos_token", bos), ("eos_token", eos)) if text}
        for i, messages in enumerate(TALKS):
            for add in (True, False):
                yield f"{name}/{i}{'+' if add else ''}", name, source, messages, wants, specials, add, {}
        for template, messages, kwargs in EXTRA:
            if template == name:
                yield f"{name}/{'-'.join(kwargs) or 'name'}", name, source, messages, wants, specials, True, kwargs
    for i, source in enumerate(SNIPPETS):
        yield (f"snippet/{i}", f"snippet/{i}", source + SHOWN, TALKS[2], "text",
               {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<p>"}, True, {})


def make(path):
    env = environment()
    templates, entries = {}, []
    for name, template, source, messages, wants, specials, add, kwargs in cases():
        templates[template] = source
        entries.append({"name": name, "template": template, "messages": messages, "specials": specials,
                        "add_generation_prompt": add, "kwargs": kwargs,
                        **render(env, source, messages, wants, specials, add, kwargs)})
    lines = [json.dumps({"templates": templates, "now": NOW}, ensure_ascii=False, indent=1)]
    lines += [json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries]
    path.write_text("[" + ",\n".join(lines) + "]\n", encoding="utf-8")


if __name__ == "__main__":
    stored = ROOT / "tests/golden/data/templates.json"
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else stored)
