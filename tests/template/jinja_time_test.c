/* Jinja: strftime_now at a fixed time; the expected texts are jinja2's. */
#include "base/base.h"
#include "render.h"
#include "test.h"

static const struct render_case cases[] = {
    { "{{ strftime_now('%Y-%m-%d %H:%M:%S') }}", NULL, "2026-01-31 09:05:07" },
    { "{{ strftime_now('%d %b %Y, %A %B %a %j %U %W %w %u %y %p %I %% %e %D %F %T %R %n%t|') }}",
      NULL,
      "31 Jan 2026, Saturday January Sat 031 04 04 6 6 26 AM 09 % 31 01/31/26 2026-01-31 09:05:07 "
      "09:05 \n\t|" },
    { "{{ strftime_now('') }}|{{ strftime_now('\303\251 %d') }}", NULL, "|\303\251 31" },
    { "{{ strftime_now(5) }}", NULL, NULL },
    { "{{ strftime_now() }}", NULL, NULL },
    { "{{ strftime_now(format='%Y') }}", NULL, "2026" },
    { "{{ strftime_now is defined }} {{ strftime_now('%G-%V %C %h %k %l') }}", NULL,
      "True 2026-05 20 Jan  9  9" },
    { "{% set d = strftime_now %}{{ d('%-d %b') }}", NULL, "31 Jan" },
};

static void renders_as_jinja2_does(void **state)
{
    (void)state;
    render_expect(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(renders_as_jinja2_does) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
