"""The page in a real browser (Chromium without a window, through chromedriver): dashboard, chat, keys, widths and colours.

usage: page.py SHOAL MODELS_FOLDER [FOLDER]; with FOLDER the screenshots stay there
"""
import contextlib

from browser import Browser
from serve_shared import Shoal, main, test, until

CHAT = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_content": "It asks for **weather**."}}]},
        {"choices": [{"index": 0, "delta": {"content": "# Plan\n\n1. look\n2. <img src=x onerror=alert(1)>\n\n```c\nint a;\n```\n"}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "weather", "arguments": "{\"pl"}}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": "ace\": \"Oslo\"}"}}]}}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 9}}]
# Answers the chat's requests in the browser, and keeps their bodies.
FAKE = """const [chunks] = arguments; const real = window.fetch; window.asked = [];
window.fetch = (path, options) => { if (!String(path).includes('chat/completions')) return real(path, options);
  window.asked.push(JSON.parse(options.body));
  return Promise.resolve(new Response(chunks.map((c) => 'data: ' + JSON.stringify(c) + '\\n\\n').join('') + 'data: [DONE]\\n\\n')); };"""


def serve(shoal, models, *args, wait="loaded"):
    return Shoal(shoal, *args, wait=wait, models={"tale": f"{models}/tale.gguf", "cee": f"{models}/cee.gguf"})


def home(browser, server, view=""):
    browser.open(f"http://127.0.0.1:{server.port}/{view}")


def is_narrow_enough(browser):
    """Nothing stands out at the right edge."""
    return browser.run("return document.documentElement.scrollWidth <= window.innerWidth")


@test
def the_dashboard_shows_what_the_server_does(shoal, models):
    with serve(shoal, models) as server, Browser() as browser:
        home(browser, server)
        until(lambda: "loaded" in (browser.text("#models tbody") or ""))
        assert browser.text("#health") == "healthy"
        assert browser.run("return document.querySelectorAll('#memory .bar i').length") >= 2
        server.complete("tale", "Once", 100)
        until(lambda: "most" in browser.text("#charts figcaption") and "most 0" not in browser.text("#charts figcaption"))
        browser.click("button[aria-label='Unload cee']")
        until(lambda: "unloaded" in browser.text("#models tbody"))
        until(lambda: "cee: unloaded" in browser.text("#events"))
        browser.click("button[aria-label='Load cee']")
        until(lambda: "cee: loaded" in browser.text("#events"))
        browser.shoot("board-1300-light")
        assert is_narrow_enough(browser)
        browser.is_content()


@test
def every_width_and_colour_shows_all(shoal, models):
    with serve(shoal, models) as server:
        for width in (400, 1300):
            for dark in (False, True):
                with Browser(width, 900, dark) as browser:
                    name = f"{width}-{'dark' if dark else 'light'}"
                    home(browser, server)
                    until(lambda: "loaded" in (browser.text("#models tbody") or ""))
                    assert is_narrow_enough(browser), name
                    ground, text = browser.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
                    assert (sum(map(int, ground[4:-1].split(","))) < 384) == dark, (ground, text)
                    browser.shoot(f"board-{name}")
                    home(browser, server, "#chat")
                    browser.run(FAKE, CHAT)
                    browser.type("#chat-text", "weather?\n")
                    until(lambda: "weather" in (browser.text(".call") or ""))
                    assert is_narrow_enough(browser), name
                    browser.shoot(f"chat-{name}")
                    browser.is_content()


@test
def a_chat_is_streamed_and_goes_on(shoal, models):
    with serve(shoal, models) as server, Browser() as browser:
        home(browser, server, "#chat")
        until(lambda: browser.run("return document.querySelectorAll('#chat-model option').length") == 2)
        browser.click("#chat-options summary")
        browser.type("#chat-tokens", "40")
        browser.type("#chat-temperature", "0")
        for turn in (1, 2):
            browser.type("#chat-text", "Once upon a time\n")
            until(lambda: browser.run("return document.querySelectorAll('.message.model .figures').length") == turn)
            until(lambda: "tokens" in browser.run("return [...document.querySelectorAll('.message.model .figures')].at(-1).innerText"))
        direct = server.post("/v1/chat/completions", {"model": "tale", "max_tokens": 40, "temperature": 0,
                                                      "messages": [{"role": "user", "content": "Once upon a time"}]})[2]
        shown = browser.run("return document.querySelector('.message.model .body').innerText")
        assert "".join(shown.split()) == "".join(direct["choices"][0]["message"]["content"].split()), (shown, direct)
        browser.click("#chat-clear")
        assert browser.text("#chat-log") == ""
        browser.run("document.getElementById('chat-tokens').value = ''")
        browser.type("#chat-text", "Go on\n")
        with contextlib.suppress(AssertionError):  # the answer may end first, and the button goes with it
            browser.click("#chat-stop")
        until(lambda: browser.run("return document.getElementById('chat-stop').hidden"))
        browser.is_content()


@test
def markdown_reasoning_and_tools_are_shown_and_never_run(shoal, models):
    with serve(shoal, models) as server, Browser() as browser:
        home(browser, server, "#chat")
        until(lambda: browser.run("return document.querySelectorAll('#chat-model option').length") == 2)
        browser.run(FAKE, CHAT)
        browser.click("#chat-options summary")
        browser.type("#chat-tools", '[{"name": "weather", "parameters": {"type": "object"}}]')
        browser.type("#chat-text", "weather?\n")
        until(lambda: browser.text(".call textarea") is not None)
        assert browser.text(".body h3") == "Plan" and browser.text(".body pre code") == "int a;"
        assert browser.run("return document.querySelectorAll('.body ol li').length") == 2
        assert browser.run("return document.querySelectorAll('.body img').length") == 0
        assert "weather" in browser.run("return document.querySelector('.body details').textContent")
        assert browser.text(".call code") == '{"place": "Oslo"}'
        browser.type(".call textarea", "rain")
        browser.click(".call button")
        until(lambda: browser.run("return window.asked.length") == 2)
        sent = browser.run("return window.asked[1]")
        assert sent["tools"][0]["function"]["name"] == "weather"
        assert [m["role"] for m in sent["messages"]] == ["user", "assistant", "tool"], sent
        assert sent["messages"][2] == {"role": "tool", "tool_call_id": "c1", "content": "rain"}
        browser.is_content()


@test
def keys_are_asked_for_and_kept_by_the_tab(shoal, models):
    with serve(shoal, models, "--api-key=user", "--admin-key=boss", wait="listening") as server, Browser() as browser:
        home(browser, server)
        until(lambda: "key is needed" in (browser.text("#notice") or ""))
        browser.click("#key-button")
        browser.type("#key", "user\n")
        until(lambda: "tale" in browser.text("#models tbody"))
        assert browser.run("return [...document.querySelectorAll('#models button')].every((b) => b.hidden)")
        until(lambda: not browser.text("#notice"))
        browser.click("#key-button")
        browser.run("document.getElementById('key').value = ''")
        browser.type("#key", "boss\n")
        until(lambda: browser.run("return [...document.querySelectorAll('#models button')].some((b) => !b.hidden)"))
        home(browser, server)
        until(lambda: "loaded" in (browser.text("#models tbody") or ""))
        browser.is_content("401")


@test
def all_is_reached_by_keyboard(shoal, models):
    with serve(shoal, models) as server, Browser() as browser:
        home(browser, server)
        until(lambda: "loaded" in (browser.text("#models tbody") or ""))
        reached = []
        for _ in range(12):
            browser.keys("\ue004")
            reached.append(browser.run("const e = document.activeElement; return e.id || e.getAttribute('aria-label') || e.tagName"))
        assert {"to-board", "to-chat", "key-button", "Unload tale", "Unload cee"} <= set(reached), reached
        browser.run("document.getElementById('key-button').focus()")
        browser.keys("\ue007")
        assert browser.run("return document.getElementById('key-dialog').open")
        browser.keys("\ue00c")
        assert not browser.run("return document.getElementById('key-dialog').open")
        browser.is_content()


@test
def a_server_that_leaves_is_noticed(shoal, models):
    with serve(shoal, models) as server, Browser() as browser:
        home(browser, server)
        until(lambda: browser.text("#health") == "healthy")
        server.stop()
        until(lambda: browser.text("#health") == "the server does not answer")


if __name__ == "__main__":
    main()
