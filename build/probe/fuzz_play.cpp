#include "fuzz_play.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace probe {

namespace {

constexpr uint32_t PARTIAL = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

bool same(const Row & a, const Row & b) {
    return a.token == b.token && a.image_id == b.image_id && a.index == b.index && a.t == b.t && a.y == b.y && a.x == b.x;
}

bool starts_with(const Rows & rows, const Rows & start) {
    return rows.size() >= start.size() && std::equal(start.begin(), start.end(), rows.begin(), same);
}

std::vector<Rows> calls_of(const Held & held) {
    std::vector<Rows> calls;
    size_t            from = 0;
    for (const size_t to : held.calls) {
        calls.emplace_back(held.rows.begin() + static_cast<long>(from), held.rows.begin() + static_cast<long>(to));
        from = to;
    }
    return calls;
}

bool prefix(const std::vector<Rows> & start, const std::vector<Rows> & calls) {
    for (size_t i = 0; i < start.size(); ++i) {
        if (start[i].size() != calls[i].size() || !starts_with(calls[i], start[i])) {
            return false;
        }
    }
    return true;
}

void decode(Session & session, const Rows & rows, bool logits) {
    if (session.decode(0, rows, logits) != 0) {
        throw std::runtime_error("the oracle cannot decode");
    }
    session.codes.clear();
    session.kept.clear();
}

// A move that must end here: what was found wrong.
struct Wrong {
    std::string kind;
    std::string text;
    double      diff = 0;
};

// Plays moves on one context; what it should hold stands in `world`.
class Player {
public:
    Player(Session & session, Oracle & oracle, const Ground & ground, const std::string & fault)
        : session(session), oracle(oracle), ground(ground), fault(fault) {}

    Outcome play(const Moves & moves) {
        session.clear();
        the_log().reset();
        try {
            for (const auto & move : moves) {
                const auto kind = static_cast<size_t>(move.kind);
                ++outcome.tried[kind];
                outcome.done[kind] += step(move) ? 1 : 0;
                forget_kept();
            }
            end();
            verify();
        } catch (const Wrong & wrong) {
            outcome.kind = wrong.kind;
            outcome.text = wrong.text;
            outcome.diff = wrong.diff;
        }
        const size_t n = the_log().warnings.size();
        if (outcome.kind.empty() && n > 0) {
            outcome.kind = "warned";
            outcome.text = "warns " + std::to_string(n) + " times, and no position is out of order";
        }
        the_log().reset();
        forget_kept();
        return outcome;
    }

private:
    Held & held(int s) { return world.sequences[s]; }

    void tell(const std::string & line) { outcome.story += (outcome.story.empty() ? "" : "\n") + line; }

    // True if the move was executed: made sense here, and was not refused.
    bool step(const Move & move) {
        if (move.kind == Kind::image && fault == "crash") {
            std::abort();
        }
        if (move.kind == Kind::image && fault == "hang") {
            ::pause();
        }
        switch (move.kind) {
            case Kind::text:     return text({ { move.a, move.n } });
            case Kind::together: return text(move.parts);
            case Kind::image:
            case Kind::images:   return image(move);
            case Kind::remove:
            case Kind::gap:      return remove(move);
            case Kind::drop:     return drop(move.a);
            case Kind::copy:     return copy(move.a, move.b);
            case Kind::keep:     return keep(move.a);
            case Kind::set:      return set(move.a, move.b);
            case Kind::take:     return take(move.a);
            case Kind::back:     return back(move.a);
            case Kind::save:     return save();
            case Kind::load:     return load();
        }
        return false;
    }

    bool fits(int s, int n) { return n > 0 && static_cast<int>(held(s).rows.size()) + n <= Ground::max_rows; }

    bool text(const std::vector<std::pair<int, int>> & parts) {
        std::vector<std::pair<int, Rows>> call;
        std::string                       line;
        for (const auto & [s, n] : parts) {
            if (!fits(s, n)) {
                return false;
            }
            call.emplace_back(s, text_rows(n, held(s).next, static_cast<unsigned>(++content)));
            line += (line.empty() ? "" : ", ") + std::to_string(n) + " tokens of " + std::to_string(s) + " at " +
                    std::to_string(held(s).next);
        }
        tell("decode " + line);
        decode(call);
        return true;
    }

    bool image(const Move & move) {
        Rows rows;
        int  base = held(move.a).next;
        for (Image one : move.images) {
            one.id = ++content;
            if (one.n_rows() < 1) {
                return false;
            }
            const Rows more = image_rows(one, base);
            rows.insert(rows.end(), more.begin(), more.end());
            base += one.n_pos();
        }
        const int n = static_cast<int>(rows.size());
        if (!fits(move.a, n) || move.n >= n) {
            return false;
        }
        tell("decode " + move.str() + " at " + std::to_string(held(move.a).next));
        const int n_pos = base - held(move.a).next;
        if (move.n > 0) {
            decode({ { move.a, Rows(rows.begin(), rows.begin() + move.n) } }, 0);
            rows.erase(rows.begin(), rows.begin() + move.n);
        }
        decode({ { move.a, rows } }, n_pos);
        return true;
    }

    // `n_pos`: by how much image rows move the next position on.
    void decode(const std::vector<std::pair<int, Rows>> & call, int n_pos = 0) {
        const int rc = session.decode(call);
        if (rc != 0) {
            throw Wrong{ "failed", "llama_decode returned " + std::to_string(rc) };
        }
        world.copying = false;
        std::vector<std::pair<int, int>> counts;
        for (const auto & [s, rows] : call) {
            counts.emplace_back(s, static_cast<int>(rows.size()));
        }
        for (size_t i = 0; i < call.size(); ++i) {
            const auto & [s, rows] = call[i];
            held(s).add(rows, rows[0].is_image() ? n_pos : counts[i].second, ground.tail(counts, i), ground.n_rs);
            where.erase(s);
        }
        moved();
        for (const auto & part : call) {
            compare(part.first);
        }
    }

    void compare(int s) {
        Held right = held(s);
        if (fault == "row" && right.rows.size() > 1) {
            Row & first = right.rows.front();
            first.token = first.is_image() ? first.token : (first.token + 1) % 256;
            first.image_id += first.is_image() ? 1000 : 0;
        }
        ++outcome.compared;
        reference = oracle.after(right);
        const double diff = max_abs_diff(session.last(s), reference);
        if (diff > TOLERANCE) {
            throw Wrong{ "wrong", "the logits of sequence " + std::to_string(s) + " are not those of its rows", diff };
        }
        outcome.rounding = std::max(outcome.rounding, diff);
    }

    // Snapshots do not go with a state that another call moved: whether they are held is open then.
    void moved() {
        const auto * memory = session.recurrent();
        for (auto & [s, one] : world.sequences) {
            if (one.empty()) {
                continue;
            }
            const int place = location(*memory, s);
            const auto found = where.find(s);
            if (found != where.end() && found->second != place && one.depth > 0) {
                one.sure = 0;
            }
            where[s] = place;
        }
    }

    static int location(const llama_memory_recurrent & memory, int s) {
        const int tail = memory.cells[static_cast<size_t>(s)].tail;
        if (tail < 0) {
            return -1;
        }
        const int src = memory.cells[static_cast<size_t>(tail)].src;
        return src < 0 ? tail : src % static_cast<int>(memory.size);
    }

    bool rm(int s, int p0) {
        const bool returned = session.rm(s, p0);
        tell("seq_rm(" + std::to_string(s) + ", " + std::to_string(p0) + ", -1) is " + (returned ? "true" : "false"));
        return returned;
    }

    void must(bool returned, const std::string & what) {
        if (!returned) {
            throw Wrong{ "failed", what + " answered false" };
        }
    }

    bool remove(const Move & move) {
        if (!world.live(move.a)) {
            return false;
        }
        Held &     one   = held(move.a);
        const int  p0    = one.from(move.n, move.kind == Kind::gap);
        const int  n     = one.behind(p0);
        const bool whole = p0 == 0;
        const bool right = whole || n == 0 || one.holds(n) || fault == "held";
        const bool open  = n <= one.depth && one.sure == 0;
        outcome.open += open ? 1 : 0;
        if (!rm(move.a, p0)) {
            if (right) {
                throw Wrong{ "refused", "seq_rm refused to take back " + std::to_string(n) + " rows that the snapshots hold" };
            }
            return false;
        }
        if (whole) {
            world.sequences.erase(move.a);
            where.erase(move.a);
            return true;
        }
        one.cut(p0);
        if (!right) {
            // it need not, so it must prove at once that it could
            one.forget();
            tell("decode 1 token of " + std::to_string(move.a) + " at " + std::to_string(one.next) + ", to see");
            decode({ { move.a, text_rows(1, one.next, static_cast<unsigned>(++content)) } });
            outcome.lucky += open ? 0 : 1;
        }
        return true;
    }

    bool drop(int s) {
        if (!world.live(s)) {
            return false;
        }
        must(rm(s, 0), "seq_rm of everything");
        world.sequences.erase(s);
        where.erase(s);
        return true;
    }

    bool copy(int from, int to) {
        if (!world.live(from) || from == to) {
            return false;
        }
        if (ground.unified && world.live(to)) {
            // in one stream the attention keeps the rows of a sequence that is copied onto
            drop(to);
        }
        tell("seq_cp(" + std::to_string(from) + ", " + std::to_string(to) + ")");
        session.cp(from, to);
        held(to)      = held(from);
        where[to]     = where[from];
        world.copying = !ground.unified;
        return true;
    }

    bool keep(int s) {
        if (!world.live(s)) {
            return false;
        }
        tell("seq_keep(" + std::to_string(s) + ")");
        session.keep(s);
        // with a stream each, the attention keeps the others
        for (int other = 0; other < Ground::n_seq && !ground.unified; ++other) {
            if (other != s) {
                must(session.rm(other, 0), "seq_rm of everything");
            }
        }
        const Held kept = held(s);
        world.sequences = { { s, kept } };
        where           = { { s, where[s] } };
        return true;
    }

    bool set(int from, int to) {
        if (!world.live(from) || world.copying) {
            return false;
        }
        tell("state of " + std::to_string(from) + " set as " + std::to_string(to));
        const auto state = session.save(from, 0);
        must(session.restore(to, state, 0), "state set");
        held(to) = held(from);
        held(to).forget();
        where.erase(to);
        moved();
        return true;
    }

    bool take(int s) {
        if (!world.live(s)) {
            return false;
        }
        tell("checkpoint of " + std::to_string(s));
        checkpoint = { session.save(s, PARTIAL), held(s) };
        return true;
    }

    bool back(int s) {
        const Held & then = checkpoint.second;
        if (checkpoint.first.empty() || !world.live(s) || !starts_with(held(s).rows, then.rows)) {
            return false;
        }
        tell("checkpoint set as " + std::to_string(s));
        must(session.restore(s, checkpoint.first, PARTIAL), "checkpoint set");
        must(rm(s, then.next), "seq_rm behind a checkpoint");
        held(s) = then;
        held(s).forget();
        where.erase(s);
        moved();
        return true;
    }

    bool save() {
        if (world.copying) {
            return false;
        }
        tell("whole state get");
        saved = { session.save_all(), world };
        return !saved.first.empty();
    }

    bool load() {
        if (saved.first.empty() || world.copying) {
            return false;
        }
        tell("whole state set");
        must(session.restore_all(saved.first), "whole state set");
        world = saved.second;
        for (auto & [_, one] : world.sequences) {
            one.forget();
        }
        where.clear();
        moved();
        return true;
    }

    // Each sequence goes on once more; the last one is compared with a context that did nothing else.
    void end() {
        int last = -1;
        for (int s = 0; s < Ground::n_seq; ++s) {
            if (world.live(s)) {
                tell("decode 1 token of " + std::to_string(s) + " at " + std::to_string(held(s).next) + ", the end");
                decode({ { s, text_rows(1, held(s).next, static_cast<unsigned>(++content)) } });
                last = s;
            }
        }
        if (last >= 0 && fault != "row") {
            const double diff = max_abs_diff(reference, oracle.afresh(held(last)));
            if (diff != 0.0) {
                throw Wrong{ "broken", "a context that was cleared gives other logits than a fresh one", diff };
            }
        }
    }

    // A core built with asserts verifies its cells, but only logs what it finds.
    static void verify() {
        for (const auto & line : the_log().others) {
            if (line.find("wrong tail for seq_id") != std::string::npos || line.find("duplicate tail for seq_id") != std::string::npos) {
                throw Wrong{ "broken", line.substr(0, line.find('\n')) };
            }
        }
    }

    void forget_kept() {
        session.kept.clear();
        session.codes.clear();
    }

    Session &                                 session;
    Oracle &                                  oracle;
    const Ground &                            ground;
    const std::string &                       fault;
    World                                     world;
    std::map<int, int>                        where;
    std::pair<std::vector<uint8_t>, Held>     checkpoint;
    std::pair<std::vector<uint8_t>, World>    saved;
    Outcome                                   outcome;
    Logits                                    reference;
    int                                       content = 0;
};

}  // namespace

Oracle::Oracle(Model & model, const Setup & setup) : model(model), plain(setup) {
    plain.n_seq = 1;
    plain.n_rs  = 0;
    plain.n_ctx = 256;
    for (int i = 0; i < N_SLOTS; ++i) {
        slots.push_back({ std::make_unique<Session>(model, plain), {}, 0 });
    }
}

Logits Oracle::after(const Held & held) {
    const auto calls = calls_of(held);
    Slot *     best  = nullptr;
    size_t     done  = 0;
    for (auto & slot : slots) {
        const size_t n = slot.calls.size();
        if (n < calls.size() && (best == nullptr || n > done) && prefix(slot.calls, calls)) {
            best = &slot;
            done = n;
        }
    }
    if (best == nullptr || done == 0) {
        best = &*std::min_element(slots.begin(), slots.end(), [](const Slot & a, const Slot & b) { return a.used < b.used; });
        best->session->clear();
        best->calls.clear();
        done = 0;
    }
    best->used = ++clock;
    for (size_t i = done; i < calls.size(); ++i) {
        decode(*best->session, calls[i], i + 1 == calls.size());
        best->calls.push_back(calls[i]);
    }
    return best->session->last(0);
}

Logits Oracle::afresh(const Held & held) {
    Session    session(model, plain);
    const auto calls = calls_of(held);
    for (size_t i = 0; i < calls.size(); ++i) {
        decode(session, calls[i], i + 1 == calls.size());
    }
    return session.last(0);
}

constexpr char FIELD = '\x1f';

std::string Outcome::line() const {
    std::ostringstream out;
    out << kind << FIELD << text << FIELD << story << FIELD << diff << ' ' << open << ' ' << lucky << ' ' << rounding << ' ' << compared;
    for (const auto & counts : { tried, done }) {
        for (const int n : counts) {
            out << ' ' << n;
        }
    }
    std::string made = out.str();
    std::replace(made.begin(), made.end(), '\n', '\x1e');
    return made;
}

Outcome Outcome::read(const std::string & line) {
    Outcome            one;
    std::istringstream in(line);
    std::getline(in, one.kind, FIELD);
    std::getline(in, one.text, FIELD);
    std::getline(in, one.story, FIELD);
    std::replace(one.story.begin(), one.story.end(), '\x1e', '\n');
    std::string diff;
    std::string rounding;
    in >> diff >> one.open >> one.lucky >> rounding >> one.compared;
    one.diff     = std::strtod(diff.c_str(), nullptr);  // reads "inf" too
    one.rounding = std::strtod(rounding.c_str(), nullptr);
    for (auto * counts : { &one.tried, &one.done }) {
        for (int & n : *counts) {
            in >> n;
        }
    }
    return one;
}

Outcome played(const Moves & moves, Session & session, Oracle & oracle, const Ground & ground, const std::string & fault) {
    return Player(session, oracle, ground, fault).play(moves);
}

}  // namespace probe
