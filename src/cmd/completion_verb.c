/* shoal completion bash: words for the Tab key. The script gets verbs and options from the program
 * itself, so that it is never out of date. */
#include "cmd/verbs.h"
#include "config/options.h"
#include <stdio.h>
#include <string.h>

static const char bash[] = "_shoal() {\n"
                           "    local word=${COMP_WORDS[COMP_CWORD]} words\n"
                           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                           "        words=$(\"$1\" --help | sed -n 's/^  \\([a-z]*\\) .*/\\1/p')\n"
                           "    elif [[ $word == -* ]]; then\n"
                           "        words=$(\"$1\" \"${COMP_WORDS[1]}\" --help 2>/dev/null |\n"
                           "            sed -n 's/^ *\\(-., \\)*\\(--[a-z0-9-]*=*\\).*/\\2/p')\n"
                           "    fi\n"
                           "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
                           "    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null\n"
                           "}\n"
                           "complete -o default -F _shoal shoal\n";

int verbs_completion(int argc, char **argv)
{
    const struct options_verb verb = {
        .doc = "Prints a script that completes verbs and options: source <(shoal completion bash)",
        .arguments = "bash",
        .n_min = 1,
        .n_max = 1
    };
    const char *shell;
    int n_plain;
    if (!config_options_parse(&verb, argc, argv, NULL, &shell, &n_plain))
        return 2;
    if (strcmp(shell, "bash") != 0) {
        fprintf(stderr, "shoal: there is completion for bash only\n");
        return 2;
    }
    fputs(bash, stdout);
    return 0;
}
