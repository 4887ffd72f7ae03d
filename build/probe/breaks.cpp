// What must not pass in silence: positions that go back, repeat, overlap or leave a gap.
//
// Batch init refuses some of them (return code -1); the others are handed to find_slot directly, where
// no batch init stands before it.
#include "scenario.hpp"

#include <algorithm>
#include <tuple>

namespace probe {

namespace {

// A ubatch of one sequence as the core would make it, owned here.
class Ubatch {
public:
    Ubatch(const Rows & rows, int n_pos, llama_seq_id sequence) : id(sequence) {
        const size_t n = rows.size();
        token.resize(n);
        embd.resize(n);
        pos.resize(n * static_cast<size_t>(n_pos));
        n_seq_id.assign(n, 1);
        seq_id.assign(n + 1, &id);
        seq_id[n] = nullptr;
        seq_idx.assign(LLAMA_MAX_SEQ, -1);
        seq_idx[static_cast<size_t>(sequence)] = 0;
        output.assign(n, 0);
        for (size_t i = 0; i < n; ++i) {
            const llama_pos sections[4] = { rows[i].t, rows[i].y, rows[i].x, 0 };
            for (size_t s = 0; s < static_cast<size_t>(n_pos); ++s) {
                pos[s * n + i] = sections[s];
            }
        }
        ubatch.b_equal_seqs = 1;
        ubatch.n_tokens     = static_cast<uint32_t>(n);
        ubatch.n_seq_tokens = static_cast<uint32_t>(n);
        ubatch.n_seqs       = 1;
        ubatch.n_seqs_unq   = 1;
        ubatch.n_pos        = static_cast<uint32_t>(n_pos);
        ubatch.token        = rows[0].is_image() ? nullptr : token.data();
        ubatch.embd         = rows[0].is_image() ? embd.data() : nullptr;
        ubatch.pos          = pos.data();
        ubatch.n_seq_id     = n_seq_id.data();
        ubatch.seq_id       = seq_id.data();
        ubatch.seq_id_unq   = &id;
        ubatch.seq_idx      = seq_idx.data();
        ubatch.output       = output.data();
    }
    Ubatch(const Ubatch &)             = delete;
    Ubatch & operator=(const Ubatch &) = delete;

    llama_ubatch ubatch{};

private:
    llama_seq_id                id;
    std::vector<llama_token>    token;
    std::vector<float>          embd;
    std::vector<llama_pos>      pos;
    std::vector<int32_t>        n_seq_id;
    std::vector<llama_seq_id *> seq_id;
    std::vector<int32_t>        seq_idx;
    std::vector<int8_t>         output;
};

// Warnings that find_slot gives for the last of `stretches`; those before it must be right.
int warned(Session & session, int n_pos, const std::vector<Rows> & stretches) {
    session.clear();
    int last = -1;
    for (const auto & rows : stretches) {
        const size_t before = the_log().warnings.size();
        Ubatch       one(rows, n_pos, 0);
        if (!session.recurrent()->find_slot(one.ubatch)) {
            return -1;
        }
        last = static_cast<int>(the_log().warnings.size() - before);
    }
    session.clear();
    return last;
}

// Warnings for a token, an image of every shape up to 64x64, and text, in ubatches of 512 rows.
int warned_for_grids(Session & session, int n_pos) {
    const size_t before = the_log().warnings.size();
    const Rows   head   = text_rows(1, 0, 1);
    for (int nx = 1; nx <= 64; ++nx) {
        for (int ny = 1; ny <= 64; ++ny) {
            const Image image{ nx, ny, 1 };
            const Rows  rows = image_rows(image, 1);
            const long  n    = image.n_rows();
            session.clear();
            session.recurrent()->find_slot(Ubatch(head, n_pos, 0).ubatch);
            for (long from = 0; from < n; from += 512) {
                session.recurrent()->find_slot(Ubatch(part(rows, from, std::min(n, from + 512)), n_pos, 0).ubatch);
            }
            session.recurrent()->find_slot(Ubatch(text_rows(2, 1 + image.n_pos(), 2), n_pos, 0).ubatch);
        }
    }
    session.clear();
    const auto n_warned = static_cast<int>(the_log().warnings.size() - before);
    the_log().warnings.resize(before);  // tens of thousands without the patches
    return n_warned;
}

void direct(Run & run) {
    Session    session(run.model, run.setup(2));
    const int  n_pos = run.model.n_pos();
    const Rows text  = text_rows(9, 0, 1);
    const auto say   = [&](const std::string & name, const std::vector<Rows> & stretches, int expected) {
        run.counted(name, warned(session, n_pos, stretches), expected);
    };
    if (n_pos == 1) {
        say("next token", { text, text_rows(3, 9, 2) }, 0);
        say("gap", { text, text_rows(3, 12, 2) }, 1);
        say("backwards", { text, text_rows(3, 5, 2) }, 1);
        say("repeated", { text, text_rows(3, 8, 2) }, 1);
        run.take(session);
        return;
    }
    const Rows image  = image_rows({ 39, 15, 1 }, 9);
    const Rows second = image_rows({ 20, 15, 2 }, 48);
    say("next token", { text, text_rows(3, 9, 2) }, 0);
    say("image behind text", { text, image }, 0);
    say("rest of an image", { text, part(image, 0, 100), part(image, 100, 585) }, 0);
    say("text behind an image", { text, image, text_rows(3, 48, 2) }, 0);
    say("image behind an image", { text, image, second }, 0);
    say("rest of a second image", { text, image, part(second, 0, 30), part(second, 30, 300) }, 0);
    run.counted("every grid up to 64x64", warned_for_grids(session, n_pos), 0);
    say("jump forward", { text, text_rows(3, 100, 2) }, 0);
    say("text going back", { text, text_rows(3, 5, 2) }, 1);
    say("text repeated", { text, text_rows(3, 8, 2) }, 1);
    say("first token repeated", { text_rows(1, 0, 1), text_rows(1, 0, 2) }, 1);
    say("image going back", { text, image_rows({ 4, 4, 2 }, 4) }, 1);
    say("image on the last token", { text, image_rows({ 4, 4, 2 }, 8) }, 1);
    say("rows of an image repeated", { text, part(image, 0, 100), part(image, 50, 150) }, 1);
    say("the same row again", { text, part(image, 0, 100), part(image, 99, 100) }, 1);
    say("image at the place of an image", { text, image, image_rows({ 39, 15, 2 }, 9) }, 1);
    say("image inside an image", { text, image, image_rows({ 4, 4, 2 }, 20) }, 1);
    say("image at the last column of an image", { text, image, image_rows({ 4, 4, 2 }, 47) }, 1);
    say("text at the place of an image", { text, image, text_rows(3, 9, 2) }, 1);
    say("text inside an image", { text, image, text_rows(3, 47, 2) }, 1);
    say("text inside an image, in its middle", { text, part(image, 0, 300), text_rows(3, 20, 2) }, 1);
    say("text inside a tall image", { text, image_rows({ 2, 30, 1 }, 9), text_rows(3, 38, 2) }, 1);
    say("text behind a tall image", { text, image_rows({ 2, 30, 1 }, 9), text_rows(3, 39, 2) }, 0);
    say("right again behind a break", { text, text_rows(3, 5, 2), text_rows(3, 8, 3) }, 0);

    // only the position of the last row is known behind a shift, as behind a rollback and a restored state
    for (const auto & [name, pos, expected] : { std::tuple{ "next token", 11, 0 }, std::tuple{ "text repeated", 10, 1 } }) {
        auto & memory = *session.recurrent();
        memory.find_slot(Ubatch(text, n_pos, 0).ubatch);
        memory.seq_add(0, 0, -1, 2);
        const size_t before = the_log().warnings.size();
        memory.find_slot(Ubatch(text_rows(3, pos, 2), n_pos, 0).ubatch);
        run.counted(std::string(name) + " behind a shift", static_cast<int>(the_log().warnings.size() - before), expected);
        session.clear();
    }

    // a copy knows the image it stands behind
    auto & memory = *session.recurrent();
    memory.find_slot(Ubatch(text, n_pos, 0).ubatch);
    memory.find_slot(Ubatch(image, n_pos, 0).ubatch);
    memory.seq_cp(0, 1, -1, -1);
    const size_t before = the_log().warnings.size();
    memory.find_slot(Ubatch(text_rows(3, 20, 2), n_pos, 1).ubatch);
    run.counted("text inside an image, in a copy", static_cast<int>(the_log().warnings.size() - before), 1);
    session.clear();
    run.take(session);
}

// What batch init refuses, as upstream does; and what reaches find_slot because the two memories of a
// hybrid disagree about where the sequence ends.
void batch_init(Run & run) {
    const bool mrope = run.model.n_pos() > 1;
    Session    session(run.model, run.setup());
    session.decode(0, text_rows(9, 0, 1));
    run.take(session);
    run.counted("text going back", session.decode(0, text_rows(3, 5, 2)), -1, "return code");
    if (!mrope) {
        run.counted("gap", session.decode(0, text_rows(3, 12, 2)), -1, "return code");
        return;
    }
    run.with_image = true;
    run.counted("image going back", session.decode(0, image_rows({ 4, 4, 1 }, 4)), -1, "return code");
    session.image(0, { 4, 4, 1 }, 9);
    run.image_rows += session.image_rows;
    run.counted("text at the place of an image", session.decode(0, text_rows(3, 9, 2)), -1, "return code");

    const size_t before = the_log().warnings.size();
    run.counted("image at the place of an image", session.decode(0, image_rows({ 4, 4, 2 }, 9)), 0, "return code");
    run.counted("image at the place of an image: warnings", static_cast<int>(the_log().warnings.size() - before), 2);

    if (auto * hybrid = dynamic_cast<llama_memory_hybrid *>(session.memory())) {
        session.clear();
        session.decode(0, text_rows(9, 0, 1));
        hybrid->get_mem_attn()->seq_rm(0, 6, -1);
        const size_t ahead = the_log().warnings.size();
        run.counted("recurrent ahead of attention", session.decode(0, text_rows(3, 6, 2)), 0, "return code");
        run.counted("recurrent ahead of attention: warnings", static_cast<int>(the_log().warnings.size() - ahead), 2);
    }
}

}  // namespace

void add_break_scenarios(std::map<std::string, Scenario> & all) {
    all["breaks-direct"] = direct;
    all["breaks-batch"]  = batch_init;
}

}  // namespace probe
