/* Split patterns by name.
 *
 * Each is the pattern of the models' own tokenizer.json. A model with such a file uses that file's
 * pattern; this table is for GGUF files, which only name it. The names are those of llama.cpp, as
 * far as they belong to architectures that can be loaded. Letters beyond ASCII are written as
 * escapes. */
#include "core/tokenizer_pre.h"
#include <string.h>

#define GPT2                                                                                       \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"                            \
    "|\\s+(?!\\S)|\\s+"
#define SHORT_FORMS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS       "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define SPACES      "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define SIGNS       "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES
#define LLAMA3      SHORT_FORMS WORDS "\\p{N}{1,3}" SIGNS
#define QWEN2       SHORT_FORMS WORDS "\\p{N}" SIGNS
#define UPPER       "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER       "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(tail)                                                                                \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER    \
    "*" tail "|"
#define CASED_SIGNS "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CJK         "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+"
/* clang-format off */
#define DEEPSEEK_LETTERS \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}" \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}" \
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}" \
    "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}" \
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}" \
    "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}" \
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}" \
    "\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}" \
    "\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}" \
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}" \
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}" \
    "\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}" \
    "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}" \
    "\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}" \
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}" \
    "\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}" \
    "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}" \
    "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"
/* clang-format on */
#define DEEPSEEK_SIGNS                                                                             \
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+"
#define DEEPSEEK3                                                                                  \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"           \
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define BLOOM " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"

/* Each row is one tokenizer; its other names follow after spaces. */
static const struct tokenizer_pre rows[] = {
    { .names = "gpt-2 phi-2 trillion mellum a.x-4.0 opt", .stages = { GPT2 } },
    { .names = "llama-bpe llama3 llama-v3 falcon3 pixtral midm-2.0",
      .stages = { LLAMA3 },
      .ignores_merges = true,
      .adds_bos = true },
    { .names = "dbrx smaug-bpe chatglm-bpe glm4", .stages = { LLAMA3 } },
    { .names = "qwen2", .stages = { QWEN2 }, .normalizes_nfc = true },
    { .names = "deepseek-r1-qwen megrez", .stages = { QWEN2 } },
    { .names = "deepseek-llm",
      .stages = { "[\r\n]", "\\s?[" DEEPSEEK_LETTERS "]+", DEEPSEEK_SIGNS, "\\s+$", CJK,
                  "\\p{N}" } },
    { .names = "deepseek-coder",
      .stages = { "[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", CJK, "\\p{N}" } },
    { .names = "deepseek-v3",
      .stages = { "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{30FF}]+", DEEPSEEK3 } },
    { .names = "starcoder refact smollm minerva-7b", .stages = { "\\p{N}", GPT2 } },
    { .names = "tekken",
      .stages = { CASED("") "\\p{N}" CASED_SIGNS },
      .ignores_merges = true,
      .adds_bos = true },
    { .names = "gpt-4o",
      .stages = { CASED("(?i:'s|'t|'re|'ve|'m|'ll|'d)?") "\\p{N}{1,3}" CASED_SIGNS } },
    { .names = "seed-coder",
      .stages = { SHORT_FORMS WORDS "\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" SPACES } },
    { .names = "viking", .stages = { BLOOM, "\\p{N}" } },
};

static bool has_name(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; n > 0 && (at = strstr(at, name)) != NULL; at += n) {
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return strchr(name, ' ') == NULL;
    }
    return false;
}

const struct tokenizer_pre *tokenizer_pre_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < COUNT_OF(rows); i++)
        if (has_name(rows[i].names, name))
            return &rows[i];
    return NULL;
}
