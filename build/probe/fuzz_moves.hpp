// The moves of the fuzz: what they are, how they are written, and how they are drawn from a seed.
//
// A move says "the last 2 rows of sequence 0", never a position: so a move keeps its meaning when moves
// in front of it are taken out, which is what makes a failing sequence of moves shrink.
#pragma once

#include "session.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace probe {

enum class Kind {
    text,      // text(s,n)           n tokens in one call
    together,  // together(s:n,s:n)   tokens of several sequences in one call
    image,     // image(s,WxH[,n])    an image; with n: in two calls, n rows in the first
    images,    // images(s,WxH,WxH)   two images in one call
    remove,    // rm(s,n)             seq_rm from the n-th last row on
    gap,       // gap(s,n)            the same, from the first position behind the row in front of it
    drop,      // drop(s)             seq_rm of everything
    copy,      // cp(s,s)             seq_cp
    keep,      // keep(s)             seq_keep
    set,       // set(s,s)            state get of the first, set as the second
    take,      // take(s)             PARTIAL_ONLY state get
    back,      // back(s)             PARTIAL_ONLY state set, and seq_rm of what came after it
    save,      // save()              whole state get
    load,      // load()              whole state set
};

constexpr int N_KINDS = 14;

const char * kind_name(Kind kind);

struct Move {
    Kind                             kind = Kind::text;
    int                              a    = 0;  // the sequence, or the first of two
    int                              b    = 0;  // the second
    int                              n    = 0;
    std::vector<Image>               images;
    std::vector<std::pair<int, int>> parts;  // together: sequence, tokens

    std::string str() const;
};

using Moves = std::vector<Move>;

std::string written(const Moves & moves);
// Throws std::runtime_error for what `written` does not write.
Moves read_moves(const std::string & text);

// What the sequences hold, and what of it can be taken back.
struct Held {
    Rows                rows;
    std::vector<size_t> calls;       // rows.size() after each call
    int                 sure  = 0;   // so many of the last rows lie in one ubatch, for certain
    int                 depth = 0;   // snapshots behind the current state that are left
    int                 next  = 0;   // the position where the next row goes

    bool empty() const { return rows.empty(); }
    // The snapshots hold the state before the last n rows.
    bool holds(int n) const { return n <= depth && n < sure; }
    // The position to remove from, so that the n-th last row is the first to go.
    int  from(int n, bool gap) const;
    // How many rows a removal from p0 on takes.
    int  behind(int p0) const;
    // Take them out. What is left can be taken back as far as the snapshots reach.
    void cut(int p0);
    void forget() { sure = depth = 0; }
    // One call: `tail` of its rows, for certain, lie in its last ubatch.
    void add(const Rows & added, int n_pos, int tail, int n_rs);
};

struct World {
    std::map<int, Held> sequences;
    // With a stream each, seq_cp copies the attention's rows only when the next call of decode starts.
    // A state that is read or written before that has the old ones: upstream's own, and not played.
    bool copying = false;

    bool live(int s) const;
};

// A fuzzed context.
struct Ground {
    int  n_rs     = 4;
    int  n_ubatch = 16;
    bool unified  = true;
    bool keeps_tails = false;  // this revision never splits the last rows that snapshots are made of

    static constexpr int n_seq    = 4;
    static constexpr int max_rows = 44;  // of one sequence

    // A call hands over so many rows of each sequence. How many of one's rows lie in the call's last
    // ubatch, for certain? None if there may be a ubatch without it behind: that can move its state.
    int tail(const std::vector<std::pair<int, int>> & call, size_t which) const;
};

// The same bits on every machine: splitmix64.
class Random {
public:
    explicit Random(uint64_t seed) : state(seed) {}

    uint64_t next();
    int      below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
    int      between(int low, int high) { return low + below(high - low + 1); }
    bool     chance(int percent) { return below(100) < percent; }

private:
    uint64_t state;
};

// A sequence of moves that make sense one after another.
Moves drawn(uint64_t seed, const Ground & ground);

}  // namespace probe
