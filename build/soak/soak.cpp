// The long session in one process: text and image turns in turn, on the public API only.
//
//   soak --model FILE --mmproj FILE --turns N --seconds S --n-ubatch U [--n-ctx C] [--image-size PX]
//        [--leak-kib K] [--crash-at TURN]
//
// One line of JSON on stdout per turn; what the core says goes to stderr as it comes. When the
// context is full the memory is cleared and a new conversation begins: a session that ends because it
// is long would prove nothing.
//
// --leak-kib and --crash-at are faults built in on purpose: whoever judges a soak must be able to
// show that it tells a leak and a crash from a healthy run.
#include "llama.h"
#include "mtmd-helper.h"
#include "mtmd.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define HAVE_BACKTRACE
#endif
#include <unistd.h>

namespace {

struct Settings {
    std::string model;
    std::string mmproj;
    long        turns      = 0;  // 0: until the time is over
    double      seconds    = 0;  // 0: until the turns are done
    int         n_ubatch   = 512;
    int         n_ctx      = 4096;
    int         image_size = 640;
    long        leak_kib   = 0;
    long        crash_at   = 0;
};

// Later decodes of a backend in a sticky error state fail too; so many in a row are enough to know.
constexpr int MOST_FAILURES = 3;
constexpr int N_REPLY       = 8;

double now_s() {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

void on_signal(int number) {
    const char * name = number == SIGSEGV ? "SIGSEGV" : number == SIGBUS ? "SIGBUS" : number == SIGILL ? "SIGILL" : "SIGABRT";
    const char * head = "\nsoak: ended by ";
    (void) !write(STDERR_FILENO, head, strlen(head));
    (void) !write(STDERR_FILENO, name, strlen(name));
    (void) !write(STDERR_FILENO, "\n", 1);
#ifdef HAVE_BACKTRACE
    void *    frames[48];
    const int n = backtrace(frames, 48);
    backtrace_symbols_fd(frames, n, STDERR_FILENO);
#endif
    signal(number, SIG_DFL);
    raise(number);
}

// Warnings and errors only; a continued line belongs to the one before it.
void on_log(ggml_log_level level, const char * text, void *) {
    static bool kept = false;
    if (level != GGML_LOG_LEVEL_CONT) {
        kept = level == GGML_LOG_LEVEL_WARN || level == GGML_LOG_LEVEL_ERROR;
    }
    if (kept) {
        fputs(text, stderr);
    }
}

// A stack overflow leaves no stack for the handler, so it gets its own.
void report_signals() {
    static char stack[1 << 16];
    stack_t     alternative{};
    alternative.ss_sp   = stack;
    alternative.ss_size = sizeof(stack);
    sigaltstack(&alternative, nullptr);
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags   = SA_ONSTACK | SA_RESETHAND;
    for (const int number : { SIGSEGV, SIGBUS, SIGILL, SIGABRT }) {
        sigaction(number, &action, nullptr);
    }
}

// `text_len` came between 0.3.29 and 0.3.36.
template <typename T, typename = void> struct has_length : std::false_type {};
template <typename T> struct has_length<T, std::void_t<decltype(T::text_len)>> : std::true_type {};
template <typename T> void set_length(T & text, size_t n) {
    if constexpr (has_length<T>::value) {
        text.text_len = n;
    }
}

[[noreturn]] void die(const char * what) {
    fprintf(stderr, "soak: %s\n", what);
    exit(2);
}

Settings parse(int argc, char ** argv) {
    Settings s;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string key   = argv[i];
        const char *      value = argv[i + 1];
        if (key == "--model") s.model = value;
        else if (key == "--mmproj") s.mmproj = value;
        else if (key == "--turns") s.turns = atol(value);
        else if (key == "--seconds") s.seconds = atof(value);
        else if (key == "--n-ubatch") s.n_ubatch = atoi(value);
        else if (key == "--n-ctx") s.n_ctx = atoi(value);
        else if (key == "--image-size") s.image_size = atoi(value);
        else if (key == "--leak-kib") s.leak_kib = atol(value);
        else if (key == "--crash-at") s.crash_at = atol(value);
        else die(("unknown option " + key).c_str());
    }
    if (s.model.empty() || s.mmproj.empty() || (s.turns == 0 && s.seconds == 0)) {
        die("needs --model, --mmproj and --turns or --seconds");
    }
    return s;
}

// A picture that no turn shares with another, so that nothing can be answered from a cache.
std::vector<unsigned char> picture(int size, long turn) {
    std::vector<unsigned char> pixels(static_cast<size_t>(size) * size * 3);
    unsigned                   x = 2463534242u + static_cast<unsigned>(turn) * 2654435761u;
    for (auto & byte : pixels) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        byte = static_cast<unsigned char>(x);
    }
    return pixels;
}

class Conversation {
public:
    explicit Conversation(const Settings & settings) : s(settings) {
        llama_backend_init();
        auto model_params         = llama_model_default_params();
        model_params.n_gpu_layers = 0;
        model                     = llama_model_load_from_file(s.model.c_str(), model_params);
        if (!model) die("cannot load the model");
        auto params            = llama_context_default_params();
        params.n_ctx           = static_cast<uint32_t>(s.n_ctx);
        params.n_batch         = 2048;
        params.n_ubatch        = static_cast<uint32_t>(s.n_ubatch);
        params.n_threads       = 1;
        params.n_threads_batch = 1;
        ctx                    = llama_init_from_model(model, params);
        if (!ctx) die("cannot make a context");
        auto vision          = mtmd_context_params_default();
        vision.use_gpu       = false;
        vision.n_threads     = 1;
        vision.print_timings = false;
        mtmd                 = mtmd_init_from_file(s.mmproj.c_str(), model, vision);
        if (!mtmd) die("cannot load the projector");
    }
    ~Conversation() {
        mtmd_free(mtmd);
        llama_free(ctx);
        llama_model_free(model);
    }
    Conversation(const Conversation &)             = delete;
    Conversation & operator=(const Conversation &) = delete;

    // One turn; returns the core's return code. `rows`: tokens and image rows that were handed over.
    int turn(long number, bool with_image, size_t & rows) {
        const std::string text = std::string("<|im_start|>user\n") + (with_image ? mtmd_default_marker() : "") +
                                 "what do you see in turn " + std::to_string(number) + "?<|im_end|>\n<|im_start|>assistant\n";
        mtmd_input_text input{};
        input.text          = text.c_str();
        input.add_special   = false;
        input.parse_special = true;
        set_length(input, text.size());
        mtmd_bitmap * bitmap = nullptr;
        if (with_image) {
            const auto pixels = picture(s.image_size, number);
            bitmap            = mtmd_bitmap_init(s.image_size, s.image_size, pixels.data());
        }
        const mtmd_bitmap *  bitmaps[] = { bitmap };
        mtmd_input_chunks *  chunks    = mtmd_input_chunks_init();
        int                  rc        = mtmd_tokenize(mtmd, chunks, &input, bitmaps, with_image ? 1 : 0);
        if (rc == 0) {
            rows = mtmd_helper_get_n_tokens(chunks);
            if (used + rows + N_REPLY > static_cast<size_t>(s.n_ctx)) {
                llama_memory_clear(llama_get_memory(ctx), true);
                used = 0;
                past = 0;
                conversations++;
            }
            rc = mtmd_helper_eval_chunks(mtmd, ctx, chunks, past, 0, 2048, true, &past);
            used += rows;
        }
        mtmd_input_chunks_free(chunks);
        if (bitmap) mtmd_bitmap_free(bitmap);
        return rc == 0 ? reply() : rc;
    }

    long conversations = 1;

private:
    int reply() {
        const llama_vocab * vocab = llama_model_get_vocab(model);
        const int           n     = llama_vocab_n_tokens(vocab);
        for (int i = 0; i < N_REPLY; i++) {
            const float * logits = llama_get_logits_ith(ctx, -1);
            llama_token   best   = 0;
            for (int t = 1; t < n; t++) {
                if (logits[t] > logits[best]) best = t;
            }
            llama_batch batch     = llama_batch_init(1, 0, 1);
            batch.n_tokens        = 1;
            batch.token[0]        = best;
            batch.pos[0]          = past;
            batch.n_seq_id[0]     = 1;
            batch.seq_id[0][0]    = 0;
            batch.logits[0]       = 1;
            const int rc          = llama_decode(ctx, batch);
            llama_batch_free(batch);
            if (rc != 0) return rc;
            past++;
            used++;
        }
        return 0;
    }

    const Settings & s;
    llama_model *    model = nullptr;
    llama_context *  ctx   = nullptr;
    mtmd_context *   mtmd  = nullptr;
    llama_pos        past  = 0;
    size_t           used  = 0;
};

}  // namespace

int main(int argc, char ** argv) {
    const Settings settings = parse(argc, argv);
    report_signals();
    llama_log_set(on_log, nullptr);
    mtmd_helper_log_set(on_log, nullptr);
    Conversation conversation(settings);
    const double start    = now_s();
    int          failures = 0;
    for (long turn = 1; settings.turns == 0 || turn <= settings.turns; turn++) {
        if (settings.seconds > 0 && now_s() - start >= settings.seconds) break;
        if (settings.leak_kib > 0) {
            const size_t n = static_cast<size_t>(settings.leak_kib) << 10;
            memset(malloc(n), static_cast<int>(turn), n);  // on purpose, see above
        }
        if (turn == settings.crash_at) {
            volatile int * nowhere = nullptr;
            *nowhere               = 1;  // on purpose, see above
        }
        const bool   with_image = turn % 2 == 0;
        size_t       rows       = 0;
        const double began      = now_s();
        const int    rc         = conversation.turn(turn, with_image, rows);
        printf("{\"turn\":%ld,\"image\":%s,\"rc\":%d,\"rows\":%zu,\"seconds\":%.4f,\"conversation\":%ld}\n", turn,
               with_image ? "true" : "false", rc, rows, now_s() - began, conversation.conversations);
        fflush(stdout);
        failures = rc == 0 ? 0 : failures + 1;
        if (failures == MOST_FAILURES) {
            fprintf(stderr, "soak: %d turns in a row failed, the last with %d\n", failures, rc);
            return 3;
        }
    }
    return 0;
}
