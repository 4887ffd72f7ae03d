// Legitimate geometry: text, images in any number of ubatches and calls, many turns, many grids.
#include "scenario.hpp"

#include <algorithm>

namespace probe {

namespace {

// The report's image: 39x15 rows behind 9 tokens; a square one through mtmd.
Image main_image(const Run & run) {
    const bool mtmd = run.job.text("geometry", "rows") == "mtmd";
    return { run.job.number("nx", mtmd ? 32 : 39), run.job.number("ny", mtmd ? 32 : 15), 1 };
}

void text_only(Run & run) {
    Session           session(run.model, run.setup());
    std::vector<Step> steps = { text_step(40, 0, 1), text_step(1, 40, 2), text_step(7, 41, 3) };
    play(session, 0, steps);
    run.take(session);
}

void image(Run & run) {
    run.with_image = true;
    Session           session(run.model, run.setup());
    std::vector<Step> steps = { text_step(9, 0, 1), image_step(main_image(run), 9) };
    if (play(session, 0, steps)) {
        session.decode(0, text_rows(8, steps.back().next, 2));
    }
    run.take(session);
    if (run.job.number("other", 0) != 0) {
        // the proof that the picture was read: another one must give other logits
        Image other = main_image(run);
        other.id += 1;
        const Logits with_other =
            replayed(run.model, run.setup(), { text_step(9, 0, 1), image_step(other, 9), text_step(8, steps.back().next, 2) });
        run.answer("another image gives other logits", max_abs_diff(session.last(0), with_other) > 0.1, true);
    }
}

// One image in several calls: at multiples of 64 rows (equal arithmetic), and at odd places.
void split_calls(Run & run) {
    run.with_image       = true;
    const Image  image   = { 39, 15, 1 };
    const Logits whole   = replayed(run.model, run.setup(), { text_step(9, 0, 1), image_step(image, 9), text_step(8, 48, 2) });
    const Rows   rows    = image_rows(image, 9);
    const std::vector<std::pair<std::string, std::vector<size_t>>> ways = {
        { "multiples of 64", { 128, 192, 512, 585 } },
        { "odd places", { 1, 100, 401, 402, 585 } },
    };
    for (const auto & [name, ends] : ways) {
        Session session(run.model, run.setup());
        session.decode(0, text_rows(9, 0, 1));
        size_t from = 0;
        for (const size_t end : ends) {
            session.decode(0, part(rows, static_cast<long>(from), static_cast<long>(end)));
            from = end;
        }
        session.decode(0, text_rows(8, 48, 2));
        run.equal(name, session.last(0), whole, name == "odd places" ? ROUNDING : 0.0);
        run.take(session);
    }

    // copied in the middle of it: the rest comes next for the copy too
    Session session(run.model, run.setup(2));
    session.decode(0, text_rows(9, 0, 1));
    session.decode(0, part(rows, 0, 128));
    session.cp(0, 1);
    for (const int s : { 1, 0 }) {
        session.decode(s, part(rows, 128, 585));
        session.decode(s, text_rows(8, 48, 2));
        run.equal("copied in its middle, sequence " + std::to_string(s), session.last(s), whole, ROUNDING);
    }
    run.take(session);
}

void two_images(Run & run) {
    run.with_image = true;
    Session           session(run.model, run.setup());
    std::vector<Step> steps = { text_step(9, 0, 1), image_step(main_image(run), 9) };
    if (play(session, 0, steps)) {
        std::vector<Step> more = { image_step({ 20, 15, 2 }, steps.back().next) };
        if (play(session, 0, more)) {
            session.decode(0, text_rows(8, more.back().next, 2));
        }
    }
    run.take(session);
}

// Twenty turns of text, image, text; grids of many shapes, among them a single row.
void turns(Run & run) {
    run.with_image = true;
    Session                               session(run.model, run.setup());
    const std::vector<std::pair<int, int>> grids = { { 8, 8 }, { 4, 3 }, { 6, 2 }, { 3, 7 } };
    int                                    pos   = 0;
    for (int turn = 0; turn < 20 && pos >= 0; ++turn) {
        const auto [nx, ny] = grids[static_cast<size_t>(turn) % grids.size()];
        session.decode(0, text_rows(5 + turn % 3, pos, static_cast<unsigned>(turn)));
        pos = session.image(0, { nx, ny, turn + 1 }, pos + 5 + turn % 3);
        if (pos >= 0) {
            session.decode(0, text_rows(3, pos, static_cast<unsigned>(100 + turn)));
            pos += 3;
        }
    }
    run.take(session);
}

// Shapes of images, at position 0 and behind one token. The book-keeping of every shape up to 64x64 is
// in breaks-direct, where nothing is computed.
void grids(Run & run) {
    run.with_image = true;
    Session session(run.model, run.setup());
    const std::vector<std::pair<int, int>> shapes = { { 1, 1 }, { 1, 2 }, { 2, 1 }, { 1, 64 }, { 64, 1 }, { 7, 5 }, { 20, 15 } };
    for (const auto & [nx, ny] : shapes) {
        for (const int before : { 0, 1 }) {
            session.clear();
            if (before > 0) {
                session.decode(0, text_rows(before, 0, 1));
            }
            const int next = session.image(0, { nx, ny, 1 }, before);
            if (next < 0) {
                break;
            }
            session.decode(0, text_rows(2, next, 2));
        }
    }
    run.take(session);
}

// Several sequences in one batch: text, images of different grids, text again.
void several(Run & run) {
    run.with_image = true;
    Session                               session(run.model, run.setup(3));
    const std::vector<Image>              images = { { 6, 4, 1 }, { 3, 7, 2 }, { 5, 5, 3 } };
    std::vector<std::pair<int, Rows>>     batch;
    for (int s = 0; s < 3; ++s) {
        batch.emplace_back(s, text_rows(4 + s, 0, static_cast<unsigned>(s)));
    }
    session.decode(batch);
    batch.clear();
    for (int s = 0; s < 3; ++s) {
        batch.emplace_back(s, image_rows(images[static_cast<size_t>(s)], 4 + s));
    }
    session.decode(batch);
    batch.clear();
    for (int s = 0; s < 3; ++s) {
        batch.emplace_back(s, text_rows(3, 4 + s + images[static_cast<size_t>(s)].n_pos(), static_cast<unsigned>(10 + s)));
    }
    session.decode(batch);
    run.take(session);
    for (int s = 0; s < 3; ++s) {
        const Image & image = images[static_cast<size_t>(s)];
        Setup         plain = run.setup();
        plain.mtmd          = false;
        run.equal("sequence " + std::to_string(s), session.last(s),
                  replayed(run.model, plain,
                           { text_step(4 + s, 0, static_cast<unsigned>(s)), image_step(image, 4 + s),
                             text_step(3, 4 + s + image.n_pos(), static_cast<unsigned>(10 + s)) }),
                  ROUNDING);
    }
}

// Text behind an image in one call and token by token: each against a reference of equal shape.
void text_after_image(Run & run) {
    run.with_image = true;
    std::vector<Logits> ends;
    for (const int piece : { 8, 1 }) {
        Session           session(run.model, run.setup());
        std::vector<Step> steps = { text_step(9, 0, 1), image_step({ 8, 6, 1 }, 9) };
        if (!play(session, 0, steps)) {
            run.take(session);
            return;
        }
        const Rows text = text_rows(8, steps.back().next, 2);
        for (int i = 0; i < 8; i += piece) {
            session.decode(0, Rows(text.begin() + i, text.begin() + i + piece));
        }
        run.take(session);
        ends.push_back(session.last(0));
    }
    run.equal("token by token against one call", ends[1], ends[0], ROUNDING);
}

// Our positions against those of mtmd, row by row.
void parity(Run & run) {
#if defined(PROBE_MTMD) && defined(PROBE_DECODER_POS)
    run.with_image = true;
    Session session(run.model, run.setup());
    for (const auto & [nx, ny] : std::vector<std::pair<int, int>>{ { 1, 1 }, { 8, 8 }, { 20, 15 }, { 4, 3 }, { 7, 13 } }) {
        const auto *                  chunk  = run.model.chunk({ nx, ny, 1 });
        const auto *                  tokens = mtmd_input_chunk_get_tokens_image(chunk);
        const size_t                  n      = mtmd_input_chunk_get_n_tokens(chunk);
        std::vector<mtmd_decoder_pos> theirs(n);
        const int                     base = 9;
        mtmd_helper_image_get_decoder_pos(tokens, base, theirs.data());
        int width = 0;
        for (const auto & p : theirs) {
            width = std::max(width, static_cast<int>(p.x) - base + 1);
        }
        const Image image = { width, static_cast<int>(n) / std::max(width, 1), 1 };
        const Rows  ours  = image_rows(image, base);
        int         wrong = ours.size() == n ? 0 : static_cast<int>(n);
        for (size_t i = 0; i < n && ours.size() == n; ++i) {
            const bool same = static_cast<int>(theirs[i].t) == ours[i].t && static_cast<int>(theirs[i].y) == ours[i].y &&
                              static_cast<int>(theirs[i].x) == ours[i].x;
            wrong += same ? 0 : 1;
        }
        const std::string name = std::to_string(image.nx) + "x" + std::to_string(image.ny);
        run.counted(name + " rows that differ", wrong, 0);
        run.counted(name + " positions taken", static_cast<int>(mtmd_input_chunk_get_n_pos(chunk)), image.n_pos());
    }
    session.image(0, { 4, 3, 1 }, 0);
    run.take(session);
#else
    (void) run;
    throw std::runtime_error("this revision has no mtmd_helper_image_get_decoder_pos");
#endif
}

}  // namespace

void add_prefill_scenarios(std::map<std::string, Scenario> & all) {
    all["text"]             = text_only;
    all["image"]            = image;
    all["split-calls"]      = split_calls;
    all["two-images"]       = two_images;
    all["turns"]            = turns;
    all["grids"]            = grids;
    all["several"]          = several;
    all["text-after-image"] = text_after_image;
    all["parity"]           = parity;
}

}  // namespace probe
