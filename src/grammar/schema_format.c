/* Formats of strings, each as a regular expression for the whole string.
 *
 * Dates follow RFC 3339 (with leap years, without leap seconds), addresses RFC 5321 (without quoted
 * names), host names RFC 1123, URIs RFC 3986. A format that is in no standard is a comment, as the
 * standard says. */
#include "grammar/pattern.h"
#include "grammar/schema.h"

#include <string.h>

#define YEAR "(?:000[1-9]|00[1-9]\\d|0[1-9]\\d\\d|[1-9]\\d{3})"
#define LEAP "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
#define DATE                                                                                       \
    "(?:" YEAR "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-"                    \
    "(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))|" LEAP "-02-29)"
#define TIME                                                                                       \
    "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define SPAN_TIME "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"
#define SPAN_DATE "(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)"
#define ATOM      "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define LABEL     "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST      LABEL "(?:\\." LABEL ")*"
#define BYTE      "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4      BYTE "(?:\\." BYTE "){3}"
#define HEX       "[0-9A-Fa-f]{1,4}"
#define LAST      "(?:" HEX ":" HEX "|" IPV4 ")"
#define IPV6                                                                                       \
    "(?:(?:" HEX ":){6}" LAST "|::(?:" HEX ":){5}" LAST "|(?:" HEX ")?::(?:" HEX ":){4}" LAST      \
    "|(?:(?:" HEX ":){0,1}" HEX ")?::(?:" HEX ":){3}" LAST "|(?:(?:" HEX ":){0,2}" HEX             \
    ")?::(?:" HEX ":){2}" LAST "|(?:(?:" HEX ":){0,3}" HEX ")?::" HEX ":" LAST "|(?:(?:" HEX       \
    ":){0,4}" HEX ")?::" LAST "|(?:(?:" HEX ":){0,5}" HEX ")?::" HEX "|(?:(?:" HEX ":){0,6}" HEX   \
    ")?::)"
#define CODED          "%[0-9A-Fa-f]{2}"
#define WIDE           "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{1FFFD}"
#define SCHEME         "[A-Za-z][A-Za-z0-9+.-]*:"
#define URI(more)      SCHEME HIER(more) TAIL(more)
#define SEGMENT(more)  "(?:[A-Za-z0-9._~!$&'()*+,;=:@" more "-]|" CODED ")"
#define NO_COLON(more) "(?:[A-Za-z0-9._~!$&'()*+,;=@" more "-]|" CODED ")"
#define USER(more)     "(?:[A-Za-z0-9._~!$&'()*+,;=:" more "-]|" CODED ")"
#define NAME(more)     "(?:[A-Za-z0-9._~!$&'()*+,;=" more "-]|" CODED ")"
#define SERVER(more)                                                                               \
    "//(?:" USER(more) "*@)?(?:\\[" IPV6 "\\]|" NAME(more) "*)(?::\\d*)?(?:/" SEGMENT(more) "*)*"
#define HIER(more)                                                                                 \
    "(?:" SERVER(more) "|/(?:" SEGMENT(more) "+(?:/" SEGMENT(more) "*)*)?|" SEGMENT(               \
        more) "+(?:/" SEGMENT(more) "*)*)?"
#define TAIL(more)   "(?:\\?(?:" SEGMENT(more) "|[/?])*)?(?:#(?:" SEGMENT(more) "|[/?])*)?"
#define ROOTED(more) "/(?:" SEGMENT(more) "+(?:/" SEGMENT(more) "*)*)?"
#define REFERENCE(more)                                                                            \
    "(?:(?:" SCHEME ")?(?:" SERVER(more) "|" ROOTED(more) ")|(?:" SCHEME "|" NO_COLON(             \
        more) "+/)" SEGMENT(more) "*(?:/" SEGMENT(more) "*)*|" NO_COLON(more) "*)" TAIL(more)
#define POINTER "(?:/(?:[^~/]|~[01])*)*"
#define VARIABLE                                                                                   \
    "(?:[A-Za-z0-9_]|" CODED ")(?:\\.?(?:[A-Za-z0-9_]|" CODED "))*(?::[1-9]\\d{0,3}|\\*)?"

static const struct format {
    const char *name, *pattern;
    uint32_t length_max; /* 0: any */
} formats[] = {
    { "date", DATE, 0 },
    { "time", TIME, 0 },
    { "date-time", DATE "[Tt]" TIME, 0 },
    { "duration", "P(?:" SPAN_DATE "(?:" SPAN_TIME ")?|" SPAN_TIME "|\\d+W)", 0 },
    { "email", ATOM "(?:\\." ATOM ")*@" HOST, 254 },
    { "idn-email", ATOM "(?:\\." ATOM ")*@" HOST, 254 },
    { "hostname", HOST, 253 },
    { "idn-hostname", HOST, 253 },
    { "ipv4", IPV4, 0 },
    { "ipv6", IPV6, 0 },
    { "uuid", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", 0 },
    { "uri", URI(""), 0 },
    { "uri-reference", REFERENCE(""), 0 },
    { "iri", URI(WIDE), 0 },
    { "iri-reference", REFERENCE(WIDE), 0 },
    { "uri-template",
      "(?:[^\\x00-\\x20\\x7F-\\x9F\"'<>%\\\\^`{|}]|" CODED "|\\{[+#./;?&=,!@|]?" VARIABLE
      "(?:," VARIABLE ")*\\})*",
      0 },
    { "json-pointer", POINTER, 0 },
    { "relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" POINTER ")", 0 },
};

void schema_format(struct schema *s, struct schema_form *form, const char *name)
{
    if (strcmp(name, "regex") == 0)
        schema_refuse(s, "format", "\"regex\" is not supported");
    for (size_t i = 0; i < COUNT_OF(formats); i++) {
        if (strcmp(formats[i].name, name) != 0)
            continue;
        struct dfa *dfa = schema_whole(s, formats[i].pattern);
        bool is_host = strstr(name, "hostname") != NULL;
        if (dfa != NULL)
            form->patterns = schema_push(s, form->patterns, dfa, 0);
        if (formats[i].length_max > 0 && formats[i].length_max < form->length_max)
            form->length_max = formats[i].length_max;
        struct dfa *hyphens = is_host ? schema_pattern(s, "--") : NULL;
        if (hyphens != NULL) /* labels such as xn--a have rules of their own */
            form->patterns = schema_push(s, form->patterns, hyphens, 1);
    }
}
