#include "scenario.hpp"

namespace probe {

Setup Run::setup(int n_seq, int n_rs) const {
    Setup setup;
    setup.n_ubatch = job.number("n_ubatch", 512);
    setup.n_batch  = job.number("n_batch", 2048);
    setup.n_ctx    = job.number("n_ctx", 4096);
    setup.mtmd     = job.text("geometry", "rows") == "mtmd";
    setup.n_seq    = n_seq;
    setup.n_rs     = n_rs;
    return setup;
}

void Run::take(const Session & session) {
    codes.insert(codes.end(), session.codes.begin(), session.codes.end());
    image_rows += session.image_rows;
    memory_class = session.memory_class();
    snapshots    = session.n_rs();
    logits.insert(logits.end(), session.kept.begin(), session.kept.end());
}

void Run::equal(const std::string & name, const Logits & a, const Logits & b, double limit) {
    Fact fact;
    fact.name  = name;
    fact.diff  = max_abs_diff(a, b);
    fact.limit = limit;
    facts.push_back(fact);
}

void Run::answer(const std::string & name, bool returned, bool expected, const std::string & note) {
    Fact fact;
    fact.name     = name;
    fact.returned = returned;
    fact.expected = expected;
    fact.note     = note;
    facts.push_back(fact);
}

void Run::counted(const std::string & name, int count, int expected, const std::string & note) {
    Fact fact;
    fact.name           = name;
    fact.count          = count;
    fact.expected_count = expected;
    fact.note           = note;
    facts.push_back(fact);
}

Rows part(const Rows & rows, long from, long to) {
    return Rows(rows.begin() + from, rows.begin() + to);
}

Step text_step(int n, int pos0, unsigned seed) {
    Step step;
    step.text = text_rows(n, pos0, seed);
    step.next = pos0 + n;
    return step;
}

Step image_step(const Image & image, int base) {
    Step step;
    step.image = image;
    step.base  = base;
    step.next  = base + image.n_pos();
    return step;
}

bool play(Session & session, int sequence, std::vector<Step> & steps) {
    for (auto & step : steps) {
        if (!step.is_image()) {
            if (session.decode(sequence, step.text) != 0) {
                return false;
            }
            continue;
        }
        const int next = session.image(sequence, step.image, step.base);
        if (next < 0) {
            return false;
        }
        step.next = next;
    }
    return true;
}

std::vector<Step> cut(const std::vector<Step> & steps, int p0) {
    std::vector<Step> left;
    for (const auto & step : steps) {
        if (step.is_image()) {
            if (step.base < p0) {
                left.push_back(step);
            }
            continue;
        }
        Step shorter = step;
        shorter.text.clear();
        for (const auto & row : step.text) {
            if (row.t < p0) {
                shorter.text.push_back(row);
                shorter.next = row.t + 1;
            }
        }
        if (!shorter.text.empty()) {
            left.push_back(shorter);
        }
    }
    return left;
}

Logits replayed(Model & model, Setup setup, std::vector<Step> steps) {
    setup.n_rs  = 0;  // the plainest path through the core
    setup.n_seq = 1;
    const size_t n = the_log().warnings.size();
    Session      session(model, setup);
    const bool   ok = play(session, 0, steps);
    the_log().warnings.resize(n);  // a reference's warnings are not the run's
    return ok ? session.last(0) : Logits();
}

}  // namespace probe
