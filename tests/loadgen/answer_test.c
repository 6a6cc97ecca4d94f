/* Judging answers: the right ones, and each kind of wrong one by its name. */
#include "../test.h"
#include "loadgen/answer.h"

#define TEXT(text)  "data: {\"choices\":[{\"text\":\"" text "\",\"finish_reason\":null}]}\n\n"
#define FINISH(why) "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"" why "\"}]}\n\n"
#define USAGE(n)                                                                                   \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":" #n "}}\n\n"
#define DONE  "data: [DONE]\n\n"
#define RIGHT TEXT("a") TEXT("b") TEXT("c") FINISH("length") USAGE(3) DONE

static enum record_why judge(const char *stream, const struct loadgen_end *end,
                             const char *sentence)
{
    struct loadgen_answer answer;
    struct record record = { 0 };
    loadgen_answer_init(&answer);
    answer.now_ns = 5;
    loadgen_answer_feed(&answer, end->http_status == 200, stream, strlen(stream));
    loadgen_answer_judge(&answer, end, &record);
    if (sentence == NULL ? answer.wrong[0] != '\0' : strstr(answer.wrong, sentence) == NULL)
        fail_msg("%s: \"%s\", not \"%s\"", stream, answer.wrong, sentence);
    loadgen_answer_free(&answer);
    return record.why;
}

static void right_ones(void **state)
{
    const struct loadgen_end exact = { .http_status = 200, .n_wanted = 3 };
    const struct loadgen_end loose = { .http_status = 200, .n_wanted = 9, .may_stop_early = true };
    (void)state;
    assert_int_equal(judge(RIGHT, &exact, NULL), RECORD_LENGTH);
    assert_int_equal(judge(TEXT("a") FINISH("stop") USAGE(2) DONE, &loose, NULL), RECORD_STOPPED);
    /* The stop token counts, and has no text. */
    const struct loadgen_end stop = { .http_status = 200, .n_wanted = 3, .ends_by_stop = true };
    assert_int_equal(judge(TEXT("a") TEXT("b") FINISH("stop") USAGE(3) DONE, &stop, NULL),
                     RECORD_STOPPED);
    /* A model may produce any character, also the one of code 0. */
    assert_int_equal(
        judge(TEXT("a") TEXT("\\u0000b") TEXT("c") FINISH("length") USAGE(3) DONE, &exact, NULL),
        RECORD_LENGTH);
    /* Without usage each piece counts as one. */
    assert_int_equal(judge(TEXT("a") TEXT("b") TEXT("c") FINISH("length") DONE, &exact, NULL),
                     RECORD_LENGTH);
    assert_int_equal(
        judge("data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"
              "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
              "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" USAGE(3) DONE,
              &exact, NULL),
        RECORD_LENGTH);
}

static void wrong_ones(void **state)
{
    const struct loadgen_end end = { .http_status = 200, .n_wanted = 3 };
    const struct loadgen_end died = { .http_status = 200, .n_wanted = 3, .transport = "it died" };
    const struct loadgen_end stop = { .http_status = 200, .n_wanted = 3, .ends_by_stop = true };
    (void)state;
    assert_int_equal(judge(TEXT("a") FINISH("stop") USAGE(2) DONE, &stop, "2 tokens instead of 3"),
                     RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("stop") USAGE(4) DONE, &stop, "4 tokens instead of 3"),
                     RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("length") USAGE(9) DONE, &stop, "--end max_tokens"),
                     RECORD_WRONG);
    assert_int_equal(judge(RIGHT "data: {}\n\n", &end, "an event after [DONE]"), RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("length") USAGE(1) DONE, &end, "1 tokens instead of 3"),
                     RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("length") USAGE(4) DONE, &end, "4 tokens instead of 3"),
                     RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("stop") USAGE(2) DONE, &end, "2 tokens instead of 3"),
                     RECORD_WRONG);
    assert_int_equal(judge(FINISH("length") DONE, &end, "an empty answer"), RECORD_WRONG);
    assert_int_equal(judge(FINISH("length") USAGE(0) DONE, &end, "an empty answer"), RECORD_WRONG);
    assert_int_equal(judge(FINISH("length") USAGE(2) DONE, &end, "2 tokens instead"), RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") USAGE(3) DONE, &end, "no finish_reason"), RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("tool") USAGE(3) DONE, &end, "not stop or length"),
                     RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("stop") FINISH("stop") DONE, &end, "two finish"),
                     RECORD_WRONG);
    assert_int_equal(judge("data: {\"a\":\n\n" DONE, &end, "not JSON"), RECORD_WRONG);
    assert_int_equal(judge("data: {}\n\n" DONE, &end, "without its one choice"), RECORD_WRONG);
    assert_int_equal(judge("data: {\"choices\":[{}]}\n\n" DONE, &end, "without text"),
                     RECORD_WRONG);
    assert_int_equal(judge("hello\n\n" DONE, &end, "no field of server-sent"), RECORD_WRONG);
    assert_int_equal(judge(TEXT("a") FINISH("length") USAGE(3), &end, "without [DONE]"),
                     RECORD_CUT);
    assert_int_equal(judge(TEXT("a") "data: {\"cho", &end, "without [DONE]"), RECORD_CUT);
    assert_int_equal(judge(TEXT("a"), &died, "it died"), RECORD_CUT);
    assert_int_equal(judge(TEXT("a") "data: {\"error\":{\"message\":\"no luck\"}}\n\n", &end,
                           "the server said: no luck"),
                     RECORD_FAILED);
    assert_int_equal(judge("", &end, "without [DONE]"), RECORD_CUT);
}

/* Tokens without text count, and the first of them is seen when the answer ends. */
static void mute(void **state)
{
    static const char stream[] = FINISH("length") USAGE(3) DONE;
    const struct loadgen_end right = { .http_status = 200, .n_wanted = 3 };
    const struct loadgen_end more = { .http_status = 200, .n_wanted = 4 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct loadgen_answer answer;
        struct record record = { 0 };
        loadgen_answer_init(&answer);
        answer.now_ns = 5;
        loadgen_answer_feed(&answer, true, stream, strlen(stream));
        answer.now_ns = 6;
        loadgen_answer_judge(&answer, i == 0 ? &right : &more, &record);
        assert_int_equal(record.why, i == 0 ? RECORD_LENGTH : RECORD_WRONG);
        assert_int_equal(record.n_output, i == 0 ? 3 : 0);
        assert_int_equal(record.first_ns, i == 0 ? 5 : 0);
        loadgen_answer_free(&answer);
    }
}

static void refusals(void **state)
{
    static const struct {
        long status;
        enum record_why why;
    } expected[] = { { 400, RECORD_FAILED },  { 413, RECORD_TOO_LARGE }, { 429, RECORD_REFUSED },
                     { 503, RECORD_REFUSED }, { 504, RECORD_DEADLINE },  { 500, RECORD_FAILED } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const struct loadgen_end end = { .http_status = expected[i].status };
        assert_int_equal(judge("{\"error\":{\"message\":\"sorry\"}}", &end, "said: sorry"),
                         expected[i].why);
        assert_int_equal(judge("<html>", &end, "HTTP status"), expected[i].why);
    }
    const struct loadgen_end none = { .transport = "nobody is there" };
    assert_int_equal(judge("", &none, "nobody is there"), RECORD_CUT);
}

static void times_and_text(void **state)
{
    struct loadgen_answer a, b;
    struct record record = { 0 };
    struct hist gaps;
    const struct loadgen_end end = { .http_status = 200, .n_wanted = 3 };
    (void)state;
    hist_init(&gaps);
    loadgen_answer_init(&a);
    loadgen_answer_init(&b);
    a.gaps = &gaps;
    static const char *const pieces[] = { TEXT("one"), TEXT(""), TEXT(" tw"), TEXT("o"),
                                          FINISH("length") USAGE(3) DONE };
    static const int64_t times[] = { 100, 150, 300, 350, 400 };
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        a.now_ns = times[i];
        loadgen_answer_feed(&a, true, pieces[i], strlen(pieces[i]));
    }
    loadgen_answer_judge(&a, &end, &record);
    assert_true(record.first_ns == 100 && record.gap_ns_max == 200 && record.n_output == 3);
    assert_true(record.why == RECORD_LENGTH && gaps.n == 2 && a.n_prompt_tokens == 7);
    loadgen_answer_feed(&b, true, TEXT("one two"), strlen(TEXT("one two")));
    assert_true(a.text_hash == b.text_hash); /* whatever the cuts */
    loadgen_answer_feed(&b, true, TEXT("!"), strlen(TEXT("!")));
    assert_true(a.text_hash != b.text_hash);
    loadgen_answer_free(&a);
    loadgen_answer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones), cmocka_unit_test(wrong_ones),     cmocka_unit_test(mute),
        cmocka_unit_test(refusals),   cmocka_unit_test(times_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
