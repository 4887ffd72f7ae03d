// Model-based fuzz: random moves on a context, each judged (fuzz_play.hpp), in child processes.
//
// One that crashes or hangs is a result, and a failing sequence is shrunk with every try in a child of
// its own, on contexts that did nothing before.
#include "fuzz_moves.hpp"
#include "fuzz_play.hpp"
#include "json.hpp"
#include "scenario.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace probe {

namespace {

// Does this revision keep the last rows of each sequence in one ubatch?
template <typename A> auto keeps_tails(A * allocr, int) -> decltype(allocr->split_equal(1U, true, 1U), true) {
    return true;
}
template <typename A> bool keeps_tails(A *, long) {
    return false;
}

// What a child said before it ended, and how it ended.
struct Child {
    std::vector<Outcome> outcomes;
    std::string          ended;  // "" if it came to its end, else "crashed" or "hung"
    std::string          words;
};

constexpr char     RESULT    = '\x1d';
constexpr int      MAX_S     = 10;  // of one sequence; 0.03 s is usual
constexpr int      MAX_TRIES = 400;

void send(int fd, const Outcome & outcome) {
    const std::string line = "\n" + std::string(1, RESULT) + outcome.line() + "\n";
    for (size_t at = 0; at < line.size();) {
        const auto n = ::write(fd, line.data() + at, line.size() - at);
        if (n <= 0) {
            _exit(3);
        }
        at += static_cast<size_t>(n);
    }
}

// Let a child say outcomes, each within `limit` seconds, which it sees to itself by alarm. What the core prints to stderr goes there; the last of it are its words.
Child in_child(const std::function<void(int)> & work, unsigned limit) {
    int ends[2];
    if (::pipe(ends) != 0) {
        throw std::runtime_error("cannot make a pipe");
    }
    std::cout.flush();
    const pid_t pid = ::fork();
    if (pid < 0) {
        throw std::runtime_error("cannot run a child process");
    }
    if (pid == 0) {
        ::close(ends[0]);
        ::dup2(ends[1], 2);
        int status = 0;
        try {
            work(ends[1]);
        } catch (const std::exception & e) {
            const std::string why = std::string("\n") + e.what() + "\n";
            status                = ::write(2, why.data(), why.size()) > 0 ? 4 : 5;
        }
        _exit(status);
    }
    ::close(ends[1]);
    Child       child;
    std::string text;
    char        block[4096];
    for (ssize_t n; (n = ::read(ends[0], block, sizeof(block))) != 0;) {
        if (n < 0 && errno != EINTR) {
            break;
        }
        text.append(block, n > 0 ? static_cast<size_t>(n) : 0);
    }
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (!line.empty() && line[0] == RESULT) {
            child.outcomes.push_back(Outcome::read(line.substr(1)));
        } else if (!line.empty()) {
            child.words = line;
            std::cerr << line << "\n";
        }
    }
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        child.ended      = signal == SIGALRM ? "hung" : "crashed";
        const auto how   = signal == SIGALRM ? "did not end in " + std::to_string(limit) + " s" : std::string(strsignal(signal));
        child.words      = how + (child.words.empty() ? "" : ": " + child.words);
    } else if (WEXITSTATUS(status) != 0) {
        child.ended = "crashed";
    }
    return child;
}

// Of the children that ended: the machine may be busy with other things, so no wall clock.
double cpu_seconds() {
    rusage     usage{};
    const auto seconds = [](const timeval & time) { return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6; };
    getrusage(RUSAGE_CHILDREN, &usage);
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Fuzz {
public:
    explicit Fuzz(Run & run)
        : run(run), fault(run.job.text("fault", "")), limit(static_cast<unsigned>(run.job.number("limit", MAX_S))),
          setup(run.setup(Ground::n_seq, run.job.number("n_rs", 4))) {
        setup.n_batch = 256;
        setup.unified = run.job.number("unified", 1) != 0;
        setup.n_ctx   = setup.unified ? 256 : 256 * Ground::n_seq;
        session       = std::make_unique<Session>(run.model, setup);
        oracle        = std::make_unique<Oracle>(run.model, setup);

        ground.n_rs        = session->n_rs();
        ground.n_ubatch    = setup.n_ubatch;
        ground.unified     = setup.unified;
        ground.keeps_tails = keeps_tails(static_cast<llama_batch_allocr *>(nullptr), 0);
    }

    void play() {
        const int    count = run.job.number("count", 100);
        const double start = cpu_seconds();
        for (int done = 0; done < count; n_played = done) {
            const Child child = in_child([&](int fd) {
                for (int i = done; i < count; ++i) {
                    ::alarm(limit);
                    send(fd, played(moves(i), *session, *oracle, ground, fault));
                }
            }, limit);
            for (const auto & outcome : child.outcomes) {
                take(done++, outcome);
            }
            if (done < count) {
                Outcome broken;
                broken.kind = child.ended.empty() ? "crashed" : child.ended;
                broken.text = child.words;
                take(done++, broken);
                if (broken.kind == "hung") {
                    n_played = done;  // no more of them: each costs its limit
                    break;
                }
            }
        }
        seconds = cpu_seconds() - start;
    }

    void report() {
        std::vector<std::string> failures;
        for (const auto & [i, outcome] : wrong) {
            Object out = failure(outcome, moves(i));
            out.put("index", index(i));
            if (run.job.number("shrink", 0) != 0) {
                const auto [left, last] = shrunk(moves(i), outcome);
                std::vector<std::string> lines;
                std::istringstream       in(last.story);
                for (std::string line; std::getline(in, line);) {
                    lines.push_back(quoted(line));
                }
                out.raw("shortest", failure(last, left).raw("story", array(lines)).str());
            }
            failures.push_back(out.str());
        }
        Object tried;
        Object done;
        for (int k = 0; k < N_KINDS; ++k) {
            tried.put(kind_name(static_cast<Kind>(k)), all.tried[static_cast<size_t>(k)]);
            done.put(kind_name(static_cast<Kind>(k)), all.done[static_cast<size_t>(k)]);
        }
        Object out;
        out.put("sequences", n_played).put("cpu_seconds", seconds);
        out.raw("failures", array(failures)).raw("tried", tried.str()).raw("done", done.str());
        out.put("compared", all.compared).put("open", all.open).put("lucky", all.lucky);
        out.put("rounding", all.rounding).put("tolerance", TOLERANCE);
        run.fuzz = out.str();
        run.counted("sequences that went wrong", static_cast<int>(wrong.size()), 0);
        run.with_image = true;
        run.image_rows = 1;
        run.take(*session);
    }

private:
    static Object failure(const Outcome & outcome, const Moves & moves) {
        Object out;
        out.put("kind", outcome.kind).put("text", outcome.text).put("diff", outcome.diff).put("moves", written(moves));
        return out;
    }

    int index(int i) const { return run.job.number("first", 0) + i * run.job.number("stride", 1); }

    Moves moves(int i) const {
        const std::string given = run.job.text("moves", "");
        if (!given.empty()) {
            return read_moves(given);
        }
        const auto seed = static_cast<uint64_t>(run.job.number("seed", 1));
        return drawn(Random(seed * 0x100000001b3ULL + static_cast<uint64_t>(index(i))).next(), ground);
    }

    void take(int i, const Outcome & one) {
        for (size_t k = 0; k < N_KINDS; ++k) {
            all.tried[k] += one.tried[k];
            all.done[k] += one.done[k];
        }
        all.open += one.open;
        all.lucky += one.lucky;
        all.compared += one.compared;
        all.rounding = std::max(all.rounding, one.rounding);
        if (!one.kind.empty()) {
            wrong.emplace_back(i, one);
        }
    }

    // One try, in a child and on contexts that did nothing before.
    Outcome alone(const Moves & some) {
        const Child child = in_child([&](int fd) {
            ::alarm(limit);
            send(fd, played(some, *session, *oracle, ground, fault));
        }, limit);
        if (!child.outcomes.empty()) {
            return child.outcomes.front();
        }
        Outcome broken;
        broken.kind = child.ended.empty() ? "crashed" : child.ended;
        broken.text = child.words;
        return broken;
    }

    // The shortest sequence found that fails in the same way: parts are taken out as long as it does,
    // then what is left is made smaller. As given if it does not fail alone.
    std::pair<Moves, Outcome> shrunk(Moves some, Outcome last) {
        // a try that hangs costs its limit
        int        tries = last.kind == "hung" ? MAX_TRIES - 2 : 0;
        const auto fails = [&](const Moves & fewer) {
            if (fewer.empty() || ++tries > MAX_TRIES) {
                return false;
            }
            Outcome again = alone(fewer);
            if (again.kind != last.kind) {
                return false;
            }
            some = fewer;
            last = again;
            return true;
        };
        if (!fails(some)) {
            last.text += " (not when played alone)";
            return { some, last };
        }
        for (bool again = true; again;) {
            again = false;
            for (size_t size = std::max<size_t>(1, some.size() / 2); size > 0; size /= 2) {
                for (size_t at = 0; at < some.size();) {
                    Moves fewer = some;
                    fewer.erase(fewer.begin() + static_cast<long>(at),
                                fewer.begin() + static_cast<long>(std::min(fewer.size(), at + size)));
                    if (fails(fewer)) {
                        again = true;
                    } else {
                        at += size;
                    }
                }
            }
            for (size_t at = 0; at < some.size(); ++at) {
                for (const auto & smaller : smaller_than(some[at])) {
                    Moves other = some;
                    other[at]   = smaller;
                    if (fails(other)) {
                        again = true;
                        break;
                    }
                }
            }
        }
        return { some, last };
    }

    static Moves smaller_than(const Move & move) {
        Moves      all;
        const auto with = [&](const std::function<void(Move &)> & change) {
            Move other = move;
            change(other);
            all.push_back(other);
        };
        if (move.n > 1) {
            with([](Move & other) { other.n = 1; });
            with([](Move & other) { other.n /= 2; });
            with([](Move & other) { other.n -= 1; });
        }
        if (move.kind == Kind::image && move.n > 0) {
            with([](Move & other) { other.n = 0; });
        }
        if (move.kind == Kind::gap) {
            with([](Move & other) { other.kind = Kind::remove; });
        }
        if (move.kind == Kind::images) {
            with([](Move & other) { other.kind = Kind::image; other.images.pop_back(); });
        }
        for (size_t i = 0; i < move.images.size(); ++i) {
            if (move.images[i].nx > 1) {
                with([i](Move & other) { other.images[i].nx -= 1; });
            }
            if (move.images[i].ny > 1) {
                with([i](Move & other) { other.images[i].ny -= 1; });
            }
        }
        for (size_t i = 0; i < move.parts.size(); ++i) {
            if (move.parts.size() > 1) {
                with([i](Move & other) { other.parts.erase(other.parts.begin() + static_cast<long>(i)); });
            }
            if (move.parts[i].second > 1) {
                with([i](Move & other) { other.parts[i].second -= 1; });
            }
        }
        return all;
    }

    Run &                                run;
    std::string                          fault;
    unsigned                             limit;
    Setup                                setup;
    Ground                               ground;
    std::unique_ptr<Session>             session;
    std::unique_ptr<Oracle>              oracle;
    Outcome                              all;
    std::vector<std::pair<int, Outcome>> wrong;
    double                               seconds    = 0;
    int                                  n_played = 0;
};

void fuzz(Run & run) {
    Fuzz fuzz(run);
    fuzz.play();
    fuzz.report();
}

}  // namespace

void add_fuzz_scenarios(std::map<std::string, Scenario> & all) {
    all["fuzz"] = fuzz;
}

}  // namespace probe
