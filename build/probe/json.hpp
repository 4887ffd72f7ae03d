// JSON out, one object a line. Only what the program needs: no reader, no nesting it does not use.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

namespace probe {

// A string literal of JSON. Bytes that are no valid UTF-8 (a log line may hold any) become U+FFFD.
inline std::string quoted(const std::string & text) {
    std::string out = "\"";
    const auto  n   = text.size();
    for (size_t i = 0; i < n;) {
        const auto c = static_cast<unsigned char>(text[i]);
        if (c < 0x80) {
            char escape[8];
            switch (c) {
                case '"':  out += "\\\""; break;
                case '\\': out += "\\\\"; break;
                case '\n': out += "\\n";  break;
                default:
                    if (c < 0x20 || c == 0x7f) {
                        snprintf(escape, sizeof(escape), "\\u%04x", c);
                        out += escape;
                    } else {
                        out += static_cast<char>(c);
                    }
            }
            i += 1;
            continue;
        }
        const size_t len = c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 0;
        bool valid = len > 0 && i + len <= n;
        for (size_t k = 1; valid && k < len; ++k) {
            valid = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
        }
        if (valid && len > 2) {
            // overlong forms, surrogates, and what lies behind U+10FFFF
            const auto d = static_cast<unsigned char>(text[i + 1]);
            valid = !(c == 0xe0 && d < 0xa0) && !(c == 0xed && d > 0x9f) && !(c == 0xf0 && d < 0x90) &&
                    !(c == 0xf4 && d > 0x8f);
        }
        if (valid) {
            out.append(text, i, len);
            i += len;
        } else {
            out += "\\ufffd";
            i += 1;
        }
    }
    return out + "\"";
}

// An object under construction; keys in the order of the calls.
class Object {
public:
    Object & raw(const std::string & key, const std::string & json) {
        body += (body.empty() ? "" : ",") + quoted(key) + ":" + json;
        return *this;
    }

    Object & put(const std::string & key, const std::string & text) { return raw(key, quoted(text)); }

    Object & put(const std::string & key, const char * text) { return raw(key, quoted(text)); }

    Object & put(const std::string & key, bool value) { return raw(key, value ? "true" : "false"); }

    template <typename T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Object & put(const std::string & key, T value) {
        return raw(key, std::to_string(value));
    }

    // Not a number has no JSON: it becomes a string that a reader can't mistake for a small one.
    Object & put(const std::string & key, double value) {
        char text[40];
        snprintf(text, sizeof(text), "%.9g", value);
        return std::isfinite(value) ? raw(key, text) : put(key, std::string(text));
    }

    std::string str() const { return "{" + body + "}"; }

private:
    std::string body;
};

inline std::string array(const std::vector<std::string> & items) {
    std::string out = "[";
    for (const auto & item : items) {
        out += (out.size() > 1 ? "," : "") + item;
    }
    return out + "]";
}

// FNV-1a: tells equal bytes from others, where a file holds the bytes themselves.
class Digest {
public:
    void add(const void * data, size_t n) {
        const auto * p = static_cast<const unsigned char *>(data);
        for (size_t i = 0; i < n; ++i) {
            state = (state ^ p[i]) * 0x100000001b3ULL;
        }
    }

    std::string hex() const {
        char text[20];
        snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(state));
        return text;
    }

private:
    uint64_t state = 0xcbf29ce484222325ULL;
};

}  // namespace probe
