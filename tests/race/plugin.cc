/* SPDX-License-Identifier: MIT */
/* A library with events, in C++: in a template, an inline function, a method and a lambda. */
#include <kprof/kprof.h>
#include <kprof/typed.h>

template <class T> static void templated(T value)
{
	KPROF_EVENT(plugin, templated, "%d", (int)value);
}

inline void inlined(int value)
{
	KPROF_EVENT(plugin, inlined, "%d %s", value, "in");
}

struct thing {
	int value;
	bool flag;
	void method()
	{
		KPROF_EVENT(plugin, method, "%d %d", value, flag);
	}
};

extern "C" __attribute__((visibility("default"))) void plugin_call(int value)
{
	templated(value);
	templated((long)value);
	inlined(value);
	thing one = {value, true};
	one.method();
	auto lambda = [&] { KPROF_EVENT(plugin, lambda, "%d %f", value, 2.5); };
	lambda();
	kprof_printf("plugin %d", value);
}
