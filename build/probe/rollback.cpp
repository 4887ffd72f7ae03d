// Rolling back with snapshots: true only if the state is really held, else false and nothing changed.
#include "scenario.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <tuple>

namespace probe {

namespace {

constexpr int N_SNAPSHOTS = 4;

// One case: play `steps`, remove all positions >= p0, go on, and compare with a reference that never
// saw the removed rows. `held`: whether the last call's rows still hold the state asked for.
struct Case {
    std::string       name;
    std::vector<Step> steps;
    int               p0;
    bool              held;
};

std::vector<Step> one_by_one(int n, int pos0, unsigned seed) {
    std::vector<Step> steps;
    for (int i = 0; i < n; ++i) {
        steps.push_back(text_step(1, pos0 + i, seed + static_cast<unsigned>(i)));
    }
    return steps;
}

std::vector<Step> operator+(std::vector<Step> a, const std::vector<Step> & b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<Case> cases() {
    // text at 0-8, an image with the extent 9-16, text from 17 on
    const std::vector<Step> image = { text_step(9, 0, 1), image_step({ 8, 6, 1 }, 9) };
    const std::vector<Step> text  = image + std::vector<Step>{ text_step(6, 17, 2) };
    std::vector<Case>       all;
    for (int k = 1; k <= 5; ++k) {
        all.push_back({ std::to_string(k) + " of 6 tokens behind the image", text, 23 - k, k <= N_SNAPSHOTS });
    }
    all.push_back({ "all tokens behind the image", text, 17, false });
    all.push_back({ "4 of 4 tokens behind the image", image + std::vector<Step>{ text_step(4, 17, 2) }, 17, false });
    all.push_back({ "3 of 4 tokens behind the image", image + std::vector<Step>{ text_step(4, 17, 2) }, 18, true });
    all.push_back({ "inside the image's extent", image + std::vector<Step>{ text_step(2, 17, 2) }, 14, false });
    all.push_back({ "the image, nothing behind it", image, 9, false });
    all.push_back({ "the image and the text behind it", image + std::vector<Step>{ text_step(2, 17, 2) }, 9, false });
    all.push_back({ "the image and text before it", image, 7, false });
    all.push_back({ "1 of 3 tokens decoded one by one", image + one_by_one(3, 17, 5), 19, false });
    all.push_back({ "2 of 6 tokens decoded one by one", image + one_by_one(6, 17, 5), 21, false });
    all.push_back({ "behind the end: nothing to remove", text, 23, true });
    all.push_back({ "2 of 9 tokens without an image", { text_step(9, 0, 1) }, 7, true });
    all.push_back({ "everything", text, 0, true });
    return all;
}

// Compare with the reference; what the sequence now holds is `left`.
void go_on(Run & run, Session & session, int sequence, const std::string & name, const std::vector<Step> & left, double limit) {
    const int         next = left.empty() ? 0 : left.back().next;
    std::vector<Step> more = { text_step(2, next, 31) };
    if (!play(session, sequence, more)) {
        run.answer(name + ": goes on", false, true);
        return;
    }
    run.equal(name, session.last(sequence), replayed(run.model, run.setup(), left + more), limit);
}

void rollback(Run & run) {
    run.with_image = true;
    for (auto & one : cases()) {
        Session session(run.model, run.setup(1, N_SNAPSHOTS));
        if (!play(session, 0, one.steps)) {
            run.take(session);
            return;
        }
        const bool held     = one.held && (session.n_rs() > 0 || one.p0 == 0 || one.p0 == one.steps.back().next);
        const bool returned = session.rm(0, one.p0);
        run.answer(one.name, returned, held);
        // true: the removed rows must be gone; false: nothing may have changed
        go_on(run, session, 0, one.name + (returned ? ": rolled back" : ": refused, unchanged"),
              returned ? cut(one.steps, one.p0) : one.steps, ROUNDING);
        run.take(session);
    }
}

// Again and again: before the next decode, and after each.
void repeated(Run & run) {
    Session           session(run.model, run.setup(1, N_SNAPSHOTS));
    std::vector<Step> steps = { text_step(8, 0, 1) };
    play(session, 0, steps);
    if (session.n_rs() == 0) {
        run.take(session);
        return;
    }
    run.answer("first", session.rm(0, 7), true);
    const bool returned = session.rm(0, 5);
    run.answer("second, further back", returned, true);
    std::vector<Step> left = cut(steps, returned ? 5 : 7);
    left.push_back(text_step(6, left.back().next, 2));
    session.decode(0, left.back().text);
    run.equal("after two", session.last(0), replayed(run.model, run.setup(), left), ROUNDING);
    run.answer("again", session.rm(0, left.back().next - 2), true);
    go_on(run, session, 0, "after three", cut(left, left.back().next - 2), ROUNDING);
    run.take(session);
}

// A pending rollback goes with the copy; the source keeps its own.
void then_fork(Run & run) {
    run.with_image = true;
    const std::vector<Step> steps = { text_step(9, 0, 1), image_step({ 8, 6, 1 }, 9), text_step(6, 17, 2) };
    for (const bool source_first : { true, false }) {
        Session           session(run.model, run.setup(3, N_SNAPSHOTS));
        std::vector<Step> played = steps;
        if (!play(session, 0, played)) {
            run.take(session);
            return;
        }
        if (session.n_rs() == 0) {
            run.take(session);
            return;
        }
        run.answer("rolled back", session.rm(0, 20), true);
        const auto left = cut(steps, 20);
        session.cp(0, 1);
        session.cp(1, 2);
        const std::string order = source_first ? ", source first" : ", source last";
        const std::vector<int> sequences = source_first ? std::vector<int>{ 0, 1, 2 } : std::vector<int>{ 2, 1, 0 };
        for (const int s : sequences) {
            go_on(run, session, s, (s == 0 ? "source" : s == 1 ? "copy" : "copy of the copy") + order, left, ROUNDING);
        }
        run.take(session);
    }
}

// Several sequences in one memory, and what each holds. Every call must be right for all of them.
class Several {
public:
    Several(Run & run, const std::string & name) : run(run), name(name), session(run.model, run.setup(5, N_SNAPSHOTS)) {}

    void decode(const std::vector<int> & sequences, int n) {
        std::vector<std::pair<int, Rows>> batch;
        for (const int s : sequences) {
            const Step step = text_step(n, next(s), ++seed);
            held[s].push_back(step);
            batch.emplace_back(s, step.text);
        }
        session.decode(batch);
    }

    void image(int sequence, int nx, int ny) {
        std::vector<Step> steps = { image_step({ nx, ny, 1 }, next(sequence)) };
        play(session, sequence, steps);
        held[sequence].push_back(steps.front());
    }

    void back(int sequence, int n) {
        const int  p0       = next(sequence) - n;
        const bool returned = session.rm(sequence, p0);
        run.answer(name + ": " + std::to_string(sequence) + " back by " + std::to_string(n), returned, true);
        if (returned) {
            held[sequence] = cut(held[sequence], p0);
        }
    }

    // What is not held is refused, and nothing changes.
    void refused(int sequence, int n) {
        run.answer(name + ": " + std::to_string(sequence) + " back by " + std::to_string(n),
                   session.rm(sequence, next(sequence) - n), false);
    }

    void copy(int from, int to) {
        session.cp(from, to);
        held[to] = held[from];
    }

    void drop(int sequence) {
        session.rm(sequence, 0);
        held.erase(sequence);
    }

    void keep(int sequence) {
        session.keep(sequence);
        held = { { sequence, held[sequence] } };
    }

    void move_state(int from, int to) {
        run.answer(name + ": state set", session.restore(to, session.save(from, 0), 0), true);
        held[to] = held[from];
    }

    // The whole state as it was then, set where something else went on since.
    void remember() { whole = { session.save_all(), held }; }
    void return_there() {
        run.answer(name + ": whole state set", session.restore_all(whole.first), true);
        held = whole.second;
    }

    void move_all() { run.answer(name + ": whole state set", session.restore_all(session.save_all()), true); }

    void end() {
        for (const auto & [s, left] : held) {
            go_on(run, session, s, name + ": sequence " + std::to_string(s), left, ROUNDING);
        }
        run.take(session);
    }

private:
    int next(int sequence) { return held[sequence].empty() ? 0 : held[sequence].back().next; }

    Run &                            run;
    std::string                      name;
    Session                          session;
    std::map<int, std::vector<Step>> held;
    std::pair<std::vector<uint8_t>, std::map<int, std::vector<Step>>> whole;
    unsigned                         seed = 40;
};

// A rollback is pending while other sequences are decoded, moved, copied, dropped and restored.
void among(Run & run) {
    if (Session(run.model, run.setup(1, N_SNAPSHOTS)).n_rs() == 0) {
        Several all(run, "this revision has no snapshots");
        all.decode({ 0, 1 }, 9);
        all.refused(0, 2);
        all.end();
        return;
    }
    const std::vector<std::pair<std::string, std::function<void(Several &)>>> tales = {
        { "another goes on", [](Several & all) { all.decode({ 0 }, 9); all.decode({ 1 }, 7); all.back(0, 2); all.decode({ 1 }, 3); } },
        { "both go on in one batch", [](Several & all) { all.decode({ 0 }, 9); all.decode({ 1 }, 7); all.back(0, 2); all.decode({ 0, 1 }, 3); } },
        { "cells are gathered around it",
          [](Several & all) {
              for (const int s : { 0, 1, 2, 3 }) {
                  all.decode({ s }, 6 + s);
              }
              all.back(1, 2);
              all.back(2, 1);
              all.decode({ 3, 0 }, 4);
              // the cell of 1 had to make room, which leaves its snapshots behind
              all.refused(1, 1);
              all.back(2, 1);
          } },
        { "further back behind others", [](Several & all) { all.decode({ 0 }, 9); all.decode({ 1 }, 7); all.back(0, 1); all.decode({ 1 }, 3); all.back(0, 2); } },
        { "the source goes on first", [](Several & all) { all.decode({ 0 }, 9); all.copy(0, 1); all.back(1, 2); all.decode({ 0 }, 3); } },
        { "the copy goes on first", [](Several & all) { all.decode({ 0 }, 9); all.copy(0, 1); all.back(1, 2); all.decode({ 1 }, 3); } },
        { "source and copy in one batch", [](Several & all) { all.decode({ 0 }, 9); all.copy(0, 1); all.back(1, 2); all.decode({ 1, 0 }, 3); } },
        { "the source is dropped", [](Several & all) { all.decode({ 0 }, 9); all.copy(0, 1); all.back(1, 2); all.drop(0); all.decode({ 2, 3 }, 5); } },
        { "the source is dropped, a state set",
          [](Several & all) {
              all.decode({ 3 }, 6);
              all.decode({ 0 }, 9);
              all.copy(0, 1);
              all.back(1, 2);
              all.drop(0);
              all.move_state(3, 0);
              all.move_state(3, 2);
              all.back(1, 1);
          } },
        { "a state is set: it has no snapshots", [](Several & all) { all.decode({ 0 }, 9); all.decode({ 1 }, 8); all.move_state(0, 1); all.refused(1, 2); all.back(0, 2); } },
        { "the whole state is set: it has no snapshots", [](Several & all) { all.decode({ 0 }, 9); all.decode({ 1 }, 8); all.move_all(); all.refused(0, 2); all.refused(1, 1); } },
        { "each copy elsewhere",
          [](Several & all) {
              all.decode({ 0 }, 9);
              all.copy(0, 1);
              all.copy(0, 2);
              all.back(1, 2);
              all.back(2, 3);
              all.copy(1, 3);
              all.back(1, 1);
              all.decode({ 0, 2 }, 2);
          } },
        { "a state of before an image is set",
          [](Several & all) {
              all.decode({ 0 }, 9);
              all.remember();
              all.drop(0);
              all.decode({ 0 }, 8);
              all.image(0, 39, 15);
              all.return_there();
          } },
        { "a cell that held an image is used again",
          [](Several & all) {
              all.decode({ 1 }, 5);
              all.image(1, 39, 15);
              all.decode({ 0 }, 9);
              all.drop(1);
              all.copy(0, 2);
              all.back(2, 3);
          } },
        { "a copy in the way of another's source",
          [](Several & all) {
              for (const int s : { 0, 1, 2, 3, 4 }) {
                  all.decode({ s }, 9);
              }
              all.drop(0);
              all.copy(2, 0);
              all.back(0, 2);
              all.drop(1);
              all.copy(3, 1);
              all.back(1, 2);
              all.decode({ 3, 4 }, 3);
          } },
        { "two at the same position change places",
          [](Several & all) {
              all.decode({ 0 }, 10);
              all.decode({ 1 }, 9);
              all.image(1, 39, 15);
              all.decode({ 1, 0 }, 3);
          } },
        { "only the copy is kept", [](Several & all) { all.decode({ 0 }, 9); all.copy(0, 1); all.back(1, 2); all.keep(1); all.decode({ 0, 3 }, 4); } },
    };
    for (const auto & [name, play_it] : tales) {
        Several all(run, name);
        play_it(all);
        all.end();
    }
}

// The whole state with a shared cell that has a rollback pending, for both or for one of its
// sequences: must neither abort nor lose it.
void fork_saved(Run & run) {
    for (const bool both : { true, false }) {
        const std::string name = both ? "rolled back, then copied" : "copied, then one rolled back";
        Session           session(run.model, run.setup(3, N_SNAPSHOTS));
        std::vector<Step> steps = { text_step(9, 0, 1), text_step(14, 9, 2) };
        play(session, 0, steps);
        if (session.n_rs() == 0) {
            run.take(session);
            return;
        }
        if (!both) {
            session.cp(0, 1);
        }
        run.answer(name, session.rm(0, 20), true);
        if (both) {
            session.cp(0, 1);
        }
        // in a child of its own: some revisions end the process here
        std::cout.flush();
        const pid_t child = ::fork();
        if (child == 0) {
            _exit(session.save_all().empty() ? 1 : 0);
        }
        int status = -1;
        if (child < 0 || waitpid(child, &status, 0) != child) {
            throw std::runtime_error("cannot run a child process");
        }
        const bool saved = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        run.answer(name + ": whole state saved", saved, true,
                   WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "");
        if (saved) {
            run.answer(name + ": whole state set", session.restore_all(session.save_all()), true);
            go_on(run, session, 1, name + ": copy from a saved state", both ? cut(steps, 20) : steps, ROUNDING);
            go_on(run, session, 0, name + ": source from a saved state", cut(steps, 20), ROUNDING);
        }
        run.take(session);
    }
}

// A rollback of one of two sequences that share their state must not reach the other.
void shared(Run & run) {
    Session           session(run.model, run.setup(2, N_SNAPSHOTS));
    std::vector<Step> steps = { text_step(9, 0, 1) };
    play(session, 0, steps);
    if (session.n_rs() == 0) {
        run.take(session);
        return;
    }
    session.cp(0, 1);
    const bool returned = session.rm(1, 7);
    run.answer("fork rolled back", returned, true);
    run.counted("the other's last position", llama_memory_seq_pos_max(session.memory(), 0), 8);
    go_on(run, session, 0, "the other", steps, ROUNDING);
    go_on(run, session, 1, "the fork", returned ? cut(steps, 7) : steps, ROUNDING);
    run.take(session);
}

// A pending rollback dies with its sequence.
void forgotten(Run & run) {
    const std::vector<std::string> ways = { "removed up to its end", "kept another", "overwritten by a copy" };
    for (const auto & way : ways) {
        Setup setup = run.setup(2, N_SNAPSHOTS);
        // a unified attention cache keeps the old rows of a sequence that is copied onto, which is another matter
        setup.unified = way != ways[2];
        Session           session(run.model, setup);
        std::vector<Step> steps = { text_step(9, 0, 1) };
        std::vector<Step> other = { text_step(5, 0, 4) };
        play(session, 0, other);
        play(session, 1, steps);
        if (session.n_rs() == 0) {
            run.take(session);
            return;
        }
        run.answer("rolled back", session.rm(1, 7), true);
        std::vector<Step> left;
        if (way == ways[0]) {
            session.rm(1, 0, 50);
        } else if (way == ways[1]) {
            session.keep(0);
        } else {
            session.cp(0, 1);
            left = other;
        }
        go_on(run, session, 1, way, left, ROUNDING);
        go_on(run, session, 0, way + ": the other", other, ROUNDING);
        run.take(session);
    }
}

// The positions of a state are shifted or divided, and those of its snapshots with it. A hybrid
// memory of an M-RoPE model does not shift its attention half, so it is asked of this half alone.
void shifted(Run & run) {
    using Change = void (*)(llama_memory_recurrent &);
    const std::vector<std::tuple<std::string, Change, int, int, int>> ways = {
        // what is done to the rows 0-8; what is removed; how many rows are left; the last position then
        { "shifted from 7 on", [](llama_memory_recurrent & memory) { memory.seq_add(0, 7, 100, 5); }, 12, 7, 6 },
        { "divided by 2 from 5 on", [](llama_memory_recurrent & memory) { memory.seq_div(0, 5, 100, 2); }, 3, 6, 2 },
    };
    for (const auto & [name, change, p0, n_left, last] : ways) {
        Session      session(run.model, run.setup(1, N_SNAPSHOTS));
        const auto   steps  = std::vector<Step>{ text_step(9, 0, 1) };
        auto *       hybrid = dynamic_cast<llama_memory_hybrid *>(session.memory());
        session.decode(0, steps[0].text);
        run.take(session);
        if (hybrid == nullptr) {
            return;
        }
        auto & memory = *hybrid->get_mem_recr();
        if (session.n_rs() == 0) {
            run.answer("this revision has no snapshots: rolled back", memory.seq_rm(0, 7, -1), false);
            return;
        }
        change(memory);
        run.answer(name + ": rolled back", memory.seq_rm(0, p0, -1), true);
        run.counted(name + ": last position", memory.seq_pos_max(0), last);
        hybrid->get_mem_attn()->seq_rm(0, n_left, -1);
        go_on(run, session, 0, name, cut(steps, n_left), ROUNDING);
    }
}

}  // namespace

void add_rollback_scenarios(std::map<std::string, Scenario> & all) {
    all["rollback"]           = rollback;
    all["rollback-repeated"]  = repeated;
    all["rollback-fork"]      = then_fork;
    all["rollback-fork-save"] = fork_saved;
    all["rollback-shared"]    = shared;
    all["rollback-forgotten"] = forgotten;
    all["rollback-among"]     = among;
    all["rollback-shifted"]   = shifted;
}

}  // namespace probe
