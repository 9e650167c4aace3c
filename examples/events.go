// SPDX-License-Identifier: MIT

// events.go: a Go program that writes events with libkprof's typed calls (libkprof(3)).
//
//	go build events.go && ./events
//
// Calling C costs Go some 50 ns. Strings are copied to C memory; so ask IsOn first where that counts.
package main

/*
#cgo LDFLAGS: -lkprof
#include <stdlib.h>
#include <kprof/typed.h>
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Event is switched by the file events/PROVIDER:NAME of the mount.
type Event struct{ handle *C.struct_kprof_event }

// Define makes an event, or finds the one that was made with the same strings.
func Define(provider, name, format string) (Event, error) {
	var event Event
	p, n, f := C.CString(provider), C.CString(name), C.CString(format)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(f))
	if ret := C.kprof_typed_define(p, n, f, &event.handle); ret != 0 {
		return event, syscall.Errno(-ret)
	}
	return event, nil
}

// IsOn tells whether Write writes anything.
func (e Event) IsOn() bool { return C.kprof_typed_is_on(e.handle) != 0 }

// Write writes the event if it is on. Values are int, float64 or string.
func (e Event) Write(values ...any) error {
	if !e.IsOn() {
		return nil
	}
	array := make([]C.struct_kprof_value, len(values)+1)
	for i, value := range values {
		word := (*uint64)(unsafe.Pointer(&array[i].as))
		switch v := value.(type) {
		case int:
			array[i]._type, *word = C.KPROF_VALUE_INT, uint64(v)
		case float64:
			array[i]._type, *word = C.KPROF_VALUE_DOUBLE, math.Float64bits(v)
		case string:
			text := C.CString(v)
			defer C.free(unsafe.Pointer(text))
			array[i]._type, *word = C.KPROF_VALUE_STRING, uint64(uintptr(unsafe.Pointer(text)))
		default:
			return fmt.Errorf("not an int, float64 or string: %v", v)
		}
	}
	if ret := C.kprof_typed_write(e.handle, &array[0], C.size_t(len(values))); ret != 0 {
		return syscall.Errno(-ret)
	}
	return nil
}

// Puts writes a line of text.
func Puts(text string) {
	t := C.CString(text)
	defer C.free(unsafe.Pointer(t))
	C.kprof_puts(t)
}

func main() {
	event, err := Define("example", "go", "number %ld, %.2f, %s")
	for i := 0; i < 1000 && err == nil && !event.IsOn(); i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		err = event.Write(1, 2.5, "three")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Puts("hello from Go")
}
