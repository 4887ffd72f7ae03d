// A model, its contexts, and rows handed to them: everything that the scenarios are written in.
#pragma once

#include "llama-batch.h"
#include "llama-memory-hybrid.h"
#include "llama-memory-recurrent.h"
#include "llama.h"

#ifdef PROBE_MTMD
#include "mtmd-helper.h"
#include "mtmd.h"
#endif

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace probe {

// One line of find_slot's warning, taken apart.
struct Warned {
    int      position;
    int      after;
    int      sequence;
    unsigned n_tokens;
};

// What the core said since the last reset.
struct Log {
    std::vector<Warned>      warnings;
    std::vector<std::string> others;  // warnings and errors of any other kind, the first few

    void reset();
};

Log & the_log();

// Route the log of llama.cpp (and mtmd) here. Once per process.
void capture_log();

// One job: a scenario and its settings, from one line "scenario key=value ...".
struct Job {
    std::string                        scenario;
    std::map<std::string, std::string> settings;

    std::string text(const std::string & key, const std::string & otherwise) const;
    int         number(const std::string & key, int otherwise) const;
};

// An image: its grid in rows of the text model. `id` chooses the embeddings (or the pixels).
struct Image {
    int nx;
    int ny;
    int id;

    int n_rows() const { return nx * ny; }
    int n_pos() const { return nx > ny ? nx : ny; }
};

// One row of a sequence as it was handed over; image rows are told by `token` < 0.
struct Row {
    int token;
    int image_id;
    int index;  // of the row within its image
    int t, y, x;

    bool is_image() const { return token < 0; }
};

using Rows   = std::vector<Row>;
using Logits = std::vector<float>;

// Text rows at positions pos0 ..., tokens drawn from `seed`.
Rows text_rows(int n, int pos0, unsigned seed);
// All rows of an image in raster order, section-major positions frozen at `base`.
Rows image_rows(const Image & image, int base);

// The model, and the projector if there is one.
class Model {
public:
    Model(const std::string & model_path, const std::string & mmproj_path);
    ~Model();
    Model(const Model &)             = delete;
    Model & operator=(const Model &) = delete;

    llama_model * get() const { return model; }
    int           n_embd() const { return embd; }
    int           n_vocab() const { return vocab; }
    int           n_pos() const { return pos; }  // sections per row: 4 with M-RoPE, else 1
    bool          has_projector() const;

    // The embedding of one row of an image.
    const std::vector<float> & embedding(const Row & row);

#ifdef PROBE_MTMD
    mtmd_context * vision() const { return projector; }
    // The image chunk of one in-memory picture of that grid. Owned by the model.
    const mtmd_input_chunk * chunk(const Image & image);
    // Replace made pictures by that file, whatever grid is asked for.
    void use_picture(const std::string & path);
#endif

private:
    llama_model * model = nullptr;
    int           embd  = 0;
    int           vocab = 0;
    int           pos   = 1;

    std::map<std::pair<int, int>, std::vector<float>> embeddings;
#ifdef PROBE_MTMD
    mtmd_context *                                projector = nullptr;
    std::map<std::string, mtmd_input_chunks *>    chunks;
    std::string                                   picture;
#endif
};

struct Setup {
    int  n_ctx    = 4096;
    int  n_batch  = 2048;
    int  n_ubatch = 512;
    int  n_seq    = 1;
    int  n_rs     = 0;      // rollback snapshots; ignored where this revision has none
    bool unified  = true;   // one attention stream for all sequences
    bool mtmd     = false;  // images go through the real mtmd path
};

// A context and what was handed to it.
class Session {
public:
    Session(Model & model, const Setup & setup);
    ~Session();
    Session(const Session &)             = delete;
    Session & operator=(const Session &) = delete;

    // Hand rows over in one llama_decode: all text or all image. `logits`: for the last row of each
    // sequence, filed under `kept`. Returns llama_decode's return code.
    int decode(const std::vector<std::pair<int, Rows>> & per_sequence, bool logits = true);
    int decode(int sequence, const Rows & rows, bool logits = true);

    // An image at `base`; returns the position where text resumes, or -1. Rows in pieces of `n_batch`.
    int image(int sequence, const Image & image, int base);

    bool rm(int sequence, int p0, int p1 = -1);
    void cp(int from, int to);
    void keep(int sequence);

    std::vector<uint8_t> save(int sequence, uint32_t flags);
    bool                 restore(int sequence, const std::vector<uint8_t> & state, uint32_t flags);
    std::vector<uint8_t> save_all();
    bool                 restore_all(const std::vector<uint8_t> & state);

    void clear();  // the memory, not the counters

    llama_context *          get() const { return ctx; }
    llama_memory_i *         memory() const;
    llama_memory_recurrent * recurrent() const;  // null if this memory has none
    std::string              memory_class() const;
    int                      n_rs() const;  // snapshots that the context really has

    const Logits & last(int sequence) { return latest[sequence]; }

    Setup               setup;
    std::vector<int>    codes;           // return code of each llama_decode that was ours
    int                 image_rows = 0;  // image rows that were decoded with return code 0
    std::vector<Logits> kept;            // in the order of the calls

private:
    Model &               model;
    llama_context *       ctx = nullptr;
    std::map<int, Logits> latest;
};

// Snapshots per sequence that a context of this revision can be asked for: 0 if it knows none.
bool revision_has_snapshots();

double max_abs_diff(const Logits & a, const Logits & b);

std::string demangled(const char * name);

// The file from which a function of the core was loaded.
std::string loaded_from(const void * function);

}  // namespace probe
