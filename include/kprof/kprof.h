/* SPDX-License-Identifier: MIT */
/*
 * libkprof: trace events of programs. A program writes an event in a few nanoseconds into its own
 * memory, and the event is read through a kprofs mount (kptrace, events/). For C (GNU11) and C++
 * (C++11), gcc and clang, ELF. libkprof(3) is the manual page; link with -lkprof.
 *
 *	KPROF_EVENT(net, packet, "len %d from %s", len, name);
 *	KPROF_SPAN(net, request, "path %s", path);
 *	KPROF_COUNTER(net, connections, count);
 *
 * The following holds for all macros and functions here. They are thread-safe and
 * async-signal-safe, and may be used before main, after fork, in constructors, and in libraries
 * loaded by dlopen. They never block, print, end the program, or change errno, whether a server
 * runs or not. They return nothing: an event that could not be written is counted, and the counts
 * are in the mount (kpstat, events/overflow). The caller keeps the ownership of all arguments;
 * strings are copied before the call returns.
 *
 * Formats are those of printf, checked by the compiler, without %n, %m, %ls, %lc, positional
 * arguments and the flags ' and I. Width and precision are at most 4096, and above 256 (the
 * precision: of a number) they are shown as 256. A long double is stored as a double. There are at
 * most 16 arguments, including widths and precisions given by *. Arguments are evaluated only if
 * the event is on, and are stored unformatted. Strings are cut if the record would be larger than
 * 4096 bytes; a null pointer as a string is shown as (null).
 */
#ifndef KPROF_H
#define KPROF_H

#include <stdarg.h>
#include <stdint.h>

#include <kprof/span.h>

#if !defined(__GNUC__) || !defined(__ELF__)
#error "kprof.h needs gcc or clang and ELF"
#endif

#define KPROF_API_ __attribute__((visibility("default")))

/*
 * Functions that events call are bound when the program is loaded, and called without a PLT stub.
 * So even the first event in a signal handler does not run the dynamic linker.
 */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define KPROF_QUICK_API_ KPROF_API_ __attribute__((noplt))
#endif
#endif
#ifndef KPROF_QUICK_API_
#define KPROF_QUICK_API_ KPROF_API_
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * KPROF_EVENT(provider, name, format, args...)
 *
 * Defines a static event and writes it if it is on. Provider and name are bare words or string
 * literals of 1 to 100 of [A-Za-z0-9_.-], taken as written, without macro expansion; the format is
 * a string literal. Uses with the same provider, name and format are one event, with one switch:
 * the file events/provider:name of the mount. If a name has two formats, the one that the server
 * knew first is used; events with the other one stay off, and kperr reports it. An event with a
 * format that is not supported stays off too. An event is off until it is switched on. While it is
 * off, it costs one load and a predicted branch.
 */
#define KPROF_EVENT(provider, name, ...) \
	KPROF_EVENT_(KPROF_SITE_EVENT_, #provider, #name, __VA_ARGS__)

/*
 * KPROF_SPAN(provider, name, format, args...)
 *
 * Writes an event, and at the end of the enclosing block a second one with the time between both, if
 * the first was written. It is a declaration. Both are one event with one switch, as those of
 * KPROF_EVENT. The block can be left by return, break, goto or a C++ exception; if longjmp or the end
 * of the thread leaves it, the span has no end and is shown as open. Spans of a thread may be nested.
 */
#define KPROF_SPAN(provider, name, ...) \
	KPROF_SPAN_(KPROF_JOIN_(kprof_span_, __LINE__), KPROF_SPAN_BEGIN(provider, name, __VA_ARGS__))

/*
 * struct kprof_span span = KPROF_SPAN_BEGIN(provider, name, format, args...)
 * KPROF_SPAN_END(span)
 *
 * A span that begins in one function and ends in another, in the same thread. The caller keeps the
 * value, which may be copied. KPROF_SPAN_END does nothing if the begin was not written; it clears the
 * value, so that a second call does nothing.
 */
#define KPROF_SPAN_BEGIN(provider, name, ...) KPROF_SPAN_BEGIN_(#provider, #name, __VA_ARGS__)
#define KPROF_SPAN_END(span) kprof_span_end_of_(&(span))

/*
 * KPROF_COUNTER(provider, name, value)
 *
 * Writes the present value of a quantity, an integer or a floating-point number, as an event with one
 * switch. Viewers draw it as a line.
 */
#define KPROF_COUNTER(provider, name, value) KPROF_COUNTER_(#provider, #name, value)

/*
 * kprof_printf(format, args...)
 *
 * Writes a line of text for kptrace. It has no switch: it is on while a server is attached and
 * events/enabled is 1. A literal format is stored as an id, any other is copied into the record;
 * nothing is formatted in the program. kprof_printx is also controlled by the switch kprintx of the
 * mount. kprof_backtrace adds the return addresses of at most 32 callers, innermost first, as far
 * as frame pointers lead (-fno-omit-frame-pointer).
 */
#define kprof_printf(...) KPROF_PRINT_(KPROF_SITE_PRINTF_, __VA_ARGS__)
#define kprof_printx(...) KPROF_PRINT_(KPROF_SITE_PRINTX_, __VA_ARGS__)
#define kprof_backtrace(...) KPROF_PRINT_(KPROF_SITE_BACKTRACE_, __VA_ARGS__)

/*
 * As kprof_printf and kprof_printx, with the arguments as a va_list, which is not changed. The
 * format is always copied into the record.
 */
KPROF_API_ void kprof_vprintf(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));
KPROF_API_ void kprof_vprintx(const char *format, va_list args)
	__attribute__((format(printf, 1, 0)));

/* ---- below: the implementation of the macros; names that end in _ are private ---------------- */

/*
 * One use of an event. The fields are constants of the program, unless a comment says that the
 * library writes them.
 */
struct kprof_event {
	uint8_t on;	  /* written by the library: 0 off, 1 on, 2 on, before the first SWITCH; + 4 if
			     it is probed */
	uint8_t kind;	  /* KPROF_SITE_* */
	uint8_t args;	  /* number of arguments */
	uint8_t shape;	  /* written by the library: the kinds of the arguments */
	uint16_t id;	  /* written by the library */
	uint16_t version; /* KPROF_SITE_VERSION_ */
	const char *provider, *name, *format; /* format NULL: not a literal, not registered */
	const unsigned char *types; /* KPROF_TYPE_* of each argument, then 0 */
	void *entry;		    /* the library's */
	struct kprof_event *next;   /* the library's */
	uint32_t head;		    /* written by the library: flags and id, as in a record */
	uint32_t reserved32;
};

#define KPROF_SITE_VERSION_ 2
#define KPROF_SITE_EVENT_ 1
#define KPROF_SITE_PRINTF_ 2
#define KPROF_SITE_PRINTX_ 3
#define KPROF_SITE_BACKTRACE_ 4
#define KPROF_SITE_SPAN_ 5
#define KPROF_SITE_COUNTER_ 6
#define KPROF_TYPE_INT_ 1
#define KPROF_TYPE_DOUBLE_ 2
#define KPROF_TYPE_STRING_ 3
#define KPROF_TYPE_POINTER_ 4

/*
 * Writes an event that is on. `values` has one word for each argument; for a string, its address.
 */
KPROF_QUICK_API_ void kprof_write_(struct kprof_event *event, const uint64_t *values);
/* The same with one or two arguments, passed in registers. */
KPROF_QUICK_API_ void kprof_write_1_(struct kprof_event *event, uint64_t a);
KPROF_QUICK_API_ void kprof_write_2_(struct kprof_event *event, uint64_t a, uint64_t b);
/* Writes the begin of a span that is on, and sets *span. */
KPROF_QUICK_API_ void kprof_span_begin_(
	struct kprof_event *event, const uint64_t *values, struct kprof_span *span);
/* Writes the end of a span. */
KPROF_QUICK_API_ void kprof_span_end_(uint64_t begun, uint64_t head);
/* The same for KPROF_SITE_BACKTRACE_, with the return addresses of the callers. */
KPROF_API_ void kprof_write_stack_(struct kprof_event *event, const uint64_t *values);
/* Writes a line with a format that is not a literal, if the switches of `kind` are on. */
KPROF_API_ void kprof_print_(int kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The events of one executable or library; each has one such object. */
struct kprof_module {
	struct kprof_event **start, **stop;
	struct kprof_module *next; /* the library's */
	unsigned users;		   /* translation units whose constructor has run */
	unsigned version;
};
KPROF_API_ void kprof_module_add_(struct kprof_module *module);
KPROF_API_ void kprof_module_remove_(struct kprof_module *module);

extern struct kprof_event *__start_kprof_events[] __attribute__((weak, visibility("hidden")));
extern struct kprof_event *__stop_kprof_events[] __attribute__((weak, visibility("hidden")));
extern struct kprof_module kprof_module_this_ __attribute__((weak, visibility("hidden")));
#ifdef __cplusplus
struct kprof_module kprof_module_this_ = {0, 0, 0, 0, 0};
#else
struct kprof_module kprof_module_this_;
#endif

static void kprof_module_enter_(void) __attribute__((constructor(101), used));
static void kprof_module_enter_(void)
{
	struct kprof_module *module = &kprof_module_this_;

	if (module->users++ == 0) {
		module->start = __start_kprof_events;
		module->stop = __stop_kprof_events;
		module->version = KPROF_SITE_VERSION_;
		kprof_module_add_(module);
	}
}

static void kprof_module_leave_(void) __attribute__((destructor(101), used));
static void kprof_module_leave_(void)
{
	if (--kprof_module_this_.users == 0)
		kprof_module_remove_(&kprof_module_this_);
}

static inline void kprof_check_(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void kprof_check_(const char *format, ...)
{
	(void)format;
}

static inline void kprof_span_end_of_(struct kprof_span *span)
{
	if (__builtin_expect(span->begun != 0, 0)) {
		kprof_span_end_(span->begun, span->head);
		span->begun = 0;
	}
}

static inline uint64_t kprof_int_(long long value)
{
	return (uint64_t)value;
}
static inline uint64_t kprof_unsigned_(unsigned long long value)
{
	return value;
}
static inline uint64_t kprof_double_(double value)
{
	union {
		double value;
		uint64_t word;
	} both = {value};

	return both.word;
}
static inline uint64_t kprof_pointer_(const volatile void *value)
{
	return (uint64_t)(uintptr_t)value;
}

#ifdef __cplusplus
} /* extern "C" */

namespace kprof_detail
{
/* sizeof type(x) is the KPROF_TYPE of x */
char (&type(long double))[KPROF_TYPE_DOUBLE_];
char (&type(double))[KPROF_TYPE_DOUBLE_];
char (&type(float))[KPROF_TYPE_DOUBLE_];
char (&type(bool))[KPROF_TYPE_INT_];
char (&type(char))[KPROF_TYPE_INT_];
char (&type(signed char))[KPROF_TYPE_INT_];
char (&type(unsigned char))[KPROF_TYPE_INT_];
char (&type(short))[KPROF_TYPE_INT_];
char (&type(unsigned short))[KPROF_TYPE_INT_];
char (&type(int))[KPROF_TYPE_INT_];
char (&type(unsigned))[KPROF_TYPE_INT_];
char (&type(long))[KPROF_TYPE_INT_];
char (&type(unsigned long))[KPROF_TYPE_INT_];
char (&type(long long))[KPROF_TYPE_INT_];
char (&type(unsigned long long))[KPROF_TYPE_INT_];
char (&type(const char *))[KPROF_TYPE_STRING_];
char (&type(const signed char *))[KPROF_TYPE_STRING_];
char (&type(const unsigned char *))[KPROF_TYPE_STRING_];
char (&type(const volatile void *))[KPROF_TYPE_POINTER_];

inline uint64_t value(long double v) { return kprof_double_((double)v); }
inline uint64_t value(double v) { return kprof_double_(v); }
inline uint64_t value(float v) { return kprof_double_(v); }
inline uint64_t value(bool v) { return kprof_unsigned_(v); }
inline uint64_t value(char v) { return kprof_int_(v); }
inline uint64_t value(signed char v) { return kprof_int_(v); }
inline uint64_t value(unsigned char v) { return kprof_unsigned_(v); }
inline uint64_t value(short v) { return kprof_int_(v); }
inline uint64_t value(unsigned short v) { return kprof_unsigned_(v); }
inline uint64_t value(int v) { return kprof_int_(v); }
inline uint64_t value(unsigned v) { return kprof_unsigned_(v); }
inline uint64_t value(long v) { return kprof_int_(v); }
inline uint64_t value(unsigned long v) { return kprof_unsigned_(v); }
inline uint64_t value(long long v) { return kprof_int_(v); }
inline uint64_t value(unsigned long long v) { return kprof_unsigned_(v); }
inline uint64_t value(const volatile void *v) { return kprof_pointer_(v); }

/* sizeof format(x) says how the value x of a counter is shown: KPROF_COUNTER_FORMATS_. */
char (&format(long double))[1];
char (&format(double))[1];
char (&format(float))[1];
char (&format(bool))[2];
char (&format(unsigned char))[2];
char (&format(unsigned short))[2];
char (&format(unsigned))[2];
char (&format(unsigned long))[2];
char (&format(unsigned long long))[2];
char (&format(char))[3];
char (&format(signed char))[3];
char (&format(short))[3];
char (&format(int))[3];
char (&format(long))[3];
char (&format(long long))[3];

/* A span that ends with its scope. */
class span_scope
{
	struct kprof_span span;

      public:
	explicit span_scope(const struct kprof_span &begun) : span(begun) {}
	span_scope(const span_scope &) = delete;
	span_scope &operator=(const span_scope &) = delete;
	~span_scope() { kprof_span_end_of_(&span); }
};

/*
 * The event of one use, identified by `Site`, a local class. A template, because a static variable
 * of an inline function cannot be put into a section; hidden, so that its address is a constant of
 * this library. Defined for each instance with the types of that instance.
 */
template <class Site> struct __attribute__((visibility("hidden"))) event_of {
	static struct kprof_event it;
};
template <class Site>
struct kprof_event event_of<Site>::it = {0, Site::kind(), Site::args(), 0, 0, KPROF_SITE_VERSION_,
	Site::provider(), Site::name(), Site::format(), Site::types(), 0, 0, 0, 0};
} // namespace kprof_detail

#define KPROF_TYPE_(x) sizeof(::kprof_detail::type(x)),
#define KPROF_VALUE_(x) ::kprof_detail::value(x),
#if defined(__x86_64__) || defined(__i386__)
#define KPROF_SYMBOL_ "i"
#else
#define KPROF_SYMBOL_ "S"
#endif
#if __SIZEOF_POINTER__ == 8
#define KPROF_WORD_ ".quad"
#else
#define KPROF_WORD_ ".long"
#endif
#define KPROF_CONSTANT_ constexpr
#define KPROF_SPAN_(variable_, span_) ::kprof_detail::span_scope variable_(span_)
#define KPROF_COUNTER_FORMAT_(x) \
	(sizeof(::kprof_detail::format(x)) == 1 ? "%.15g" : \
			sizeof(::kprof_detail::format(x)) == 2 ? "%llu" : "%lld")
#define KPROF_DEFINE_(kind_, provider_, name_, format_, ...) \
	static constexpr unsigned char kprof_types_[] = {KPROF_MAP_(KPROF_TYPE_, __VA_ARGS__) 0}; \
	struct kprof_site_ { \
		static constexpr uint8_t kind() { return kind_; } \
		static constexpr uint8_t args() { return KPROF_COUNT_(__VA_ARGS__); } \
		static constexpr const char *provider() { return provider_; } \
		static constexpr const char *name() { return name_; } \
		static constexpr const char *format() { return format_; } \
		static constexpr const unsigned char *types() { return kprof_types_; } \
	}; \
	struct kprof_event *const kprof_event_ = &::kprof_detail::event_of<kprof_site_>::it;
#define KPROF_REGISTER_ \
	__asm__ volatile(".pushsection kprof_events,\"aw?\",@progbits\n\t.balign 8\n\t" KPROF_WORD_ \
			 " %c0\n\t.popsection" \
			 : \
			 : KPROF_SYMBOL_(&::kprof_detail::event_of<kprof_site_>::it));
#else
/* 1 ? x : x has the type of x in an expression, even if x is a bit-field or an array */
#define KPROF_TYPE_(x) \
	_Generic(1 ? (x) : (x), _Bool: KPROF_TYPE_INT_, char: KPROF_TYPE_INT_, signed char: KPROF_TYPE_INT_, \
		unsigned char: KPROF_TYPE_INT_, short: KPROF_TYPE_INT_, \
		unsigned short: KPROF_TYPE_INT_, int: KPROF_TYPE_INT_, unsigned: KPROF_TYPE_INT_, \
		long: KPROF_TYPE_INT_, unsigned long: KPROF_TYPE_INT_, long long: KPROF_TYPE_INT_, \
		unsigned long long: KPROF_TYPE_INT_, float: KPROF_TYPE_DOUBLE_, \
		double: KPROF_TYPE_DOUBLE_, long double: KPROF_TYPE_DOUBLE_, \
		char *: KPROF_TYPE_STRING_, const char *: KPROF_TYPE_STRING_, \
		signed char *: KPROF_TYPE_STRING_, const signed char *: KPROF_TYPE_STRING_, \
		unsigned char *: KPROF_TYPE_STRING_, const unsigned char *: KPROF_TYPE_STRING_, \
		default: KPROF_TYPE_POINTER_),
#define KPROF_VALUE_(x) \
	_Generic(1 ? (x) : (x), _Bool: kprof_unsigned_, char: kprof_int_, signed char: kprof_int_, \
		unsigned char: kprof_unsigned_, short: kprof_int_, unsigned short: kprof_unsigned_, \
		int: kprof_int_, unsigned: kprof_unsigned_, long: kprof_int_, \
		unsigned long: kprof_unsigned_, long long: kprof_int_, \
		unsigned long long: kprof_unsigned_, float: kprof_double_, double: kprof_double_, \
		long double: kprof_double_, default: kprof_pointer_)(x),
#define KPROF_CONSTANT_
#define KPROF_SPAN_(variable_, span_) \
	struct kprof_span variable_ __attribute__((cleanup(kprof_span_end_of_), unused)) = span_
#define KPROF_COUNTER_FORMAT_(x) \
	_Generic(1 ? (x) : (x), float: "%.15g", double: "%.15g", long double: "%.15g", \
		_Bool: "%llu", unsigned char: "%llu", unsigned short: "%llu", unsigned: "%llu", \
		unsigned long: "%llu", unsigned long long: "%llu", char: "%lld", signed char: "%lld", \
		short: "%lld", int: "%lld", long: "%lld", long long: "%lld")
#define KPROF_DEFINE_(kind_, provider_, name_, format_, ...) \
	static const unsigned char kprof_types_[] = {KPROF_MAP_(KPROF_TYPE_, __VA_ARGS__) 0}; \
	static struct kprof_event kprof_site_ = {.kind = kind_, \
		.args = KPROF_COUNT_(__VA_ARGS__), .version = KPROF_SITE_VERSION_, \
		.provider = provider_, .name = name_, .format = format_, .types = kprof_types_}; \
	struct kprof_event *const kprof_event_ = &kprof_site_; \
	static struct kprof_event *kprof_pointer_to_site_ \
		__attribute__((section("kprof_events"), used)) = &kprof_site_;
#define KPROF_REGISTER_
#endif

#define KPROF_IF_ON_(kind_, ...) \
	if (__builtin_expect(__atomic_load_n(&kprof_event_->on, __ATOMIC_RELAXED), 0)) { \
		const uint64_t kprof_values_[] = {KPROF_MAP_(KPROF_VALUE_, __VA_ARGS__) 0}; \
		KPROF_REGISTER_ \
		if (kind_ == KPROF_SITE_BACKTRACE_) \
			kprof_write_stack_(kprof_event_, kprof_values_); \
		else if (KPROF_COUNT_(__VA_ARGS__) == 1) \
			kprof_write_1_(kprof_event_, kprof_values_[0]); \
		else if (KPROF_COUNT_(__VA_ARGS__) == 2) \
			kprof_write_2_(kprof_event_, kprof_values_[0], \
				kprof_values_[KPROF_COUNT_(__VA_ARGS__) / 2]); /* [1] if there are two */ \
		else \
			kprof_write_(kprof_event_, kprof_values_); \
	}

/* In both, ... is the format and the arguments. "" x "" is valid only for a literal. */
#define KPROF_EVENT_(kind_, provider_, name_, ...) \
	do { \
		KPROF_DEFINE_(kind_, provider_, name_, "" KPROF_FORMAT_(__VA_ARGS__) "", __VA_ARGS__) \
		if (0) \
			kprof_check_(__VA_ARGS__); \
		KPROF_IF_ON_(kind_, __VA_ARGS__) \
	} while (0)

#define KPROF_SPAN_BEGIN_(provider_, name_, ...) \
	(__extension__({ \
		struct kprof_span kprof_begun_ = {0, 0}; \
		KPROF_DEFINE_(KPROF_SITE_SPAN_, provider_, name_, "" KPROF_FORMAT_(__VA_ARGS__) "", \
			__VA_ARGS__) \
		if (0) \
			kprof_check_(__VA_ARGS__); \
		if (__builtin_expect(__atomic_load_n(&kprof_event_->on, __ATOMIC_RELAXED), 0)) { \
			const uint64_t kprof_values_[] = {KPROF_MAP_(KPROF_VALUE_, __VA_ARGS__) 0}; \
			KPROF_REGISTER_ \
			kprof_span_begin_(kprof_event_, kprof_values_, &kprof_begun_); \
		} \
		kprof_begun_; \
	}))

#define KPROF_COUNTER_(provider_, name_, value_) \
	do { \
		static KPROF_CONSTANT_ const char *const kprof_format_ = KPROF_COUNTER_FORMAT_(value_); \
		(void)kprof_format_; \
		KPROF_DEFINE_(KPROF_SITE_COUNTER_, provider_, name_, KPROF_COUNTER_TEXT_(value_), 0, \
			value_) \
		KPROF_IF_ON_(KPROF_SITE_COUNTER_, 0, value_) \
	} while (0)

#define KPROF_PRINT_(kind_, ...) \
	do { \
		static KPROF_CONSTANT_ const char *const kprof_format_ = \
			__builtin_constant_p(KPROF_FORMAT_(__VA_ARGS__)) ? \
				KPROF_FORMAT_(__VA_ARGS__) : 0; \
		KPROF_DEFINE_(kind_, "", "", KPROF_LITERAL_(KPROF_FORMAT_(__VA_ARGS__)), __VA_ARGS__) \
		if (0) \
			kprof_check_(__VA_ARGS__); \
		if (!kprof_format_) \
			kprof_print_(kind_, __VA_ARGS__); \
		else \
			KPROF_IF_ON_(kind_, __VA_ARGS__) \
	} while (0)

#ifdef __cplusplus
#define KPROF_LITERAL_(format_) kprof_format_
#define KPROF_COUNTER_TEXT_(value_) kprof_format_
#else
#define KPROF_LITERAL_(format_) __builtin_constant_p(format_) ? (format_) : 0
#define KPROF_COUNTER_TEXT_(value_) KPROF_COUNTER_FORMAT_(value_)
#endif

/*
 * for (f, a, b), where f is the format: KPROF_COUNT_ is 2, KPROF_MAP_(M_, f, a, b) is M_(a) M_(b)
 */
#define KPROF_FORMAT_(...) KPROF_FIRST_(__VA_ARGS__, 0)
#define KPROF_FIRST_(first, ...) first
#define KPROF_COUNT_(...) \
	KPROF_18TH_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define KPROF_18TH_(z, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define KPROF_MAP_(macro, ...) \
	KPROF_JOIN_(KPROF_MAP_, KPROF_COUNT_(__VA_ARGS__))(macro, __VA_ARGS__)
#define KPROF_JOIN_(a, b) KPROF_JOIN2_(a, b)
#define KPROF_JOIN2_(a, b) a##b##_
#define KPROF_MAP_0_(m, f)
#define KPROF_MAP_1_(m, f, a) m(a)
#define KPROF_MAP_2_(m, f, a, ...) m(a) KPROF_MAP_1_(m, f, __VA_ARGS__)
#define KPROF_MAP_3_(m, f, a, ...) m(a) KPROF_MAP_2_(m, f, __VA_ARGS__)
#define KPROF_MAP_4_(m, f, a, ...) m(a) KPROF_MAP_3_(m, f, __VA_ARGS__)
#define KPROF_MAP_5_(m, f, a, ...) m(a) KPROF_MAP_4_(m, f, __VA_ARGS__)
#define KPROF_MAP_6_(m, f, a, ...) m(a) KPROF_MAP_5_(m, f, __VA_ARGS__)
#define KPROF_MAP_7_(m, f, a, ...) m(a) KPROF_MAP_6_(m, f, __VA_ARGS__)
#define KPROF_MAP_8_(m, f, a, ...) m(a) KPROF_MAP_7_(m, f, __VA_ARGS__)
#define KPROF_MAP_9_(m, f, a, ...) m(a) KPROF_MAP_8_(m, f, __VA_ARGS__)
#define KPROF_MAP_10_(m, f, a, ...) m(a) KPROF_MAP_9_(m, f, __VA_ARGS__)
#define KPROF_MAP_11_(m, f, a, ...) m(a) KPROF_MAP_10_(m, f, __VA_ARGS__)
#define KPROF_MAP_12_(m, f, a, ...) m(a) KPROF_MAP_11_(m, f, __VA_ARGS__)
#define KPROF_MAP_13_(m, f, a, ...) m(a) KPROF_MAP_12_(m, f, __VA_ARGS__)
#define KPROF_MAP_14_(m, f, a, ...) m(a) KPROF_MAP_13_(m, f, __VA_ARGS__)
#define KPROF_MAP_15_(m, f, a, ...) m(a) KPROF_MAP_14_(m, f, __VA_ARGS__)
#define KPROF_MAP_16_(m, f, a, ...) m(a) KPROF_MAP_15_(m, f, __VA_ARGS__)

#endif
