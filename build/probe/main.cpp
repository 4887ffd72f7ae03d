// The image-prefill check program.
//
//   probe --model FILE [--mmproj FILE] [--picture FILE] --jobs FILE --out DIR [--skip N] [--memory-mib N]
//
// Each line of the jobs file is a scenario and its settings: "image n_ubatch=512 geometry=rows".
// For each job two lines of JSON go to stdout: {"begin":N} and the result. When the core crashes or
// hangs, the last "begin" names the job; start again with --skip N+1. Lines that the core itself prints
// there never start in the middle of ours.
#include "json.hpp"
#include "scenario.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace probe {

namespace {

std::string vision_library() {
#ifdef PROBE_MTMD
    return loaded_from(reinterpret_cast<const void *>(&mtmd_tokenize));
#else
    return "";
#endif
}

std::string fact_json(const Fact & fact) {
    Object out;
    out.put("name", fact.name).put("holds", fact.holds());
    if (fact.returned) out.put("returned", *fact.returned);
    if (fact.expected) out.put("expected", *fact.expected);
    if (fact.diff) out.put("diff", *fact.diff);
    if (fact.limit) out.put("limit", *fact.limit);
    if (fact.count) out.put("count", *fact.count);
    if (fact.expected_count) out.put("expected_count", *fact.expected_count);
    if (!fact.note.empty()) out.put("note", fact.note);
    return out.str();
}

std::string logits_json(const std::vector<Logits> & logits, const std::string & path) {
    Digest        digest;
    size_t        n = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    for (const auto & one : logits) {
        digest.add(one.data(), one.size() * sizeof(float));
        file.write(reinterpret_cast<const char *>(one.data()), static_cast<std::streamsize>(one.size() * sizeof(float)));
        n += one.size();
    }
    file.close();
    if (!file) {
        throw std::runtime_error("cannot write " + path);
    }
    return Object().put("digest", digest.hex()).put("count", n).put("file", path).str();
}

Object run_job(const Job & job, int number, Model & model, const std::map<std::string, Scenario> & all,
                    const std::string & out_dir) {
    Run    run{ job, model, {}, {}, 0, false, "", 0, {}, "" };
    Object out;
    out.put("job", number).put("scenario", job.scenario);
    the_log().reset();
    const auto  start = std::chrono::steady_clock::now();
    const auto  found = all.find(job.scenario);
    std::string error;
    try {
        if (found == all.end()) {
            throw std::runtime_error("no scenario of that name");
        }
        found->second(run);
    } catch (const std::exception & e) {
        error = e.what();
        error = error.empty() ? "an exception without a text" : error;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

    std::vector<std::string> warnings;
    for (const auto & w : the_log().warnings) {
        warnings.push_back(
            array({ std::to_string(w.position), std::to_string(w.after), std::to_string(w.sequence), std::to_string(w.n_tokens) }));
    }
    std::vector<std::string> others;
    for (const auto & line : the_log().others) {
        others.push_back(quoted(line));
    }
    std::vector<std::string> facts;
    for (const auto & fact : run.facts) {
        facts.push_back(fact_json(fact));
    }
    std::vector<std::string> codes;
    for (const int code : run.codes) {
        codes.push_back(std::to_string(code));
    }
    if (!run.fuzz.empty()) {
        out.raw("fuzz", run.fuzz);
    }
    return out.put("error", error)
        .raw("codes", array(codes))
        .raw("warnings", array(warnings))
        .raw("others", array(others))
        .raw("facts", array(facts))
        .put("with_image", run.with_image)
        .put("image_rows", run.image_rows)
        .put("memory_class", run.memory_class)
        .put("snapshots", run.snapshots)
        .raw("logits", logits_json(run.logits, out_dir + "/" + std::to_string(number) + ".f32"))
        .put("library", loaded_from(reinterpret_cast<const void *>(&llama_decode)))
        .put("vision_library", vision_library())
        .put("seconds", seconds.count());
}

void say(const Object & object) {
    std::cout << "\n" << object.str() << std::endl;
}

// The core may take so much memory and no more; a leak then ends this process, not the machine.
void limit_memory(unsigned long mib) {
    const rlim_t bytes = static_cast<rlim_t>(mib) << 20;
    const rlimit limit = { bytes, bytes };
    if (setrlimit(RLIMIT_AS, &limit) != 0) {
        throw std::runtime_error("cannot limit the memory");
    }
}

std::vector<Job> read_jobs(const std::string & path) {
    std::ifstream    file(path);
    std::vector<Job> jobs;
    std::string      line;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        Job                job;
        words >> job.scenario;
        for (std::string word; words >> word;) {
            const auto at = word.find('=');
            if (at == std::string::npos) {
                throw std::runtime_error("not a setting: " + word);
            }
            job.settings[word.substr(0, at)] = word.substr(at + 1);
        }
        jobs.push_back(job);
    }
    if (jobs.empty()) {
        throw std::runtime_error("no jobs in " + path);
    }
    return jobs;
}

int run(const std::map<std::string, std::string> & options) {
    const auto option = [&](const std::string & name) {
        const auto found = options.find(name);
        return found == options.end() ? std::string() : found->second;
    };
    if (!option("--memory-mib").empty()) {
        limit_memory(std::stoul(option("--memory-mib")));
    }
    const rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    capture_log();
    llama_backend_init();
    {
        Model model(option("--model"), option("--mmproj"));
#ifdef PROBE_MTMD
        if (!option("--picture").empty()) {
            model.use_picture(option("--picture"));
        }
#endif
        std::map<std::string, Scenario> all;
        add_prefill_scenarios(all);
        add_state_scenarios(all);
        add_rollback_scenarios(all);
        add_break_scenarios(all);
        add_fuzz_scenarios(all);
        const auto   jobs = read_jobs(option("--jobs"));
        const size_t skip = option("--skip").empty() ? 0 : std::stoul(option("--skip"));
        for (size_t i = skip; i < jobs.size(); ++i) {
            std::cerr << "\nprobe: run " << i << std::endl;  // whose lines follow here
            say(Object().put("begin", i));
            say(run_job(jobs[i], static_cast<int>(i), model, all, option("--out")));
        }
    }
    say(Object().put("end", true));
    llama_backend_free();
    return 0;
}

}  // namespace

}  // namespace probe

int main(int argc, char ** argv) {
    std::map<std::string, std::string> options;
    for (int i = 1; i + 1 < argc; i += 2) {
        options[argv[i]] = argv[i + 1];
    }
    try {
        return probe::run(options);
    } catch (const std::exception & e) {
        probe::say(probe::Object().put("fatal", std::string(e.what())));
        return 9;
    }
}
