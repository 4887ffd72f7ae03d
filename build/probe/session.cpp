#include "session.hpp"

#include "json.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <typeinfo>

namespace probe {

namespace {

constexpr size_t N_OTHERS = 20;

void on_log(ggml_log_level level, const char * text, void * /*user*/) {
    Log &  log = the_log();
    Warned w{};
    if (sscanf(text, "find_slot: non-consecutive token position %d after %d for sequence %d with %u new tokens",
               &w.position, &w.after, &w.sequence, &w.n_tokens) == 4) {
        log.warnings.push_back(w);
        return;
    }
    // A debug build only logs that its cells are inconsistent: no other line may crowd that out.
    const bool inconsistent = strstr(text, "tail for seq_id") != nullptr && log.others.size() < 2 * N_OTHERS;
    if ((level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR) && (inconsistent || log.others.size() < N_OTHERS)) {
        log.others.emplace_back(text);
    }
}

// Members that not every revision has: set if there, else ignored.
template <typename P> auto set_snapshots(P & params, uint32_t n, int) -> decltype(params.n_rs_seq = n, true) {
    params.n_rs_seq = n;
    return true;
}
template <typename P> bool set_snapshots(P &, uint32_t, long) {
    return false;
}
template <typename M> auto get_snapshots(const M & memory, int) -> decltype(static_cast<int>(memory.n_rs_seq)) {
    return static_cast<int>(memory.n_rs_seq);
}
template <typename M> int get_snapshots(const M &, long) {
    return 0;
}
#ifdef PROBE_MTMD
template <typename T> auto set_length(T & text, size_t n, int) -> decltype(text.text_len = n, void()) {
    text.text_len = n;
}
template <typename T> void set_length(T &, size_t, long) {}
template <typename P> auto set_warmup(P & params, int) -> decltype(params.warmup = false, void()) {
    params.warmup = false;
}
template <typename P> void set_warmup(P &, long) {}
// The helper that reads a picture got an argument more, twice, and wraps its result by now.
mtmd_bitmap * unwrapped(mtmd_bitmap * bitmap) {
    return bitmap;
}
template <typename W> auto unwrapped(W wrapper) -> decltype(wrapper.bitmap) {
    return wrapper.bitmap;
}
template <typename W, typename C>
mtmd_bitmap * bitmap_of(W (*open)(C *, const char *), mtmd_context * ctx, const char * path) {
    return unwrapped(open(ctx, path));
}
template <typename W, typename C>
mtmd_bitmap * bitmap_of(W (*open)(C *, const char *, bool), mtmd_context * ctx, const char * path) {
    return unwrapped(open(ctx, path, false));
}
template <typename W, typename C, typename O>
mtmd_bitmap * bitmap_of(W (*open)(C *, const char *, bool, O), mtmd_context * ctx, const char * path) {
    return unwrapped(open(ctx, path, false, O{}));
}
template <typename P> auto set_max_tokens(P & params, int n, int) -> decltype(params.image_max_tokens = n, void()) {
    params.image_max_tokens = n;
    params.image_min_tokens = 1;
}
template <typename P> void set_max_tokens(P &, int, long) {}
#endif

uint64_t mixed(uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

}  // namespace

void Log::reset() {
    warnings.clear();
    others.clear();
}

Log & the_log() {
    static Log log;
    return log;
}

void capture_log() {
    llama_log_set(on_log, nullptr);
#ifdef PROBE_MTMD
    mtmd_helper_log_set(on_log, nullptr);
#endif
}

std::string Job::text(const std::string & key, const std::string & otherwise) const {
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : found->second;
}

int Job::number(const std::string & key, int otherwise) const {
    const auto found = settings.find(key);
    return found == settings.end() ? otherwise : std::stoi(found->second);
}

Rows text_rows(int n, int pos0, unsigned seed) {
    Rows rows;
    for (int i = 0; i < n; ++i) {
        const int pos = pos0 + i;
        rows.push_back({ static_cast<int>(mixed(seed * 1000003ULL + static_cast<unsigned>(i)) % 256), 0, i, pos, pos, pos });
    }
    return rows;
}

Rows image_rows(const Image & image, int base) {
    Rows rows;
    for (int i = 0; i < image.n_rows(); ++i) {
        rows.push_back({ -1, image.id, i, base, base + i / image.nx, base + i % image.nx });
    }
    return rows;
}

// With the first thing that the core complained about: the reason.
static std::runtime_error cannot_load(const std::string & path) {
    std::string why = the_log().others.empty() ? "" : ": " + the_log().others.front();
    while (!why.empty() && std::isspace(static_cast<unsigned char>(why.back()))) {
        why.pop_back();
    }
    return std::runtime_error("cannot load " + path + why);
}

Model::Model(const std::string & model_path, const std::string & mmproj_path) {
    llama_model_params params = llama_model_default_params();
    params.n_gpu_layers       = 0;
    model                     = llama_model_load_from_file(model_path.c_str(), params);
    if (model == nullptr) {
        throw cannot_load(model_path);
    }
    embd            = llama_model_n_embd(model);
    vocab           = llama_vocab_n_tokens(llama_model_get_vocab(model));
    const auto rope = llama_model_rope_type(model);
    pos             = rope == LLAMA_ROPE_TYPE_MROPE || rope == LLAMA_ROPE_TYPE_IMROPE ? 4 : 1;
    if (mmproj_path.empty()) {
        return;
    }
#ifdef PROBE_MTMD
    mtmd_context_params vision = mtmd_context_params_default();
    vision.use_gpu             = false;
    vision.n_threads           = 1;
    vision.print_timings       = false;
    set_warmup(vision, 0);
    set_max_tokens(vision, 4096, 0);
    projector = mtmd_init_from_file(mmproj_path.c_str(), model, vision);
    if (projector == nullptr) {
        throw cannot_load(mmproj_path);
    }
#else
    throw std::runtime_error("this program was compiled without mtmd");
#endif
}

Model::~Model() {
#ifdef PROBE_MTMD
    for (auto & [_, made] : chunks) {
        mtmd_input_chunks_free(made);
    }
    if (projector != nullptr) {
        mtmd_free(projector);
    }
#endif
    llama_model_free(model);
}

bool Model::has_projector() const {
#ifdef PROBE_MTMD
    return projector != nullptr;
#else
    return false;
#endif
}

const std::vector<float> & Model::embedding(const Row & row) {
    auto & made = embeddings[{ row.image_id, row.index }];
    if (made.empty()) {
        uint64_t state = mixed(static_cast<uint64_t>(row.image_id) * 0x10001ULL + static_cast<uint64_t>(row.index) + 7);
        for (int i = 0; i < embd; ++i) {
            state = mixed(state);
            // sum of four uniforms: near enough to a normal, and the same on every machine
            float sum = 0;
            for (int k = 0; k < 4; ++k) {
                sum += static_cast<float>((state >> (16 * k)) & 0xffff) / 65536.0F - 0.5F;
            }
            made.push_back(sum * 1.7F);
        }
    }
    return made;
}

#ifdef PROBE_MTMD
void Model::use_picture(const std::string & path) {
    picture = path;
}

const mtmd_input_chunk * Model::chunk(const Image & image) {
    const std::string key = std::to_string(image.nx) + "x" + std::to_string(image.ny) + "#" + std::to_string(image.id);
    auto &            made = chunks[picture.empty() ? key : picture];
    if (made == nullptr) {
        mtmd_bitmap * bitmap = nullptr;
        if (picture.empty()) {
            // the merger of Qwen's projectors makes one row of 2x2 patches of 16x16 pixels
            const uint32_t             w = 32U * static_cast<uint32_t>(image.nx);
            const uint32_t             h = 32U * static_cast<uint32_t>(image.ny);
            std::vector<unsigned char> pixels;
            for (size_t i = 0; i < size_t(w) * h * 3; ++i) {
                pixels.push_back(static_cast<unsigned char>(mixed(i / 48 + static_cast<uint64_t>(image.id) * 7919ULL)));
            }
            bitmap = mtmd_bitmap_init(w, h, pixels.data());
        } else {
            bitmap = bitmap_of(mtmd_helper_bitmap_init_from_file, projector, picture.c_str());
            if (bitmap == nullptr) {
                throw cannot_load(picture);
            }
        }
        made                 = mtmd_input_chunks_init();
        const std::string prompt = mtmd_default_marker();
        mtmd_input_text   text{};
        text.text          = prompt.c_str();
        text.add_special   = false;
        text.parse_special = true;
        set_length(text, prompt.size(), 0);
        const mtmd_bitmap * bitmaps[] = { bitmap };
        const int           rc        = mtmd_tokenize(projector, made, &text, bitmaps, 1);
        mtmd_bitmap_free(bitmap);
        if (rc != 0) {
            throw std::runtime_error("mtmd_tokenize returned " + std::to_string(rc));
        }
    }
    for (size_t i = 0; i < mtmd_input_chunks_size(made); ++i) {
        const auto * found = mtmd_input_chunks_get(made, i);
        if (mtmd_input_chunk_get_type(found) == MTMD_INPUT_CHUNK_TYPE_IMAGE) {
            return found;
        }
    }
    throw std::runtime_error("mtmd_tokenize made no image chunk");
}
#endif

Session::Session(Model & model, const Setup & setup) : setup(setup), model(model) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx                = static_cast<uint32_t>(setup.n_ctx);
    params.n_batch              = static_cast<uint32_t>(setup.n_batch);
    params.n_ubatch             = static_cast<uint32_t>(setup.n_ubatch);
    params.n_seq_max            = static_cast<uint32_t>(setup.n_seq);
    params.n_threads            = 1;  // two threads on a busy machine with two cores are erratic
    params.n_threads_batch      = 1;
    params.kv_unified           = setup.unified;
    params.no_perf              = true;
    set_snapshots(params, static_cast<uint32_t>(setup.n_rs), 0);
    ctx = llama_init_from_model(model.get(), params);
    if (ctx == nullptr) {
        throw std::runtime_error("cannot make a context");
    }
}

Session::~Session() {
    llama_free(ctx);
}

int Session::decode(int sequence, const Rows & rows, bool logits) {
    return decode({ { sequence, rows } }, logits);
}

int Session::decode(const std::vector<std::pair<int, Rows>> & per_sequence, bool logits) {
    int32_t n     = 0;
    bool    image = false;
    for (const auto & [sequence, rows] : per_sequence) {
        n += static_cast<int32_t>(rows.size());
        image = image || (!rows.empty() && rows[0].is_image());
    }
    const size_t              n_pos = image ? static_cast<size_t>(model.n_pos()) : 1;
    std::vector<llama_token>  token;
    std::vector<float>        embd;
    std::vector<llama_pos>    pos(n_pos * static_cast<size_t>(n));
    std::vector<llama_seq_id> ids;
    std::vector<int8_t>       wanted(static_cast<size_t>(n), 0);
    std::vector<int32_t>      last;
    size_t                    i = 0;
    for (const auto & [sequence, rows] : per_sequence) {
        for (const auto & row : rows) {
            const llama_pos sections[4] = { row.t, row.y, row.x, 0 };
            for (size_t s = 0; s < n_pos; ++s) {
                pos[s * static_cast<size_t>(n) + i] = sections[s];
            }
            if (image) {
                const auto & one = model.embedding(row);
                embd.insert(embd.end(), one.begin(), one.end());
            } else {
                token.push_back(row.token);
            }
            ids.push_back(sequence);
            ++i;
        }
        last.push_back(static_cast<int32_t>(i) - 1);
        wanted[i - 1] = logits ? 1 : 0;
    }
    std::vector<llama_seq_id *> seq_id;
    for (auto & id : ids) {
        seq_id.push_back(&id);
    }
    seq_id.push_back(nullptr);
    std::vector<int32_t> n_seq_id(static_cast<size_t>(n), 1);

    llama_batch batch{};
    batch.n_tokens = n;
    batch.token    = image ? nullptr : token.data();
    batch.embd     = image ? embd.data() : nullptr;
    batch.pos      = pos.data();
    batch.n_seq_id = n_seq_id.data();
    batch.seq_id   = seq_id.data();
    batch.logits   = wanted.data();

    const int rc = llama_decode(ctx, batch);
    codes.push_back(rc);
    if (rc == 0 && image) {
        image_rows += n;
    }
    if (rc == 0 && logits) {
        for (size_t s = 0; s < per_sequence.size(); ++s) {
            const float * values = llama_get_logits_ith(ctx, last[s]);
            if (values == nullptr) {
                throw std::runtime_error("llama_decode returned 0 but there are no logits");
            }
            auto & filed = latest[per_sequence[s].first];
            filed.assign(values, values + model.n_vocab());
            kept.push_back(filed);
        }
    }
    return rc;
}

int Session::image(int sequence, const Image & image, int base) {
#ifdef PROBE_MTMD
    if (setup.mtmd) {
        llama_pos    next  = -1;
        const auto * chunk = model.chunk(image);
        // the helper's sub-batches are its own: it decodes in pieces of n_batch
        const int rc = mtmd_helper_eval_chunk_single(model.vision(), ctx, chunk, base, sequence, setup.n_batch, true, &next);
        codes.push_back(rc);
        if (rc != 0) {
            return -1;
        }
        image_rows += static_cast<int>(mtmd_input_chunk_get_n_tokens(chunk));
        // The helper asks for no logits of an image's rows; to ask for one here would abort a core
        // that was built with asserts.
        return next;
    }
#endif
    const Rows   rows = probe::image_rows(image, base);
    const size_t step = static_cast<size_t>(setup.n_batch);
    for (size_t i = 0; i < rows.size(); i += step) {
        const size_t end = std::min(rows.size(), i + step);
        if (decode(sequence, Rows(rows.begin() + static_cast<long>(i), rows.begin() + static_cast<long>(end))) != 0) {
            return -1;
        }
    }
    return base + image.n_pos();
}

bool Session::rm(int sequence, int p0, int p1) {
    return llama_memory_seq_rm(llama_get_memory(ctx), sequence, p0, p1);
}

void Session::cp(int from, int to) {
    llama_memory_seq_cp(llama_get_memory(ctx), from, to, -1, -1);
}

void Session::keep(int sequence) {
    llama_memory_seq_keep(llama_get_memory(ctx), sequence);
}

std::vector<uint8_t> Session::save(int sequence, uint32_t flags) {
    std::vector<uint8_t> state(llama_state_seq_get_size_ext(ctx, sequence, flags));
    const size_t         n = llama_state_seq_get_data_ext(ctx, state.data(), state.size(), sequence, flags);
    state.resize(n);
    return state;
}

bool Session::restore(int sequence, const std::vector<uint8_t> & state, uint32_t flags) {
    return llama_state_seq_set_data_ext(ctx, state.data(), state.size(), sequence, flags) != 0;
}

std::vector<uint8_t> Session::save_all() {
    std::vector<uint8_t> state(llama_state_get_size(ctx));
    state.resize(llama_state_get_data(ctx, state.data(), state.size()));
    return state;
}

bool Session::restore_all(const std::vector<uint8_t> & state) {
    return llama_state_set_data(ctx, state.data(), state.size()) != 0;
}

void Session::clear() {
    llama_memory_clear(llama_get_memory(ctx), true);
}

llama_memory_i * Session::memory() const {
    return llama_get_memory(ctx);
}

llama_memory_recurrent * Session::recurrent() const {
    if (auto * hybrid = dynamic_cast<llama_memory_hybrid *>(memory())) {
        return hybrid->get_mem_recr();
    }
    return dynamic_cast<llama_memory_recurrent *>(memory());
}

std::string Session::memory_class() const {
    // typeid, not dynamic_cast: a derived class is another answer
    return memory() == nullptr ? "none" : demangled(typeid(*memory()).name());
}

int Session::n_rs() const {
    const auto * memory = recurrent();
    return memory == nullptr ? 0 : get_snapshots(*memory, 0);
}

bool revision_has_snapshots() {
    llama_context_params params{};
    return set_snapshots(params, 0, 0);
}

double max_abs_diff(const Logits & a, const Logits & b) {
    if (a.size() != b.size() || a.empty()) {
        return INFINITY;
    }
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (!(d <= worst)) {  // also true for not a number
            worst = std::isnan(d) ? INFINITY : d;
        }
    }
    return worst;
}

std::string demangled(const char * name) {
    int         status = 0;
    char *      text   = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string out    = status == 0 && text != nullptr ? text : name;
    free(text);
    return out;
}

std::string loaded_from(const void * function) {
    Dl_info info{};
    if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) {
        return "";
    }
    char full[PATH_MAX];
    return realpath(info.dli_fname, full) != nullptr ? full : info.dli_fname;
}

}  // namespace probe
