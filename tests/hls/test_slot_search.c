/* test_slot_search.c : searches all states of the slot machine and of job registration under any
 * network, timers and card failure.
 * No rank ever accepts a wrong sum, and no rank is ever stuck. Rules
 * known to be bad must be found bad. */
#include "check.h"
#include "slot_moves.h"
#include "slot_rules.h"
#include <stddef.h>

static const struct world_config good[] = {
    {"1 rank", .ranks = {1}, .packets = 8},
    {"2 ranks", .ranks = {2}, .packets = 8},
    {"3 ranks", .ranks = {3}, .packets = 8, .sorted = true},
    {"4 ranks", .ranks = {4}, .packets = 4, .sorted = true},
    {"the chunk wraps", .ranks = {3}, .packets = 4, .start = -2, .sorted = true},
    {"2 slots", .ranks = {2}, .packets = 4, .slots = 2},
    {"2 slots", .ranks = {3}, .packets = 4, .slots = 2, .sorted = true},
    {"results are sent later", .ranks = {3}, .packets = 4, .fifo = true, .masks = true,
     .sorted = true},
    {"registered again", .ranks = {3}, .packets = 3, .epochs = 2, .fifo = true, .sorted = true},
    {"registered again twice", .ranks = {2}, .packets = 2, .epochs = 3, .fifo = true,
     .sorted = true},
    {"registered again after the chunk wrapped", .ranks = {3}, .packets = 3, .epochs = 2,
     .start = -2, .sorted = true},
    {"restart", .ranks = {1}, .packets = 3, .epochs = 3, .restarts = 2, .fifo = true,
     .masks = true},
    {"restart", .ranks = {2}, .packets = 2, .epochs = 3, .restarts = 1, .fifo = true,
     .sorted = true},
    {"restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {3}, .packets = 4, .epochs = 2, .restarts = 1, .sorted = true},
    {"rank 1 means something else by packet 1", .ranks = {3}, .packets = 2, .epochs = 2,
     .disagree = true},
    {"two jobs", .ranks = {2, 2}, .packets = 3, .restarts = 1, .sorted = true},
    {"two jobs", .ranks = {2, 1}, .packets = 2, .epochs = 2, .sorted = true},
    {"pings", .ranks = {2}, .packets = 3, .epochs = 2, .pings = true, .sorted = true},
};
static const struct world_config large[] = {
    {"two jobs", .ranks = {2, 1}, .packets = 2, .epochs = 2, .restarts = 1, .sorted = true},
    {"registered again twice", .ranks = {2}, .packets = 3, .epochs = 3, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {2}, .packets = 3, .epochs = 3, .restarts = 2, .fifo = true,
     .sorted = true},
    {"3 ranks", .ranks = {3}, .packets = 8, .fifo = true, .masks = true, .sorted = true},
    {"4 ranks", .ranks = {4}, .packets = 8, .fifo = true, .sorted = true},
    {"2 slots", .ranks = {3}, .packets = 6, .slots = 2, .sorted = true},
    {"restart", .ranks = {3}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true, .masks = true,
     .sorted = true},
    {"restart", .ranks = {3}, .packets = 2, .epochs = 3, .restarts = 2, .sorted = true},
    {"restart", .ranks = {3}, .packets = 4, .epochs = 2, .restarts = 1, .fifo = true,
     .sorted = true},
    {"two jobs", .ranks = {2, 2}, .packets = 2, .epochs = 2, .restarts = 1, .sorted = true},
    {"2 slots, registered again", .ranks = {2}, .packets = 3, .slots = 2, .epochs = 2, .fifo = true,
     .sorted = true},
    {"2 slots, restart", .ranks = {2}, .packets = 3, .slots = 2, .epochs = 2, .restarts = 1,
     .sorted = true},
    {"2 slots", .ranks = {2}, .packets = 4, .slots = 2, .fifo = true, .masks = true,
     .sorted = true},
    {"two jobs", .ranks = {1, 1}, .packets = 2, .epochs = 2, .fifo = true, .masks = true},
    {"two jobs, restart", .ranks = {1, 1}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true},
    {"the chunk wraps", .ranks = {2}, .packets = 3, .start = -2, .epochs = 2, .fifo = true,
     .masks = true, .sorted = true},
    {"rank 1 means something else", .ranks = {2}, .packets = 2, .epochs = 2, .fifo = true,
     .masks = true, .disagree = true},
    {"rank 1 means something else, restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1,
     .fifo = true, .disagree = true},
    {"pings", .ranks = {3}, .packets = 3, .pings = true, .sorted = true},
    {"pings, 2 slots", .ranks = {2}, .packets = 4, .slots = 2, .pings = true, .sorted = true},
    {"pings, restart", .ranks = {2}, .packets = 2, .epochs = 2, .restarts = 1, .fifo = true,
     .pings = true, .sorted = true},
};
static const struct world_config bad[] = {
    {"hosts run two chunks ahead",
     SEARCH_STUCK,
     {2},
     .packets = 4,
     .slots = 2,
     .rule = rule_one_row},
    {"no result is sent again", SEARCH_STUCK, {2}, .packets = 2, .rule = rule_sent_once},
    {"chunks are compared by size",
     SEARCH_STUCK,
     {2},
     .packets = 3,
     .start = -1,
     .rule = rule_by_size},
    {"rank 0 leaves when it is done", SEARCH_STUCK, {2}, .packets = 1, .leaves = true},
    {"a restarted card is not given up",
     SEARCH_STUCK,
     {2},
     .packets = 2,
     .restarts = 1,
     .goes_on = true},
    {"a card that began anew has kept the key; pings",
     SEARCH_STUCK,
     {2},
     .packets = 2,
     .epochs = 2,
     .restarts = 1,
     .goes_on = true,
     .pings = true},
    {"hosts accept any chunk", SEARCH_UNSAFE, {2}, .packets = 2, .any_chunk = true},
    {"a rank is added twice", SEARCH_UNSAFE, {2}, .packets = 1, .rule = rule_no_bitmap},
    {"descriptions are not compared",
     SEARCH_UNSAFE,
     {2},
     .packets = 2,
     .disagree = true,
     .rule = rule_any_desc},
    {"SwitchML's version bit", SEARCH_UNSAFE, {2}, .packets = 3, .rule = rule_version_bit},
    {"the next free slot", SEARCH_UNSAFE, {2}, .packets = 4, .slots = 2, .next_free = true},
    {"the same key again", SEARCH_UNSAFE, {2}, .packets = 1, .epochs = 2, .same_key = true},
    {"slots are not cleared", SEARCH_UNSAFE, {2}, .packets = 2, .epochs = 2, .not_cleared = true},
    {"the key is not looked at again",
     SEARCH_UNSAFE,
     {2},
     .packets = 1,
     .epochs = 2,
     .fifo = true,
     .no_recheck = true},
    {"any slot for any job", SEARCH_UNSAFE, {2, 1}, .packets = 1, .any_range = true},
    {"any source for any rank", SEARCH_UNSAFE, {2, 1}, .packets = 1, .any_source = true},
};

static void search_one(const char *kind, struct world_config c, size_t most)
{
    char about[160];
    c.slots = c.slots ? c.slots : 1;
    c.epochs = c.epochs ? c.epochs : 1;
    CHECK(c.ranks[0] + c.ranks[1] <= RANKS && c.packets <= 8 && c.packets * c.epochs <= TAGS,
          "%s does not fit", c.what);
    int n = snprintf(about, sizeof about, "%d", c.ranks[0]);
    if (c.ranks[1])
        n += snprintf(about + n, sizeof about - (size_t)n, "+%d", c.ranks[1]);
    snprintf(about + n, sizeof about - (size_t)n,
             " ranks, %d packets, %d slots, %d epochs, %d restarts%s%s%s", c.packets, c.slots,
             c.epochs, c.restarts, c.fifo ? ", FIFO" : "", c.masks ? ", masks" : "",
             c.sorted ? ", sorted" : "");
    printf("%s  %s (%s)\n", kind, c.what, about);
    const struct world start = world_start_state(&c);
    const size_t n_ranks = (size_t)c.ranks[0] + c.ranks[1];
    const struct search_model model = {offsetof(struct world, rank) + n_ranks * sizeof *start.rank,
                                       &c, slot_moves, world_goal};
    const struct search_report r = search_run(&model, &start, most);
    search_print(&r);
    CHECK(r.verdict == c.want, "%s (%s): %s", c.what, about, search_said(&r));
}

int main(int argc, char **argv)
{
    const bool longer = argc > 1 && !strcmp(argv[1], "long");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        search_one("bad ", bad[i], 1000000);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        search_one("good", good[i], 10000000);
    for (size_t i = 0; longer && i < sizeof large / sizeof *large; i++)
        search_one("good", large[i], 20000000);
    DONE();
}
