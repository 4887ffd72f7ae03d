// Copies of a state: forks, state get and set, checkpoints. Each against a reference that never made one.
#include "scenario.hpp"

namespace probe {

namespace {

constexpr uint32_t WHOLE   = 0;
constexpr uint32_t PARTIAL = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

std::vector<Step> prompt(bool with_text_after = false) {
    std::vector<Step> steps = { text_step(9, 0, 1), image_step({ 8, 6, 1 }, 9) };
    if (with_text_after) {
        steps.push_back(text_step(5, 17, 2));
    }
    return steps;
}

std::vector<Step> joined(std::vector<Step> steps, const Step & more) {
    steps.push_back(more);
    return steps;
}

// Four forks behind an image, each going its own way, against the unforked baseline.
void fork(Run & run) {
    run.with_image = true;
    Session           session(run.model, run.setup(5));
    std::vector<Step> steps = prompt();
    if (play(session, 0, steps)) {
        const int next = steps.back().next;
        for (int s = 1; s <= 4; ++s) {
            session.cp(0, s);
        }
        for (int s = 4; s >= 0; --s) {
            const Step own = text_step(1, next, static_cast<unsigned>(50 + s));
            session.decode(s, own.text);
            run.equal("fork " + std::to_string(s) + " alone", session.last(s), replayed(run.model, run.setup(), joined(steps, own)), 0.0);
        }
        std::vector<std::pair<int, Rows>> batch;
        for (int s = 0; s < 5; ++s) {
            batch.emplace_back(s, text_rows(2, next + 1, static_cast<unsigned>(70 + s)));
        }
        session.decode(batch);
        for (int s = 0; s < 5; ++s) {
            const auto with_own = joined(steps, text_step(1, next, static_cast<unsigned>(50 + s)));
            run.equal("fork " + std::to_string(s) + " together", session.last(s),
                      replayed(run.model, run.setup(), joined(with_own, text_step(2, next + 1, static_cast<unsigned>(70 + s)))), ROUNDING);
        }
    }
    run.take(session);
}

// Forks, images in the forks, and a fork of a fork.
void fork_images(Run & run) {
    run.with_image = true;
    Session           session(run.model, run.setup(3));
    std::vector<Step> steps = prompt();
    if (play(session, 0, steps)) {
        session.cp(0, 1);
        std::vector<Step> own = { image_step({ 3, 3, 5 }, steps.back().next) };
        if (!play(session, 1, own)) {
            run.take(session);
            return;
        }
        session.cp(1, 2);
        const Step        a  = text_step(3, own.back().next, 6);
        const Step        b  = text_step(3, steps.back().next, 7);
        const auto        in = joined(steps, own.back());
        session.decode(2, a.text);
        session.decode(0, b.text);
        run.equal("fork of a fork", session.last(2), replayed(run.model, run.setup(), joined(in, a)), 0.0);
        run.equal("root", session.last(0), replayed(run.model, run.setup(), joined(steps, b)), 0.0);
    }
    run.take(session);
}

// State get and set at and behind an image, whole and per sequence, and in the middle of an image.
void state(Run & run) {
    run.with_image = true;
    for (const bool after : { false, true }) {
        const std::string where = after ? "behind the image" : "at the image";
        Session           session(run.model, run.setup(2));
        std::vector<Step> steps = prompt(after);
        if (!play(session, 0, steps)) {
            run.take(session);
            return;
        }
        const Step   more      = text_step(4, steps.back().next, 3);
        const Logits reference = replayed(run.model, run.setup(), joined(steps, more));

        const auto one = session.save(0, WHOLE);
        const auto all = session.save_all();
        session.decode(0, text_rows(3, steps.back().next, 9));
        run.answer("sequence set " + where, session.restore(1, one, WHOLE), true);
        session.decode(1, more.text);
        run.equal("sequence " + where, session.last(1), reference, 0.0);
        run.answer("whole set " + where, session.restore_all(all), true);
        session.decode(0, more.text);
        run.equal("whole " + where, session.last(0), reference, 0.0);
        run.take(session);
    }

    Session    session(run.model, run.setup(2));
    const Rows rows = image_rows({ 8, 6, 1 }, 9);
    session.decode(0, text_rows(9, 0, 1));
    session.decode(0, Rows(rows.begin(), rows.begin() + 20));
    run.answer("set in the middle of the image", session.restore(1, session.save(0, WHOLE), WHOLE), true);
    for (const int s : { 0, 1 }) {
        session.decode(s, Rows(rows.begin() + 20, rows.end()));
        session.decode(s, text_rows(4, 17, 3));
    }
    run.equal("in the middle of the image", session.last(1), session.last(0), 0.0);
    run.take(session);
}

// A checkpoint of the recurrent part only, as a server takes it; the attention part is cut by the host.
void checkpoint(Run & run) {
    run.with_image = true;
    for (const bool after : { false, true }) {
        const std::string where = after ? "behind the image" : "at the image";
        Session           session(run.model, run.setup());
        std::vector<Step> steps = prompt(after);
        if (!play(session, 0, steps)) {
            run.take(session);
            return;
        }
        const auto part = session.save(0, PARTIAL);
        session.decode(0, text_rows(6, steps.back().next, 9));
        run.answer("set " + where, session.restore(0, part, PARTIAL), true);
        run.answer("cut " + where, session.rm(0, steps.back().next), true);
        const Step more = text_step(4, steps.back().next, 3);
        session.decode(0, more.text);
        run.equal("checkpoint " + where, session.last(0), replayed(run.model, run.setup(), joined(steps, more)), 0.0);
        run.take(session);
    }
}

// Forks, saved states, refused and whole removals with text only: the control for models with one
// position per token.
void text_copies(Run & run) {
    Session                 session(run.model, run.setup(3));
    std::vector<Step>       steps = { text_step(9, 0, 1) };
    const std::vector<Step> more  = { text_step(3, 9, 2) };
    play(session, 0, steps);
    run.answer("partial removal without snapshots", session.rm(0, 5), false);
    const auto one = session.save(0, WHOLE);
    session.cp(0, 1);
    run.answer("set", session.restore(2, one, WHOLE), true);
    const Logits reference = replayed(run.model, run.setup(), joined(steps, more[0]));
    for (const int s : { 1, 2, 0 }) {
        session.decode(s, more[0].text);
        run.equal("sequence " + std::to_string(s), session.last(s), reference, 0.0);
    }
    run.answer("whole removal", session.rm(1, -1), true);
    session.keep(2);
    session.decode(2, text_rows(2, 12, 3));
    // The kept sequence's rows lie behind those of the others in the attention's cache, and sums over
    // another layout round otherwise: 5e-4 was seen. A wrong state is off by 2 and more.
    run.equal("kept", session.last(2), replayed(run.model, run.setup(), joined(joined(steps, more[0]), text_step(2, 12, 3))), 0.01);
    session.decode(0, steps[0].text);
    run.equal("begun again", session.last(0), replayed(run.model, run.setup(), steps), 0.0);
    run.take(session);
}

}  // namespace

void add_state_scenarios(std::map<std::string, Scenario> & all) {
    all["fork"]        = fork;
    all["fork-images"] = fork_images;
    all["state"]       = state;
    all["checkpoint"]  = checkpoint;
    all["text-copies"] = text_copies;
}

}  // namespace probe
