/* The table of formats. The first row whose texts are all in the template wins, so that a row with
 * longer texts stands before one with shorter texts. */
#include "calls/format.h"
#include <string.h>

#define DSML                                                                                       \
    "<\xef\xbd\x9c"                                                                                \
    "DSML\xef\xbd\x9c"
#define DSML_END                                                                                   \
    "</\xef\xbd\x9c"                                                                               \
    "DSML\xef\xbd\x9c"
#define DEEP(words) "<\xef\xbd\x9c" words "\xef\xbd\x9c>"
#define U           "\xe2\x96\x81" /* the sign that DeepSeek's marks have for a space */

/* An object with the name and the arguments of a call, alone or in an array. */
#define OBJECT(name, args) "{\1\"" name "\":\1\"\3\",\1\"" args "\":\1\4\1}"
#define LIST(mark, end, object)                                                                    \
    {                                                                                              \
        mark, "\1[\1", object, "\1,\1", "\1]" end, false                                           \
    }
#define ONE(mark, end, object)                                                                     \
    {                                                                                              \
        mark, "\1", object, "", end, true                                                          \
    }

static const struct calls_format formats[] = {
    { .name = "harmony", .kind = CALLS_HARMONY, .shown = { "<|channel|>", "<|message|>" } },
    { .name = "deepseek_v4",
      .kind = CALLS_TAGS,
      .shown = { "DSML", "tool_calls>" },
      .open = DSML "tool_calls>",
      .close = DSML_END "tool_calls>",
      .call_open = DSML "invoke name=\"",
      .name_end = "\">",
      .call_close = DSML_END "invoke>",
      .param_open = DSML "parameter name=\"",
      .param_end = "\" string=\"",
      .value_close = DSML_END "parameter>",
      .is_typed = true },
    { .name = "deepseek_v3.2",
      .kind = CALLS_TAGS,
      .shown = { "DSML" },
      .open = DSML "function_calls>",
      .close = DSML_END "function_calls>",
      .call_open = DSML "invoke name=\"",
      .name_end = "\">",
      .call_close = DSML_END "invoke>",
      .param_open = DSML "parameter name=\"",
      .param_end = "\" string=\"",
      .value_close = DSML_END "parameter>",
      .is_typed = true },
    { .name = "deepseek_v3",
      .kind = CALLS_NAMED,
      .shown = { DEEP("tool" U "call" U "begin"), DEEP("tool" U "sep"), "```json" },
      .open = DEEP("tool" U "calls" U "begin"),
      .close = DEEP("tool" U "calls" U "end"),
      .call_open = DEEP("tool" U "call" U "begin") "function" DEEP("tool" U "sep"),
      .name_end = "\n```json\n",
      .call_close = "```" DEEP("tool" U "call" U "end"),
      .written = { DEEP("tool" U "calls" U "begin"), "\1",
                   "\2" DEEP("tool" U "call" U "begin") "function\2" DEEP(
                       "tool" U "sep") "\3\n```json\n\4\n```\2" DEEP("tool" U "call" U "end"),
                   "\1", "\1\2" DEEP("tool" U "calls" U "end"), false } },
    { .name = "deepseek_v3.1",
      .kind = CALLS_NAMED,
      .shown = { DEEP("tool" U "call" U "begin"), DEEP("tool" U "sep") },
      .open = DEEP("tool" U "calls" U "begin"),
      .close = DEEP("tool" U "calls" U "end"),
      .call_open = DEEP("tool" U "call" U "begin"),
      .name_end = DEEP("tool" U "sep"),
      .call_close = DEEP("tool" U "call" U "end"),
      .written = { DEEP("tool" U "calls" U "begin"), "\1",
                   "\2" DEEP("tool" U "call" U "begin") "\3\2" DEEP("tool" U "sep") "\4\2" DEEP(
                       "tool" U "call" U "end"),
                   "\1", "\1\2" DEEP("tool" U "calls" U "end"), false } },
    { .name = "kimi_k2",
      .kind = CALLS_NAMED,
      .shown = { "<|tool_call_argument_begin|>" },
      .open = "<|tool_calls_section_begin|>",
      .close = "<|tool_calls_section_end|>",
      .call_open = "<|tool_call_begin|>",
      .name_end = "<|tool_call_argument_begin|>",
      .call_close = "<|tool_call_end|>",
      .written = { "<|tool_calls_section_begin|>", "\1",
                   "\2<|tool_call_begin|>functions.\3:\5\1\2<|tool_call_argument_begin|>\1\4\1\2<|"
                   "tool_call_end|>",
                   "\1", "\1\2<|tool_calls_section_end|>", false } },
    { .name = "glm",
      .kind = CALLS_TAGS,
      .shown = { "<arg_key>", "<arg_value>" },
      .open = "<tool_call>",
      .call_close = "</tool_call>",
      .param_open = "<arg_key>",
      .param_end = "</arg_key>",
      .value_open = "<arg_value>",
      .value_close = "</arg_value>" },
    { .name = "minimax_m2",
      .kind = CALLS_TAGS,
      .shown = { "minimax:tool_call" },
      .open = "<minimax:tool_call>",
      .close = "</minimax:tool_call>",
      .call_open = "<invoke name=\"",
      .name_end = "\">",
      .call_close = "</invoke>",
      .param_open = "<parameter name=\"",
      .param_end = "\">",
      .value_close = "</parameter>" },
    { .name = "seed_oss",
      .kind = CALLS_TAGS,
      .shown = { "seed:tool_call" },
      .open = "<seed:tool_call>",
      .close = "</seed:tool_call>",
      .call_open = "<function=",
      .name_end = ">",
      .call_close = "</function>",
      .param_open = "<parameter=",
      .param_end = ">",
      .value_close = "</parameter>" },
    { .name = "qwen3_coder",
      .kind = CALLS_TAGS,
      .shown = { "<function=", "<parameter=" },
      .open = "<tool_call>",
      .close = "</tool_call>",
      .call_open = "<function=",
      .name_end = ">",
      .call_close = "</function>",
      .param_open = "<parameter=",
      .param_end = ">",
      .value_close = "</parameter>",
      .has_lines = true },
    { .name = "functionary_v3.2",
      .kind = CALLS_NAMED,
      .shown = { ">>>all" },
      .open = ">>>",
      .name_end = "\n",
      .is_headed = true },
    { .name = "functionary_v3.1",
      .kind = CALLS_NAMED,
      .shown = { "<function=", "</function>" },
      .open = "<function=",
      .name_end = ">",
      .call_close = "</function>",
      .written = { "<function=", "", "\3>\4", "", "\1\2</function>", true } },
    { .name = "command_r7b",
      .kind = CALLS_OBJECT,
      .shown = { "<|START_ACTION|>" },
      .open = "<|START_ACTION|>",
      .close = "<|END_ACTION|>",
      .noise = { "<|START_RESPONSE|>", "<|END_RESPONSE|>" },
      .written =
          LIST("<|START_ACTION|>", "\1\2<|END_ACTION|>",
               "{\1\"tool_call_id\":\1\"\5\",\1\"tool_name\":\1\"\3\",\1\"parameters\":\1\4\1}") },
    { .name = "apertus",
      .kind = CALLS_OBJECT,
      .shown = { "<|tools_prefix|>" },
      .open = "<|tools_prefix|>",
      .close = "<|tools_suffix|>",
      .is_short = true,
      .written = LIST("<|tools_prefix|>", "\1\2<|tools_suffix|>", "{\1\"\3\":\1\4\1}") },
    { .name = "nemotron",
      .kind = CALLS_OBJECT,
      .shown = { "<TOOLCALL>" },
      .open = "<TOOLCALL>",
      .close = "</TOOLCALL>",
      .written = LIST("<TOOLCALL>", "\1\2</TOOLCALL>", OBJECT("name", "arguments")) },
    { .name = "mistral_call_id",
      .kind = CALLS_NAMED,
      .shown = { "[TOOL_CALLS]", "[CALL_ID]" },
      .open = "[TOOL_CALLS]",
      .name_end = "[CALL_ID]",
      .args_open = "[ARGS]",
      .written = { "[TOOL_CALLS]", "\1", "\3\2[CALL_ID]\6\2[ARGS]\1\4", "", "", true } },
    { .name = "mistral_args",
      .kind = CALLS_NAMED,
      .shown = { "[TOOL_CALLS]", "[ARGS]" },
      .open = "[TOOL_CALLS]",
      .name_end = "[ARGS]",
      .written = { "[TOOL_CALLS]", "\1", "\3\2[ARGS]\1\4", "", "", true } },
    { .name = "mistral",
      .kind = CALLS_OBJECT,
      .shown = { "[TOOL_CALLS]" },
      .open = "[TOOL_CALLS]",
      .written = LIST("[TOOL_CALLS]", "", OBJECT("name", "arguments")) },
    { .name = "lfm2",
      .kind = CALLS_PYTHON,
      .shown = { "<|tool_call_start|>" },
      .open = "<|tool_call_start|>",
      .close = "<|tool_call_end|>" },
    { .name = "llama4_pythonic",
      .kind = CALLS_PYTHON,
      .shown = { "<|python_start|>" },
      .open = "<|python_start|>",
      .close = "<|python_end|>",
      .is_bare = true },
    { .name = "phi4_mini_tag",
      .kind = CALLS_OBJECT,
      .shown = { "<|tool_call|>", "<|/tool_call|>" },
      .open = "<|tool_call|>",
      .close = "<|/tool_call|>",
      .written = ONE("<|tool_call|>", "\1\2<|/tool_call|>", OBJECT("name", "arguments")) },
    { .name = "granite",
      .kind = CALLS_OBJECT,
      .shown = { "<|tool_call|>" },
      .open = "<|tool_call|>",
      .is_bare = true,
      .written = LIST("<|tool_call|>", "", OBJECT("name", "arguments")) },
    { .name = "functools",
      .kind = CALLS_OBJECT,
      .shown = { "functools" },
      .open = "functools",
      .written = { "functools[", "\1", OBJECT("name", "arguments"), "\1,\1", "\1]", false } },
    { .name = "hermes",
      .kind = CALLS_OBJECT,
      .shown = { "<tool_call>" },
      .open = "<tool_call>",
      .close = "</tool_call>",
      .written = ONE("<tool_call>", "\1\2</tool_call>", OBJECT("name", "arguments")) },
    { .name = "llama3_pythonic",
      .kind = CALLS_PYTHON,
      .shown = { "func_name1(" },
      .open = "<|python_tag|>",
      .is_bare = true },
    { .name = "llama3_json",
      .kind = CALLS_OBJECT,
      .shown = { "\"parameters\": ", "<|eot_id|>" },
      .open = "<|python_tag|>",
      .is_bare = true,
      .written = ONE("<|python_tag|>", "", OBJECT("name", "parameters")) },
    { .name = "phi4_mini",
      .kind = CALLS_OBJECT,
      .shown = { "<|tool|>", "<|/tool|>" },
      .open = "<|tool_call|>",
      .open_too = "functools",
      .close = "<|/tool_call|>",
      .written = LIST("<|tool_call|>", "\1\2<|/tool_call|>", OBJECT("name", "arguments")) },
    { .name = "generic",
      .kind = CALLS_OBJECT,
      .open = "<tool_call>",
      .open_too = "```json",
      .close = "</tool_call>",
      .close_too = "```",
      .is_bare = true,
      .written = ONE("<tool_call>", "\1\2</tool_call>", OBJECT("name", "arguments")) },
};

static const struct thought {
    const char *open, *close;
} thoughts[] = {
    { "<seed:think>", "</seed:think>" },
    { "<|START_THINKING|>", "<|END_THINKING|>" },
    { "[THINK]", "[/THINK]" },
    { "<think>", "</think>" },
};

static bool shows(const struct calls_format *format, const char *text)
{
    for (size_t i = 0; i < COUNT_OF(format->shown); i++)
        if (format->shown[i] != NULL && strstr(text, format->shown[i]) == NULL)
            return false;
    return true;
}

struct calls_style calls_format_style(const char *template_text)
{
    const char *text = template_text != NULL ? template_text : "";
    struct calls_style style = { 0 };
    for (size_t i = 0; style.format == NULL && i < COUNT_OF(formats); i++)
        if (shows(&formats[i], text))
            style.format = &formats[i];
    for (size_t i = 0; style.think_open == NULL && i < COUNT_OF(thoughts); i++)
        if (strstr(text, thoughts[i].close) != NULL) {
            style.think_open = thoughts[i].open;
            style.think_close = thoughts[i].close;
        }
    return style;
}

const struct calls_format *calls_format_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const struct calls_format *calls_format_at(size_t index)
{
    return index < COUNT_OF(formats) ? &formats[index] : NULL;
}
