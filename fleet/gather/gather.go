// SPDX-License-Identifier: Apache-2.0

// Package gather decides which machine and which memory domain an arriving application goes to: onto as few of both as possible, but a
// memory-intensive application shares a domain only with those of very low intensity.
//
// The rule is policy/domains/arrive.h of Lopsided, called through cgo; what is here counts and converts. The headers are links into policy/, as the go
// command notices changes in the folder of a package only.
package gather

// #cgo CFLAGS: -std=c11 -O2
// #include "rule.h"
import "C"

import (
	"fmt"
	"slices"
	"time"
	"unsafe"
)

// Class says how much others feel of an application's use of the memory that a domain shares.
type Class uint8

// A class that is not known counts as intensive.
const (
	Unknown   Class = C.LOP_MEMORY_UNKNOWN
	VeryLow   Class = C.LOP_MEMORY_VERY_LOW  // below 0.1 misses of the last-level cache per 1,000 instructions
	Moderate  Class = C.LOP_MEMORY_MODERATE  // up to 1
	Intensive Class = C.LOP_MEMORY_INTENSIVE // above
)

func (c Class) String() string {
	if int(c) >= len(classNames) {
		return fmt.Sprintf("class %d", uint8(c))
	}
	return classNames[c]
}

var classNames = [...]string{Unknown: "unknown", VeryLow: "very low", Moderate: "moderate", Intensive: "intensive"}

// Intensity is what is known of an application's use of memory. The zero value: nothing.
type Intensity struct {
	MPMI     uint32        // misses of the last-level cache per million instructions
	Measured time.Duration // for how long counters were read; they count from one second on
	Declared Class         // goes before what was measured
}

func (i Intensity) c() C.struct_lop_intensity {
	return C.struct_lop_intensity{
		measured_ns: C.u64(max(i.Measured, 0)),
		mpmi:        C.u32(i.MPMI),
		declared:    C.u8(i.Declared),
	}
}

// Class is what the intensity counts as.
func (i Intensity) Class() Class {
	c := i.c()
	return Class(C.lop_memory_class(&c))
}

// Application is what arrives. It runs in one memory domain.
type Application struct {
	MilliCPU  uint32 // what it asks for, 1000 for each core
	Intensity Intensity
}

func (a Application) thread() C.struct_lop_thread {
	i := a.Intensity.c()
	return C.struct_lop_thread{
		mpmi:            C.lop_planned_mpmi(&i),
		demand_permille: C.u32(a.MilliCPU),
		domain:          C.LOP_NONE,
		wanted:          C.LOP_NONE,
		memory:          C.u8(C.lop_memory_class(&i)),
	}
}

// Machine is the memory domains of a machine, and the applications in them. Several goroutines may ask it at a time; one may change it.
type Machine struct {
	off     bool
	domains []C.struct_lop_domain_load
	there   []C.struct_lop_thread // those in the first domain, then those in the second, and so on
}

// NewMachine makes an empty machine that is on. For each of its memory domains: what applications may ask for there, 1000 for each core.
func NewMachine(milliCPU ...uint32) *Machine {
	m := &Machine{domains: make([]C.struct_lop_domain_load, len(milliCPU))}
	for n, capacity := range milliCPU {
		m.domains[n].capacity_permille = C.u32(capacity)
	}
	m.noteState()
	return m
}

// SetOff says that the machine is off, or on again. One that is off has no applications.
func (m *Machine) SetOff(off bool) {
	m.off = off
	m.noteState()
}

// Empty says whether no application is there.
func (m *Machine) Empty() bool { return len(m.there) == 0 }

// Domains is how many memory domains the machine has.
func (m *Machine) Domains() int { return len(m.domains) }

// Add puts an application into a domain, whether it fits there or not.
func (m *Machine) Add(domain int, a Application) {
	t := a.thread()
	_, end := m.span(domain)
	m.there = slices.Insert(m.there, end, t)
	C.lop_count_arrived(&m.domains[domain], &t)
	m.noteState()
}

// Remove takes an application like this one out of a domain. False: there is none.
func (m *Machine) Remove(domain int, a Application) bool {
	first, end := m.span(domain)
	found := slices.Index(m.there[first:end], a.thread())
	if found < 0 {
		return false
	}
	m.there = slices.Delete(m.there, first+found, first+found+1)
	d := &m.domains[domain]
	*d = C.struct_lop_domain_load{capacity_permille: d.capacity_permille}
	for n := first; n < end-1; n++ {
		C.lop_count_arrived(d, &m.there[n])
	}
	m.noteState()
	return true
}

// span is where the applications of a domain are in there.
func (m *Machine) span(domain int) (first, end int) {
	for _, d := range m.domains[:domain] {
		first += int(d.applications)
	}
	return first, first + int(m.domains[domain].applications)
}

func (m *Machine) noteState() {
	state := C.u8(C.LOP_NODE_USED)
	switch {
	case m.off:
		state = C.LOP_NODE_OFF
	case m.Empty():
		state = C.LOP_NODE_EMPTY
	}
	for n := range m.domains {
		m.domains[n].node = state
	}
}

// Fit is how well an application fits into a memory domain. The zero value: not at all.
type Fit struct{ c C.struct_lop_fit }

// Fits says whether there is room.
func (f Fit) Fits() bool { return bool(f.c.room) }

// Apart says whether intensive applications stay apart there from all but those of very low intensity, and nobody is predicted to take more than
// 5 % longer than alone.
func (f Fit) Apart() bool { return bool(f.c.apart) }

// Better says whether the application fits better here than there. Fits of different applications do not compare.
func (f Fit) Better(there Fit) bool { return bool(C.lop_fits_better(&f.c, &there.c)) }

// Place finds the domain of the machine that the application fits into best, of equals the first; there is none if the fit says so.
func (m *Machine) Place(a Application) (domain int, fit Fit) {
	t := a.thread()
	domain = m.better(&fit.c, &t)
	return domain, fit
}

// better is the domain that fits better than the best so far, which it then becomes; negative if there is none.
func (m *Machine) better(best *C.struct_lop_fit, t *C.struct_lop_thread) int {
	return int(C.better_domain(best, unsafe.SliceData(m.domains), C.u32(len(m.domains)), unsafe.SliceData(m.there), t))
}

// Place finds the machine and its domain that the application fits into best, of equals the first. Not ok: no domain has room for it.
func Place(machines []*Machine, a Application) (machine, domain int, ok bool) {
	var best C.struct_lop_fit
	t := a.thread()
	for n, m := range machines {
		if better := m.better(&best, &t); better >= 0 {
			machine, domain, ok = n, better, true
		}
	}
	return machine, domain, ok
}
