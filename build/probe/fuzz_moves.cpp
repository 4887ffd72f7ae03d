#include "fuzz_moves.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace probe {

namespace {

constexpr const char * NAMES[N_KINDS] = { "text", "together", "image", "images", "rm",   "gap",  "drop",
                                          "cp",   "keep",     "set",   "take",   "back", "save", "load" };

std::string grid(const Image & image) {
    return std::to_string(image.nx) + "x" + std::to_string(image.ny);
}

std::vector<std::string> split(const std::string & text, char at) {
    std::vector<std::string> parts;
    std::istringstream       in(text);
    for (std::string part; std::getline(in, part, at);) {
        parts.push_back(part);
    }
    return parts;
}

int number(const std::string & text) {
    size_t used  = 0;
    int    value = -1;
    try {
        value = std::stoi(text, &used);
    } catch (const std::exception &) {
        used = 0;
    }
    if (used == 0 || used != text.size() || value < 0 || value > 1000) {
        throw std::runtime_error("not a number of a move: " + text);
    }
    return value;
}

Image read_grid(const std::string & text) {
    const auto sides = split(text, 'x');
    if (sides.size() != 2) {
        throw std::runtime_error("not a grid: " + text);
    }
    return { number(sides[0]), number(sides[1]), 0 };
}

int sequence(const std::string & text) {
    const int s = number(text);
    if (s >= Ground::n_seq) {
        throw std::runtime_error("no such sequence: " + text);
    }
    return s;
}

Move read_move(const std::string & text) {
    const auto open = text.find('(');
    if (open == std::string::npos || text.back() != ')') {
        throw std::runtime_error("not a move: " + text);
    }
    const auto * found = std::find(std::begin(NAMES), std::end(NAMES), text.substr(0, open));
    if (found == std::end(NAMES)) {
        throw std::runtime_error("no such move: " + text);
    }
    Move move;
    move.kind       = static_cast<Kind>(found - std::begin(NAMES));
    const auto args = split(text.substr(open + 1, text.size() - open - 2), ',');
    const auto need = [&](size_t low, size_t high) {
        if (args.size() < low || args.size() > high) {
            throw std::runtime_error("wrong number of arguments: " + text);
        }
    };
    switch (move.kind) {
        case Kind::text:
        case Kind::remove:
        case Kind::gap:
            need(2, 2);
            move.a = sequence(args[0]);
            move.n = number(args[1]);
            break;
        case Kind::together:
            need(1, Ground::n_seq);
            for (const auto & arg : args) {
                const auto part = split(arg, ':');
                if (part.size() != 2) {
                    throw std::runtime_error("not a part of a call: " + arg);
                }
                move.parts.emplace_back(sequence(part[0]), number(part[1]));
            }
            break;
        case Kind::image:
            need(2, 3);
            move.a      = sequence(args[0]);
            move.images = { read_grid(args[1]) };
            move.n      = args.size() > 2 ? number(args[2]) : 0;
            break;
        case Kind::images:
            need(3, 3);
            move.a      = sequence(args[0]);
            move.images = { read_grid(args[1]), read_grid(args[2]) };
            break;
        case Kind::copy:
        case Kind::set:
            need(2, 2);
            move.a = sequence(args[0]);
            move.b = sequence(args[1]);
            break;
        case Kind::drop:
        case Kind::keep:
        case Kind::take:
        case Kind::back:
            need(1, 1);
            move.a = sequence(args[0]);
            break;
        case Kind::save:
        case Kind::load:
            need(0, 0);
    }
    return move;
}

// Draws moves and plays them in a world where a memory does exactly what it should.
class Drawing {
public:
    Drawing(uint64_t seed, const Ground & ground) : random(seed), ground(ground) {}

    Moves moves() {
        const int n = random.between(6, 22);
        for (int i = 0; i < n; ++i) {
            draw();
        }
        return drawn;
    }

private:
    Held & held(int s) { return world.sequences[s]; }

    std::vector<int> live() const {
        std::vector<int> all;
        for (int s = 0; s < Ground::n_seq; ++s) {
            if (world.live(s)) {
                all.push_back(s);
            }
        }
        return all;
    }

    int any(const std::vector<int> & from) { return from[static_cast<size_t>(random.below(static_cast<int>(from.size())))]; }

    int room(int s) const {
        return world.live(s) ? Ground::max_rows - static_cast<int>(world.sequences.at(s).rows.size()) : Ground::max_rows;
    }

    // A sequence to write into: mostly one that goes on.
    int writable() {
        const auto alive = live();
        const int  s     = alive.empty() || random.chance(20) ? random.below(Ground::n_seq) : any(alive);
        return s;
    }

    void put(const Move & move) { drawn.push_back(move); }

    void draw() {
        const auto alive = live();
        if (alive.empty()) {
            text();
            return;
        }
        // without snapshots every partial removal is refused: a few of them are enough
        const int removals = ground.n_rs > 0 ? 26 : 4;
        int       at       = random.below(79 + removals);
        const auto is      = [&](int weight) {
            const bool hit = at >= 0 && at < weight;
            at -= weight;
            return hit;
        };
        if (is(25)) text();
        else if (is(12)) together();
        else if (is(8)) image();
        else if (is(2)) images();
        else if (is(2)) simple(Kind::drop, any(alive));
        else if (is(11)) copy(any(alive), random.below(Ground::n_seq));
        else if (is(2)) simple(Kind::keep, any(alive));
        else if (is(6)) set(any(alive), random.below(Ground::n_seq));
        else if (is(6)) back();
        else if (is(5)) load();
        else remove(any(alive));
    }

    int length(int most) {
        const int one  = random.chance(30) ? 1 : random.between(2, 9);
        const int many = random.chance(8) ? random.between(ground.n_ubatch - 1, ground.n_ubatch + 7) : one;
        return std::max(1, std::min(many, most));
    }

    void text() {
        const int s = writable();
        if (room(s) < 1) {
            simple(Kind::drop, s);
            return;
        }
        Move move;
        move.kind = Kind::text;
        move.a    = s;
        move.n    = length(room(s));
        wrote(move.n, { { s, move.n } });
        put(move);
    }

    void together() {
        Move move;
        move.kind       = Kind::together;
        const bool even = random.chance(60);
        const int  n    = length(8);
        for (int s = 0; s < Ground::n_seq; ++s) {
            if (room(s) > 8 && random.chance(55)) {
                move.parts.emplace_back(s, even ? n : length(8));
            }
        }
        if (move.parts.size() < 2) {
            text();
            return;
        }
        // separate attention streams take the sequences of a call in their order only
        if (ground.unified && random.chance(50)) {
            std::reverse(move.parts.begin(), move.parts.end());
        }
        for (size_t i = 0; i < move.parts.size(); ++i) {
            wrote(move.parts[i].second, move.parts, i);
        }
        put(move);
    }

    Image picture() { return { random.between(1, 4), random.between(1, 4), 0 }; }

    void image() {
        Move move;
        move.kind   = Kind::image;
        move.a      = writable();
        move.images = { picture() };
        const int n = move.images[0].n_rows();
        if (room(move.a) < n) {
            text();
            return;
        }
        move.n = n > 1 && random.chance(25) ? random.between(1, n - 1) : 0;
        if (move.n > 0) {
            wrote(0, { { move.a, move.n } });
        }
        wrote(move.images[0].n_pos(), { { move.a, n - move.n } });
        put(move);
    }

    void images() {
        Move move;
        move.kind   = Kind::images;
        move.a      = writable();
        move.images = { { random.between(1, 3), random.between(1, 2), 0 }, { random.between(1, 2), 1, 0 } };
        const int n = move.images[0].n_rows() + move.images[1].n_rows();
        if (room(move.a) < n) {
            text();
            return;
        }
        wrote(move.images[0].n_pos() + move.images[1].n_pos(), { { move.a, n } });
        put(move);
    }

    void remove(int s) {
        Held & one = held(s);
        int    n   = 1;
        // mostly one that must work
        const int reach = std::min(one.depth, one.sure - 1);
        if (reach >= 1 && random.chance(78)) {
            n = random.between(1, reach);
        } else if (reach < 1 && random.chance(80)) {
            text();
            return;
        } else {
            n = random.between(0, std::min(ground.n_rs + 2, static_cast<int>(one.rows.size())));
        }
        Move move;
        move.kind = random.chance(12) ? Kind::gap : Kind::remove;
        move.a    = s;
        move.n    = n;
        const int p0    = one.from(n, move.kind == Kind::gap);
        const int taken = one.behind(p0);
        if (taken == 0 || p0 == 0 || one.holds(taken)) {
            one.cut(p0);
        }
        put(move);
    }

    void simple(Kind kind, int s) {
        Move move;
        move.kind = kind;
        move.a    = s;
        if (kind == Kind::drop) {
            world.sequences.erase(s);
        } else {
            world.sequences = { { s, held(s) } };
        }
        put(move);
    }

    void copy(int from, int to) {
        if (from == to) {
            to = (to + 1) % Ground::n_seq;
        }
        Move move;
        move.kind     = Kind::copy;
        move.a        = from;
        move.b        = to;
        held(to)      = held(from);
        world.copying = !ground.unified;
        put(move);
        // most of what goes wrong needs a fork that is rolled back, or a rollback that is forked
        if (random.chance(30)) {
            remove(random.chance(50) ? from : to);
        }
    }

    void set(int from, int to) {
        if (world.copying) {
            text();
            return;
        }
        Move move;
        move.kind = Kind::set;
        move.a    = from;
        move.b    = to;
        held(to)  = held(from);
        held(to).forget();
        put(move);
    }

    void take(int s) {
        Move move;
        move.kind = Kind::take;
        move.a    = s;
        taken     = { s, held(s) };
        put(move);
    }

    void back() {
        if (!taken.second.empty() && world.live(taken.first) && held(taken.first).rows.size() >= taken.second.rows.size()) {
            Move move;
            move.kind          = Kind::back;
            move.a             = taken.first;
            held(taken.first) = taken.second;
            held(taken.first).forget();
            put(move);
        } else {
            take(any(live()));
        }
    }

    void save() {
        saved = world;
        Move move;
        move.kind = Kind::save;
        put(move);
    }

    void load() {
        if (world.copying) {
            text();
            return;
        }
        if (saved.sequences.empty() || random.chance(20)) {
            save();
            return;
        }
        world = saved;
        for (auto & [_, one] : world.sequences) {
            one.forget();
        }
        Move move;
        move.kind = Kind::load;
        put(move);
    }

    // Rows of no particular content: here only their number and positions count.
    void wrote(int n_pos, const std::vector<std::pair<int, int>> & call, size_t which = 0) {
        const auto [s, n] = call[which];
        Rows rows(static_cast<size_t>(n), Row{ 0, 0, 0, held(s).next, 0, 0 });
        for (int i = 0; n_pos == n && i < n; ++i) {
            rows[static_cast<size_t>(i)].t += i;
        }
        held(s).add(rows, n_pos, ground.tail(call, which), ground.n_rs);
        world.copying = false;
    }

    Random                random;
    const Ground &        ground;
    World                 world;
    World                 saved;
    std::pair<int, Held>  taken;
    Moves                 drawn;
};

}  // namespace

const char * kind_name(Kind kind) {
    return NAMES[static_cast<size_t>(kind)];
}

std::string Move::str() const {
    const auto  id   = [](int s) { return std::to_string(s); };
    std::string args;
    switch (kind) {
        case Kind::text:
        case Kind::remove:
        case Kind::gap:
        case Kind::copy:
        case Kind::set:
            args = id(a) + "," + id(kind == Kind::copy || kind == Kind::set ? b : n);
            break;
        case Kind::together:
            for (const auto & [s, count] : parts) {
                args += (args.empty() ? "" : ",") + id(s) + ":" + id(count);
            }
            break;
        case Kind::image:
            args = id(a) + "," + grid(images[0]) + (n > 0 ? "," + id(n) : "");
            break;
        case Kind::images:
            args = id(a) + "," + grid(images[0]) + "," + grid(images[1]);
            break;
        case Kind::drop:
        case Kind::keep:
        case Kind::take:
        case Kind::back:
            args = id(a);
            break;
        case Kind::save:
        case Kind::load:
            break;
    }
    return std::string(kind_name(kind)) + "(" + args + ")";
}

std::string written(const Moves & moves) {
    std::string text;
    for (const auto & move : moves) {
        text += (text.empty() ? "" : ";") + move.str();
    }
    return text;
}

Moves read_moves(const std::string & text) {
    Moves moves;
    for (const auto & one : split(text, ';')) {
        moves.push_back(read_move(one));
    }
    return moves;
}

bool World::live(int s) const {
    const auto found = sequences.find(s);
    return found != sequences.end() && !found->second.empty();
}

int Held::from(int n, bool gap) const {
    const size_t count = rows.size();
    const size_t first = count - std::min(count, static_cast<size_t>(n));
    if (gap && first > 0) {
        return rows[first - 1].t + 1;
    }
    return first == count ? next : rows[first].t;
}

int Held::behind(int p0) const {
    return static_cast<int>(std::count_if(rows.begin(), rows.end(), [&](const Row & row) { return row.t >= p0; }));
}

void Held::cut(int p0) {
    const int n = behind(p0);
    if (n == 0) {
        return;
    }
    const size_t left = rows.size() - static_cast<size_t>(n);
    // text goes on where the removed rows began, which an image's position tells too
    next = rows[left].t;
    rows.resize(left);
    while (!calls.empty() && calls.back() > left) {
        calls.pop_back();
    }
    if (left > 0 && (calls.empty() || calls.back() < left)) {
        calls.push_back(left);
    }
    sure  = std::max(0, sure - n);
    depth = std::max(0, depth - n);
}

void Held::add(const Rows & added, int n_pos, int tail, int n_rs) {
    rows.insert(rows.end(), added.begin(), added.end());
    calls.push_back(rows.size());
    next += n_pos;
    sure  = tail;
    depth = n_rs;
}

int Ground::tail(const std::vector<std::pair<int, int>> & call, size_t which) const {
    const int n = call[which].second;
    if (call.size() == 1) {
        // full ubatches, then the rest
        return n <= n_ubatch ? n : keeps_tails && n_rs > 0 ? std::min(n, n_rs + 1) : (n - 1) % n_ubatch + 1;
    }
    for (size_t i = 0; i < call.size(); ++i) {
        const bool in_order = unified || i == 0 || call[i].first == call[i - 1].first + 1;
        if (call[i].second != n || !in_order) {
            return 0;
        }
    }
    return n * static_cast<int>(call.size()) <= n_ubatch ? n : 0;
}

uint64_t Random::next() {
    state += 0x9e3779b97f4a7c15ULL;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

Moves drawn(uint64_t seed, const Ground & ground) {
    return Drawing(seed, ground).moves();
}

}  // namespace probe
