/* card_words.c : which card in this machine does the work of --on xrt. */
#include "app/files/card_words.h"
#include "base/err.h"
#include "offload/xrt/xrt_card.h"
#include <string.h>

int card_words_check(const char *on, const char *card, const char *xclbin)
{
    if (!strcmp(on, "xrt"))
        return !card || xrt_card_name_fits(card)
                   ? 0
                   : ERR(-EINVAL, "unknown --card '%s': need xrt, xrt:1 or xrt:65:00.1", card);
    if (card)
        return ERR(-EINVAL, "--card '%s' needs --on xrt", card);
    if (xclbin)
        return ERR(-EINVAL, "--xclbin '%s' needs --on xrt", xclbin);
    return 0;
}
