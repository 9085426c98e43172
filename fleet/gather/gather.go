// SPDX-License-Identifier: Apache-2.0

// Package gather decides which machine and which memory domain an arriving application goes to. It uses as few of both
// as possible, but puts a memory-intensive application only beside those of very low intensity.
//
// The rule is policy/domains/arrive.h of Lopsided, called through cgo; this package counts and converts. The headers
// are links into policy/, since the go command notices changes only in the folder of a package.
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

// Class says how much other applications feel of an application's use of the memory that a domain shares.
type Class uint8

// An unknown class counts as intensive.
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

// Intensity is what is known of an application's use of memory. The zero value means that nothing is known.
type Intensity struct {
	MPMI     uint32        // misses of the last-level cache per million instructions
	Measured time.Duration // for how long counters were read; readings count from one second on
	Declared Class         // counts until a second was measured
}

func (i Intensity) c() C.struct_lop_intensity {
	return C.struct_lop_intensity{
		measured_ns: C.u64(max(i.Measured, 0)),
		mpmi:        C.u32(i.MPMI),
		declared:    C.u8(i.Declared),
	}
}

// Class is the class that the intensity stands for.
func (i Intensity) Class() Class {
	c := i.c()
	return Class(C.lop_memory_class(&c))
}

// Application is one that arrives. It runs in one memory domain.
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
		wanted_domain:   C.LOP_NONE,
		memory:          C.u8(C.lop_memory_class(&i)),
	}
}

// Machine is a machine's memory domains and the applications in them. Several goroutines may query it at the same time,
// while none changes it.
type Machine struct {
	off     bool
	domains []C.struct_lop_domain_load
	there   []C.struct_lop_thread // applications of the first domain, then of the second, and so on
}

// NewMachine makes an empty machine that is on. For each memory domain milliCPU says what applications may ask for
// there in all, 1000 for each core.
func NewMachine(milliCPU ...uint32) *Machine {
	m := &Machine{domains: make([]C.struct_lop_domain_load, len(milliCPU))}
	for n, capacity := range milliCPU {
		m.domains[n].capacity_permille = C.u32(capacity)
	}
	m.noteState()
	return m
}

// SetOff notes that the machine is off or on. A machine that is off has no applications.
func (m *Machine) SetOff(off bool) {
	m.off = off
	m.noteState()
}

// Empty says whether the machine has no application.
func (m *Machine) Empty() bool { return len(m.there) == 0 }

// Domains is the number of memory domains of the machine.
func (m *Machine) Domains() int { return len(m.domains) }

// Add puts an application into a domain, whether it fits there or not.
func (m *Machine) Add(domain int, a Application) {
	t := a.thread()
	_, end := m.span(domain)
	m.there = slices.Insert(m.there, end, t)
	C.lop_count_arrived(&m.domains[domain], &t)
	m.noteState()
}

// Remove takes an application equal to this one out of a domain. It returns false if there is none.
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

// span is the part of there that holds the applications of a domain.
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

// Fit is how well an application fits into a memory domain. The zero value means not at all.
type Fit struct{ c C.struct_lop_fit }

// Fits says whether the domain has the capacity.
func (f Fit) Fits() bool { return bool(f.c.fits) }

// Apart says whether intensive applications stay apart there from all but those of very low intensity, and no
// application is predicted to take more than 5 % longer than alone.
func (f Fit) Apart() bool { return bool(f.c.apart) }

// MilliCPULeft is what the domain has left with the application in it, 1000 for each core.
func (f Fit) MilliCPULeft() uint32 { return uint32(f.c.left_permille) }

// String says in a few words what decided, for people.
func (f Fit) String() string {
	switch {
	case !f.Fits():
		return "no room"
	case !f.Apart():
		return "shared, since no other domain is left"
	case Class(f.c.memory) != Unknown:
		return "beside others"
	}
	return [...]string{C.LOP_NODE_USED: "empty domain", C.LOP_NODE_EMPTY: "empty machine", C.LOP_NODE_OFF: "machine that is off"}[f.c.node]
}

// Better says whether the application fits better here than there. Fits of different applications do not compare.
func (f Fit) Better(there Fit) bool { return bool(C.lop_fits_better(&f.c, &there.c)) }

// Place finds the domain of the machine that the application fits into best, of equals the first. If it fits into none,
// the fit says so and the domain is negative.
func (m *Machine) Place(a Application) (domain int, fit Fit) {
	t := a.thread()
	domain = m.better(&fit.c, &t)
	return domain, fit
}

// better is the domain that fits better than the best so far, which it then becomes; negative if there is none.
func (m *Machine) better(best *C.struct_lop_fit, t *C.struct_lop_thread) int {
	return int(C.better_domain(best, unsafe.SliceData(m.domains), C.u32(len(m.domains)), unsafe.SliceData(m.there), t))
}

// Place finds the machine and the domain that the application fits into best, of equals the first. It is not ok if it
// fits into none.
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

// Fits are how well the application fits into the best domain of each machine, in their order.
func Fits(machines []*Machine, a Application) []Fit {
	fits := make([]Fit, len(machines))
	t := a.thread()
	for n, m := range machines {
		m.better(&fits[n].c, &t)
	}
	return fits
}

// Best gives the indexes of the fits that no other is better than, rising; none if nothing fits.
func Best(fits []Fit) []uint32 {
	best := make([]uint32, len(fits))
	return best[:C.best_fits((*C.u32)(unsafe.SliceData(best)), (*C.struct_lop_fit)(unsafe.Pointer(unsafe.SliceData(fits))), C.u32(len(fits)))]
}
