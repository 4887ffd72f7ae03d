// What a scenario is: it plays rows into sessions and states facts. The judge sits elsewhere.
#pragma once

#include "session.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace probe {

// One thing that was looked at. `expected` and `limit` are what a right memory gives; a fact that
// has neither is a measurement only.
struct Fact {
    std::string           name;
    std::optional<bool>   returned;   // what the call under test answered
    std::optional<bool>   expected;
    std::optional<double> diff;       // max |logits - reference|
    std::optional<double> limit;      // 0: bit-equal
    std::optional<int>    count;      // warnings, or mismatches
    std::optional<int>    expected_count;
    std::string           note;

    bool holds() const {
        return (!expected || returned == expected) && (!limit || (diff && *diff <= *limit)) &&
               (!expected_count || count == expected_count);
    }
};

// Arithmetic that is not the same (other batch shapes) may differ by rounding. Measured: up to 2e-3
// where max |logit| is 9; a state that is one row off gives 1 to 14.
constexpr double ROUNDING = 0.05;

struct Run {
    const Job &       job;
    Model &           model;
    std::vector<Fact> facts;
    std::vector<int>  codes;
    int               image_rows = 0;
    bool              with_image = false;  // the scenario hands image rows over
    std::string       memory_class;
    int               snapshots = 0;
    std::vector<Logits> logits;
    std::string         fuzz;  // the report of the fuzz, as JSON

    // The settings of the job, with what the scenario needs.
    Setup setup(int n_seq = 1, int n_rs = 0) const;

    // Take over what a session counted. Call once per session that matters for the outcome.
    void take(const Session & session);

    void equal(const std::string & name, const Logits & a, const Logits & b, double limit);
    void answer(const std::string & name, bool returned, bool expected, const std::string & note = "");
    void counted(const std::string & name, int count, int expected, const std::string & note = "");
};

// A stretch of one sequence: text, or one image.
struct Step {
    Rows  text;
    Image image{ 0, 0, 0 };
    int   base = 0;
    int   next = 0;  // the position where the following step starts

    bool is_image() const { return image.nx > 0; }
};

// The rows from..to-1.
Rows part(const Rows & rows, long from, long to);

Step text_step(int n, int pos0, unsigned seed);
Step image_step(const Image & image, int base);

// Play steps into a sequence; each step is one call (an image: pieces of n_batch). Adjusts `next`
// where mtmd says that the picture's grid is another. False if a decode failed.
bool play(Session & session, int sequence, std::vector<Step> & steps);

// The steps that are left when all positions >= p0 are removed.
std::vector<Step> cut(const std::vector<Step> & steps, int p0);

// Logits after `steps` in a fresh sequence of `session`'s kind.
Logits replayed(Model & model, Setup setup, std::vector<Step> steps);

using Scenario = std::function<void(Run &)>;

// Name -> scenario; each room adds its own.
void add_prefill_scenarios(std::map<std::string, Scenario> & all);
void add_state_scenarios(std::map<std::string, Scenario> & all);
void add_rollback_scenarios(std::map<std::string, Scenario> & all);
void add_break_scenarios(std::map<std::string, Scenario> & all);
void add_fuzz_scenarios(std::map<std::string, Scenario> & all);

}  // namespace probe
