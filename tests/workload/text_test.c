/* Workloads as text: every kind and every mix has the right traffic, and an error is named in a
 * sentence. */
#include "../test.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/time.h"
#include "predict/device.h"
#include "workload/part.h"
#include "workload/tables.h"

static struct workload w;
static struct fault fault;

static void parse(const char *text)
{
    workload_free(&w);
    workload_init(&w);
    if (workload_parse(&w, text, &fault) != STATUS_OK)
        fail_msg("%s: %s", text, fault.text);
}

static void is_bad(const char *text, const char *sentence)
{
    workload_free(&w);
    workload_init(&w);
    assert_int_not_equal(workload_parse(&w, text, &fault), STATUS_OK);
    assert_string_equal(fault.text, sentence);
}

static bool is_near(double got, double want, double part)
{
    if (got < want * (1 - part) || got > want * (1 + part))
        printf("%f, not %f\n", got, want);
    return got >= want * (1 - part) && got <= want * (1 + part);
}

/* Checks a service's mean lengths, as expected and as they come, and its share of the requests. */
static void service_is(const char *name, const char *model, double rate, const double means[2])
{
    struct workload_expected expected;
    int32_t i = 0;
    while (i < w.n_services && strcmp(w.services[i].name, name) != 0)
        i++;
    if (i == w.n_services)
        fail_msg("there is no service %s", name);
    if (model != NULL)
        assert_string_equal(w.services[i].model, model);
    workload_expect(&w, i, &expected);
    assert_true(is_near(expected.rate_per_s, rate, 0.01));
    assert_true(is_near(expected.n_prompt, means[0], 0.1));
    assert_true(is_near(expected.n_output, means[1], 0.1));
}

static void one_service_of_each_kind(void **state)
{
    (void)state;
    parse("azure-conv:rate=5");
    assert_int_equal(w.n_services, 1);
    service_is("azure-conv", NULL, 5, (double[2]){ 1154.7, 211.1 });
    assert_true(w.n_requests == UINT64_MAX);
    parse("sharegpt:rate=2,cv=4,service=chat,model=llama-2-7b,requests=1000");
    service_is("chat", "llama-2-7b", 2, (double[2]){ 161, 338 });
    assert_true(w.services[0].arrivals == WORKLOAD_GAMMA && w.services[0].cv == 4);
    assert_true(w.n_requests == 1000);
    parse("codefuse:rate=3");
    service_is("codefuse", NULL, 3, (double[2]){ 300, 285 });
    parse("poisson:rate=3,in=512,out=128");
    service_is("poisson", NULL, 3, (double[2]){ 512, 128 });
    assert_true(w.services[0].prompt.sigma_log == 0);
    parse("poisson:rate=3,in=512,out=128,in-sigma=0.5,out-sigma=1");
    service_is("poisson", NULL, 3, (double[2]){ 512, 128 });
    parse("gamma:rate=3,cv=2,lengths=arxiv,tenant=3,priority=-2");
    service_is("gamma", NULL, 3, (double[2]){ 2588, 291 });
    assert_true(w.services[0].tenant == 3 && w.services[0].priority == -2);
    parse("weibull:rate=3,shape=0.5,in=10,out=20");
    assert_int_equal(w.services[0].arrivals, WORKLOAD_WEIBULL);
    parse("constant:rate=3,in=10,out=20,seconds=2m");
    assert_true(w.services[0].arrivals == WORKLOAD_CONSTANT && w.until_ns == 120 * TIME_NS_PER_S);
    parse("once:n=100,in=10,out=20");
    assert_true(w.services[0].arrivals == WORKLOAD_ONCE && w.services[0].n_requests == 100);
    parse("azure-code:rate=4,arrivals=trace");
    assert_true(w.services[0].profile != NULL && w.services[0].arrivals == WORKLOAD_GAMMA);
    parse("arxiv:rate=4,profile=burstgpt,step=10s");
    assert_true(w.services[0].profile->step_s == 10 && w.services[0].profile->n == 168);
    parse("arxiv:rate=4,on=5s,off=20s,off-rate=0.1,scale=0.5");
    assert_true(w.services[0].on_s == 5 && w.services[0].off_factor == 0.1);
    service_is("arxiv", NULL, 4, (double[2]){ 1294, 146 });
    parse("azure-conv:rate=1,in-max=500,out-max=100,total-max=550");
    struct workload_expected expected;
    workload_expect(&w, 0, &expected);
    assert_true(expected.n_prompt < 500 && expected.n_output < 100);
}

static void the_whole_has_its_keys(void **state)
{
    (void)state;
    parse("poisson:rate=3,in=512,out=128,seed=9,run=4,length-noise=2,prediction-noise=0.5,"
          "cancel=0.25,cancel-after=2s,deadline=10s");
    assert_true(w.seed == 9 && w.run_length == 4 && w.output_noise == 2);
    assert_true(w.prediction_noise == 0.5 && w.cancelled == 0.25);
    assert_true(w.cancel_ns_mean == 2 * TIME_NS_PER_S && w.deadline_ns == 10 * TIME_NS_PER_S);
    assert_true(w.with_deadline == 1);
}

static void parts_are_mixed(void **state)
{
    (void)state;
    parse("azure-conv:rate=5+azure-code:rate=2+azure-conv:rate=3,in-max=10");
    assert_true(w.n_services == 2 && w.n_more == 1 && w.more[0].service == 0);
    struct workload_expected expected;
    workload_expect(&w, 0, &expected);
    assert_true(is_near(expected.rate_per_s, 8, 1e-6));
    assert_true(is_near(expected.n_prompt, (5 * 1154.7 + 3 * 10) / 8, 0.05));
    /* A "+" that no kind follows is part of a name. */
    parse("arxiv:rate=1,service=a+b");
    assert_string_equal(w.services[0].name, "a+b");
    /* A second text adds to the first. */
    assert_int_equal(workload_parse(&w, "alpaca:rate=7", &fault), STATUS_OK);
    assert_true(w.n_services == 2);
    service_is("alpaca", NULL, 7, (double[2]){ 13.9, 48.3 });
}

static void mixes_are_as_in_their_papers(void **state)
{
    static const double chat[2] = { 100, 261 }, sharegpt[2] = { 161, 338 };
    (void)state;
    parse("m5");
    assert_int_equal(w.n_services, 3);
    service_is("30b", "llama-30b", 2, (double[2]){ 256, 252 });
    service_is("7b", "llama-7b", 8, (double[2]){ 128, 126 });
    parse("m6:rate=18");
    service_is("65b", "llama-65b", 2, (double[2]){ 778, 251 });
    service_is("30b", "llama-30b", 16, (double[2]){ 128, 126 });
    parse("chatlmsys16");
    assert_int_equal(w.n_services, 16);
    service_is("chat01-13b", "llama-13b", 13.02, chat);
    service_is("chat16-65b", "llama-65b", 2.17, chat);
    parse("power19:alpha=2.1");
    assert_int_equal(w.n_services, 19);
    service_is("power01-7b", "llama-7b", 20, sharegpt);
    service_is("power02-7b", "llama-7b", 20 / 4.2871, sharegpt);
    service_is("power19-65b", "llama-65b", 20 / 484.63, sharegpt);
    parse("azure-mix:rate=81,arrivals=trace");
    service_is("azure-code", "llama-2-7b", 25.7, (double[2]){ 2047.8, 27.9 });
    service_is("azure-conv", "llama-2-13b", 55.3, (double[2]){ 1154.7, 211.1 });
    assert_true(w.services[0].profile != w.services[1].profile);
    parse("e4-code-chat");
    service_is("code", "llama-7b", 1, (double[2]){ 253, 67 });
    service_is("chat", "llama-13b", 1, (double[2]){ 133, 380 });
    parse("e4-sum-chat:rate=4,n=100");
    assert_true(w.services[0].n_requests == 50 && w.services[1].n_requests == 50);
    parse("servegen3:rate=30");
    assert_int_equal(w.n_services, 3);
    service_is("m-mid", "llama-2-13b", 16.73, (double[2]){ 307, 51 });
    parse("servegen:rate=30,clients=m-small,step=60s");
    assert_int_equal(w.n_services, 1);
    assert_true(w.services[0].profile->step_s == 60);
    double means[2] = { 0, 0 };
    for (uint32_t i = 0; i < workload_tables_n_classes; i++) {
        const struct workload_client_class *c = &workload_tables_classes[i];
        if (strcmp(c->model, "m-small") == 0) {
            means[0] += c->share * workload_tables_find(c->lengths)->mean_prompt;
            means[1] += c->share * workload_tables_find(c->lengths)->mean_output;
        }
    }
    service_is("m-small", NULL, 30, means);
}

/* Eight clusters of each data set make disjoint services. The seed changes models, not clusters. */
static void sea16_has_its_clusters(void **state)
{
    double rate = 0, last_prompt = 0;
    char models[16][LIMIT_NAME_BYTES];
    int n_other = 0;
    (void)state;
    parse("sea16:rate=20");
    assert_int_equal(w.n_services, 16);
    for (int32_t i = 0; i < 16; i++) {
        struct workload_expected expected;
        workload_expect(&w, i, &expected);
        printf("%-26s %6.3f/s %7.1f %6.1f\n", w.services[i].name, expected.rate_per_s,
               expected.n_prompt, expected.n_output);
        rate += expected.rate_per_s;
        assert_true(i == 8 || expected.n_prompt > last_prompt);
        last_prompt = expected.n_prompt;
        for (uint32_t k = 0; k < w.services[i].n_pairs; k++)
            assert_true(w.services[i].pairs[k].n_prompt + w.services[i].pairs[k].n_output <= 4096);
        snprintf(models[i], sizeof(models[i]), "%s", w.services[i].model);
    }
    assert_true(is_near(rate, 20, 1e-6));
    parse("sea16:rate=20,seed=2");
    for (int32_t i = 0; i < 16; i++)
        n_other += strcmp(models[i], w.services[i].model) != 0;
    assert_true(n_other > 4);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    is_bad("", "workload: : no such kind of workload");
    is_bad("hello:rate=1", "workload: hello: no such kind of workload");
    is_bad("azure-conv", "workload: azure-conv: needs rate= (requests per second)");
    is_bad(
        "azure-conv:rate=abc",
        "workload: azure-conv: rate is \"abc\", expected requests per second, above 0, up to 1e9");
    is_bad("azure-conv:rate=0",
           "workload: azure-conv: rate is \"0\", expected requests per second, above 0, up to 1e9");
    is_bad(
        "azure-conv:rate=nan",
        "workload: azure-conv: rate is \"nan\", expected requests per second, above 0, up to 1e9");
    is_bad(
        "azure-conv:rate=1e18",
        "workload: azure-conv: rate is \"1e18\", expected requests per second, above 0, up to 1e9");
    is_bad("once:n=9e9,in=1,out=1",
           "workload: once: n is \"9e9\", expected requests, 1 to 1000000000");
    is_bad("once:n=1000000001,in=1,out=1",
           "workload: once: n is \"1000000001\", expected requests, 1 to 1000000000");
    is_bad("azure-conv:rate=1,rate=2", "workload: azure-conv: rate is given twice");
    is_bad("azure-conv:rate=1,,", "workload: azure-conv: \"\" is not key=value");
    is_bad("azure-conv:foo.csv", "workload: azure-conv: \"foo.csv\" is not key=value");
    is_bad("azure-conv:rte=1", "workload: azure-conv: there is no key rte");
    is_bad("azure-conv:rate=1,repeat=2", "workload: azure-conv: repeat means nothing here");
    is_bad("azure-conv:rate=1,in=5", "workload: azure-conv: in means nothing here");
    is_bad("poisson:rate=1",
           "workload: poisson: needs in= and out= (mean tokens), or lengths=NAME");
    is_bad("poisson:rate=1,lengths=x", "workload: poisson: there are no lengths called x");
    is_bad("gamma:rate=1,in=1,out=1", "workload: gamma: gamma gaps need cv=");
    is_bad("constant:rate=1,in=1,out=1,cv=2", "workload: constant: cv goes with gamma gaps only");
    is_bad("once:in=1,out=1", "workload: once: a list at t = 0 needs n= requests");
    is_bad("arxiv:rate=1,on=5s", "workload: arxiv: bursts need both on= and off=");
    is_bad("arxiv:rate=1,on=5s,off=5s,profile=burstgpt",
           "workload: arxiv: bursts do not go with a profile");
    is_bad("arxiv:rate=1e-9,on=5s,off=5s",
           "workload: arxiv: bursts that are over long before a request comes");
    is_bad("arxiv:rate=1,profile=x", "workload: arxiv: there are no rates by the clock called x");
    is_bad("arxiv:rate=1,in-min=9,in-max=8",
           "workload: arxiv: no length lies between these bounds");
    is_bad("arxiv:rate=1,cancel=0.5", "workload: cancel needs cancel-after");
    is_bad("file", "workload: file: which file? file:PATH");
    is_bad("servegen:rate=1,clients=x",
           "workload: servegen: clients is \"x\", expected m-large, m-mid or m-small");
    is_bad("power19:services=1020+sea16", "workload: sea16: more than 1024 services");
    workload_free(&w);
    workload_init(&w);
    assert_int_equal(workload_parse(&w, "file:/nonexistent.csv", &fault), STATUS_NOT_FOUND);
}

static void write_file(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_write(path, text, strlen(text), &fault), STATUS_OK);
}

static void parse_file(const char *fmt, const char *path)
{
    char text[256];
    snprintf(text, sizeof(text), fmt, path);
    parse(text);
}

static void files_are_played(void **state)
{
    char path[] = "/tmp/shoal_text_XXXXXX";
    struct workload_stream stream;
    struct workload_ask ask;
    (void)state;
    write_file(path, "arrived_s,model,n_prompt,n_output\n0,a,10,1\n1,b,20,2\n2,a,30,3\n3,b,40,4\n");
    parse_file("file:%s,from=1s,to=3s,repeat=2,speed=2", path);
    assert_int_equal(w.n_services, 2);
    workload_begin(&stream, &w);
    static const struct {
        int64_t ms;
        int32_t service, n_prompt;
    } expected[] = { { 0, 1, 20 }, { 500, 0, 30 }, { 1000, 1, 20 }, { 1500, 0, 30 } };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(workload_next(&stream, &ask));
        assert_int_equal(ask.arrived_ns, expected[i].ms * TIME_NS_PER_MS);
        assert_int_equal(ask.service, expected[i].service);
        assert_int_equal(ask.n_prompt, expected[i].n_prompt);
    }
    assert_false(workload_next(&stream, &ask));
    workload_end(&stream);
    parse_file("file:%s,rate=8,service=one,in-max=25", path); /* 4 in 3 s are 4/3 a second */
    assert_true(w.n_services == 1 && is_near(w.replays[0].speed, 6, 1e-9));
    struct workload_expected means;
    workload_expect(&w, 0, &means);
    assert_true(is_near(means.rate_per_s, 8, 1e-6) && is_near(means.n_prompt, 20, 1e-9));
    parse_file("file:%s,arrivals=poisson,rate=3,service=x", path); /* its lengths only */
    assert_true(w.n_replays == 0 && w.services[0].n_pairs == 4);
    parse_file("poisson:rate=3,data=%s", path);
    assert_true(w.services[0].n_pairs == 4);
    unlink(path);
}

static void functions_are_dealt_out(void **state)
{
    char minutes[] = "/tmp/shoal_text_XXXXXX", calls[] = "/tmp/shoal_text_XXXXXX";
    struct workload_stream stream;
    struct workload_ask ask;
    int64_t counts[2] = { 0 };
    (void)state;
    write_file(minutes, "HashOwner,HashApp,HashFunction,Trigger,1,2,3\n"
                        "a,b,f,http,600,0,0\na,b,g,queue,0,0,300\na,b,h,http,0,600,0\n");
    parse_file("functions:%s,services=2,seconds=3m,seed=3", minutes);
    assert_int_equal(w.n_services, 2);
    workload_begin(&stream, &w);
    while (workload_next(&stream, &ask)) {
        counts[ask.service]++;
        assert_true(ask.service == 0 ? ask.arrived_ns < 120 * TIME_NS_PER_S
                                     : ask.arrived_ns >= 120 * TIME_NS_PER_S);
    }
    workload_end(&stream);
    assert_true(is_near((double)counts[0], 1200, 0.1) && is_near((double)counts[1], 300, 0.2));
    write_file(calls, "app,func,end_timestamp,duration\nx,f,5,1\nx,g,9,2.5\ny,h,3,9\nx,f,20,0.5\n");
    parse_file("functions:%s,services=2,in=5,out=6,in-max=4", calls);
    workload_begin(&stream, &w);
    static const int64_t at_ms[4] = { 0, 10000, 12500, 25500 }; /* since -6 s */
    static const int services[4] = { 0, 0, 1, 0 };
    for (int i = 0; i < 4; i++) {
        assert_true(workload_next(&stream, &ask));
        assert_true(ask.arrived_ns == at_ms[i] * TIME_NS_PER_MS && ask.service == services[i]);
    }
    assert_false(workload_next(&stream, &ask));
    workload_end(&stream);
    char text[256], sentence[300];
    snprintf(text, sizeof(text), "functions:%s", calls);
    assert_int_equal(file_write(calls, "app,func,end_timestamp,duration\nx,f,5,-1\n", 41, &fault),
                     STATUS_OK);
    snprintf(sentence, sizeof(sentence), "%s:2: no end_timestamp and duration in seconds", calls);
    is_bad(text, sentence);
    unlink(minutes);
    unlink(calls);
}

/* ---- Time zero, and spans of zero. ---- */

static void next_is(struct workload_stream *stream, int64_t arrived_ns, int32_t n_prompt)
{
    struct workload_ask ask;
    assert_true(workload_next(stream, &ask));
    assert_int_equal(ask.arrived_ns, arrived_ns);
    assert_int_equal(ask.n_prompt, n_prompt);
}

/* Returns the hash of a text's stream; *rate_per_s: the expected rate of service 0. */
static uint64_t hash_of_text(const char *fmt, const char *path, double *rate_per_s)
{
    struct workload_stream stream;
    struct workload_expected expected;
    uint64_t hash = 0;
    parse_file(fmt, path);
    workload_expect(&w, 0, &expected);
    *rate_per_s = expected.rate_per_s;
    workload_begin(&stream, &w);
    for (struct workload_ask ask; workload_next(&stream, &ask);) {
        int64_t all[4] = { ask.arrived_ns, ask.service, ask.n_prompt, ask.n_output };
        hash = hash_fast(all, sizeof(all), hash).low;
    }
    workload_end(&stream);
    return hash;
}

/* Calls and minutes on another clock are the same traffic. */
static void functions_begin_at_their_first_call(void **state)
{
    static const char *const calls[] = {
        "app,func,end_timestamp,duration\nx,f,5,1\nx,g,9.000000001,2.5\ny,h,3,0.25\nx,f,20,0.5\n",
        "app,func,end_timestamp,duration\nx,f,1700000005,1\nx,g,1700000009.000000001,2.5\n"
        "y,h,1700000003,0.25\nx,f,1700000020,0.5\n",
        "app,func,end_timestamp,duration\nx,f,-95,1\nx,g,-90.999999999,2.5\ny,h,-97,0.25\n"
        "x,f,-80,0.5\n",
    };
    static const char *const minutes[] = {
        "HashOwner,HashApp,HashFunction,Trigger,1,2,3\na,b,f,h,60,0,0\na,b,g,q,0,0,30\n",
        "HashOwner,HashApp,HashFunction,Trigger,61,62,63\na,b,f,h,60,0,0\na,b,g,q,0,0,30\n",
        "HashOwner,HashApp,HashFunction,Trigger,1,2,3,4,5\na,b,f,h,0,0,60,0,0\na,b,g,q,0,0,0,0,"
        "30\n",
    };
    char path[] = "/tmp/shoal_text_XXXXXX";
    double rate, rates[2];
    uint64_t hashes[2];
    (void)state;
    write_file(path, "");
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        assert_int_equal(file_write(path, calls[i], strlen(calls[i]), &fault), STATUS_OK);
        uint64_t hash = hash_of_text("functions:%s,services=2,in=5,out=6", path, &rate);
        rates[0] = i == 0 ? rate : rates[0];
        hashes[0] = i == 0 ? hash : hashes[0];
        assert_true(hash == hashes[0] && is_near(rate, rates[0], 1e-12));
        assert_int_equal(file_write(path, minutes[i], strlen(minutes[i]), &fault), STATUS_OK);
        hash = hash_of_text("functions:%s,services=2,in=5,out=6,seconds=3m", path, &rate);
        rates[1] = i == 0 ? rate : rates[1];
        hashes[1] = i == 0 ? hash : hashes[1];
        assert_true(hash == hashes[1] && is_near(rate, rates[1], 1e-12));
    }
    static const char wrong[] = "HashOwner,HashApp,HashFunction,Trigger,1,3\na,b,f,h,60,0\n";
    char text[256], sentence[300];
    assert_int_equal(file_write(path, wrong, strlen(wrong), &fault), STATUS_OK);
    snprintf(text, sizeof(text), "functions:%s", path);
    snprintf(sentence, sizeof(sentence), "%s:1: column \"3\" is not the next minute's number",
             path);
    is_bad(text, sentence);
    unlink(path);
}

/* A list that comes at once, and a lone request: rates stay bounded, repeats are a second apart. */
static void a_span_of_zero_is_a_second(void **state)
{
    static const char list[] = "arrived_s,n_prompt,n_output\n9,10,1\n9,20,2\n9,30,3\n";
    static const char lone[] = "app,func,end_timestamp,duration\nx,f,9,1\nx,f,9,1\n";
    char path[] = "/tmp/shoal_text_XXXXXX", text[256];
    struct workload_stream stream;
    struct workload_expected expected;
    (void)state;
    write_file(path, list);
    parse_file("file:%s,repeat=2", path);
    workload_expect(&w, 0, &expected);
    assert_true(is_near(expected.rate_per_s, 3, 1e-9) && is_near(expected.n_prompt, 20, 1e-9));
    workload_begin(&stream, &w);
    for (int64_t i = 0; i < 6; i++)
        next_is(&stream, i / 3 * TIME_NS_PER_S, (int32_t)(10 + i % 3 * 10));
    workload_end(&stream);
    snprintf(text, sizeof(text), "file:%s,rate=5", path);
    is_bad(text, "workload: file: its requests come at one time, so that they have no rate that "
                 "could be scaled");
    assert_int_equal(file_write(path, lone, strlen(lone), &fault), STATUS_OK);
    parse_file("functions:%s,in=5,out=6", path);
    workload_expect(&w, 0, &expected);
    assert_true(is_near(expected.rate_per_s, 2, 1e-9));
    snprintf(text, sizeof(text), "functions:%s,in=5,out=6,rate=5", path);
    is_bad(text, "workload: functions: its calls come at one time, so that they have no rate that "
                 "could be scaled");
    unlink(path);
}

static void a_window_without_requests_is_an_error(void **state)
{
    static const char list[] = "arrived_s,n_prompt,n_output\n100,10,1\n101,20,2\n109,30,3\n";
    char path[] = "/tmp/shoal_text_XXXXXX", text[256];
    (void)state;
    write_file(path, list);
    static const char *const keys[] = { "from=10s", "from=2s,to=9s", "from=10s,rate=3" };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        snprintf(text, sizeof(text), "file:%s,%s", path, keys[i]);
        is_bad(text, "workload: file: no request lies between from and to: the first of the trace "
                     "is at 0 s, the last at 9 s");
    }
    unlink(path);
}

/* The performance models know every model of every mix, and every mix has an end. */
static void mixes_name_known_models(void **state)
{
    const struct workload_mix *mix;
    (void)state;
    for (uint32_t i = 0; (mix = workload_mixes_at(i)) != NULL; i++) {
        struct workload_stream stream;
        struct workload_ask ask;
        char text[64];
        uint64_t n = 0;
        snprintf(text, sizeof(text), "%s:rate=10,requests=500", mix->name);
        parse(text);
        for (int32_t k = 0; k < w.n_services; k++)
            if (strcmp(mix->name, "servegen") != 0)
                assert_non_null(predict_model_find(w.services[k].model));
        workload_begin(&stream, &w);
        for (; workload_next(&stream, &ask); n++)
            assert_true(ask.service < w.n_services);
        workload_end(&stream);
        assert_int_equal(n, 500);
    }
}

static int end(void **state)
{
    (void)state;
    workload_free(&w);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_service_of_each_kind),
        cmocka_unit_test(the_whole_has_its_keys),
        cmocka_unit_test(parts_are_mixed),
        cmocka_unit_test(mixes_are_as_in_their_papers),
        cmocka_unit_test(sea16_has_its_clusters),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(files_are_played),
        cmocka_unit_test(functions_are_dealt_out),
        cmocka_unit_test(mixes_name_known_models),
        cmocka_unit_test(functions_begin_at_their_first_call),
        cmocka_unit_test(a_span_of_zero_is_a_second),
        cmocka_unit_test(a_window_without_requests_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
