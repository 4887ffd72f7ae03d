// Plays the moves of the fuzz and judges each against the rows that should be left.
//
// What a memory must do is short. A call of decode gives the logits of the rows that are left. A
// removal answers true if the snapshots hold the state in front of it. Where they don't it may answer
// false and change nothing, or true and be right all the same. So the oracle knows two things: the rows
// of each sequence, which it decodes again in a context that never saw a removal, a copy or a saved
// state; and how far each sequence can be taken back (`Held` in fuzz_moves.hpp).
#pragma once

#include "fuzz_moves.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace probe {

// What rounding may be. The largest seen is 3e-3; a state that is one row off gives 1 to 14, but it
// washes out while rows are decoded: 0.1 is left of it after sixteen.
constexpr double TOLERANCE = 0.01;

// Logits by decoding the rows of one sequence, call by call, in contexts without snapshots. The model must
// not choose (as some of a mixture of experts): between two that are as good, rounding would.
class Oracle {
public:
    Oracle(Model & model, const Setup & setup);

    Logits after(const Held & held);
    // The same in a context that did nothing before.
    Logits afresh(const Held & held);

private:
    static constexpr int N_SLOTS = Ground::n_seq + 2;

    // A context and the calls that it holds the rows of.
    struct Slot {
        std::unique_ptr<Session> session;
        std::vector<Rows>        calls;
        uint64_t                 used;
    };

    Model &           model;
    Setup             plain;
    std::vector<Slot> slots;
    uint64_t          clock = 0;
};

// How one sequence of moves ended.
struct Outcome {
    std::string              kind;  // "" or one of FuzzKind in tracker/evidence/fuzz.py
    std::string              text;
    double                   diff = 0;  // of the logits that were found wrong
    std::array<int, N_KINDS> tried{};
    std::array<int, N_KINDS> done{};
    int                      open     = 0;  // removals that the oracle leaves open: the state was moved meanwhile
    int                      lucky    = 0;  // answered true though it need not, and right
    double                   rounding = 0;  // the largest difference that was taken for rounding
    int                      compared = 0;
    std::string              story;         // the moves as they were played, one a line

    std::string line() const;
    static Outcome read(const std::string & line);
};

// Play `moves` on `session`, which is cleared first. `fault`: a mistake on purpose. Of the oracle: "row"
// (the first row was another one), "held" (every state is held). Of the core at the first image: "crash",
// "hang".
Outcome played(const Moves & moves, Session & session, Oracle & oracle, const Ground & ground, const std::string & fault);

}  // namespace probe
