// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// application reads "30" (one core, 30 misses per 1,000 instructions), "3x0.05" (three cores) or "?" (one core,
// unknown).
func application(t testing.TB, text string) Application {
	a := Application{MilliCPU: 1000}
	if cores, rest, found := strings.Cut(text, "x"); found {
		n, err := strconv.Atoi(cores)
		if err != nil {
			t.Fatal(err)
		}
		a.MilliCPU, text = uint32(1000*n), rest
	}
	if text == "?" {
		return a
	}
	mpki, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	a.Intensity = Intensity{MPMI: uint32(1000*mpki + 0.5), Measured: time.Second}
	return a
}

// machine reads "16: 30 0.05 | 0.5 |": three domains of 16 cores (4 if no number is given) and their applications.
// "off: |" is two domains of 4 cores, off.
func machine(t testing.TB, text string) *Machine {
	cores, off := 4, false
	if before, rest, found := strings.Cut(text, ":"); found {
		if off = before == "off"; !off {
			cores, _ = strconv.Atoi(before)
		}
		text = rest
	}
	domains := strings.Split(text, "|")
	capacity := make([]uint32, len(domains))
	for n := range capacity {
		capacity[n] = uint32(1000 * cores)
	}
	m := NewMachine(capacity...)
	for n, there := range domains {
		for _, a := range strings.Fields(there) {
			m.Add(n, application(t, a))
		}
	}
	m.SetOff(off)
	return m
}

func TestPlace(t *testing.T) {
	eight := func(text string) string { return strings.Repeat(text+" ", 8) }
	for _, test := range []struct {
		why     string
		fleet   []string
		arrives string
		place   string // machine.domain
	}{
		{"of very low intensity: beside an intensive one, where nobody else may go", []string{"0.05 | 0.5 | 30 |"}, "0.05", "0.2"},
		{"moderate: beside a moderate one, which leaves the calm domain to an intensive one", []string{"0.05 | 0.5 | 30 |"}, "0.5", "0.1"},
		{"intensive: beside very low ones, before an empty domain", []string{"| 30 | 0.5 | 0.05"}, "30", "0.3"},
		{"intensive: in a domain of its own before beside a moderate one", []string{"0.5 |"}, "2", "0.1"},
		{"moderate: not beside an intensive one", []string{"2 |"}, "0.5", "0.1"},
		{"unknown: as an intensive one", []string{"0.5 |"}, "?", "0.1"},
		{"beside an unknown one: as beside an intensive one", []string{"? |"}, "0.5", "0.1"},
		{"exactly 1 is not intensive yet", []string{"1 |"}, "0.5", "0.0"},
		{"exactly 0.1 is not very low any more", []string{"30 |"}, "0.1", "0.1"},

		{"an empty domain: of a machine that is in use first", []string{"off: |", "|", "30 |"}, "30", "2.1"},
		{"then of one that is on", []string{"off: |", "|", "30"}, "30", "1.0"},
		{"then of one that is off", []string{"off: |", "30"}, "30", "0.0"},
		{"no machine is switched on for those that get on", []string{"off: |", "0.5"}, "0.5", "1.0"},
		{"of empty ones the smallest with room", []string{"16:", "8:"}, "6x30", "1.0"},

		{"where least room is left", []string{"0.05 | 0.05 0.05 |"}, "0.05", "0.1"},
		{"by what they ask for, not by how many they are", []string{"0.05 0.05 | 3x0.05"}, "0.05", "0.1"},
		{"of equals the first", []string{"0.5", "0.5"}, "0.5", "0.0"},
		{"not where there is no room", []string{"0.05 0.05 0.05 0.05 | 0.05"}, "0.05", "0.1"},
		{"nor for all that it asks for", []string{"0.05 0.05 0.05 | 0.05"}, "2x0.05", "0.1"},
		{"room in two domains is not room in one", []string{"0.05 0.05 | 0.05 0.05"}, "3x0.05", ""},
		{"no room at all", []string{"4x0.05 | 4x30", "off:"}, "5x0.05", ""},
		{"no machine", nil, "0.05", ""},

		{"more intensive ones than domains: where the others press least", []string{"30 | 5 | 10"}, "30", "0.1"},
		{"the same for a moderate one", []string{"30 | 30 0.05", "5 0.05"}, "0.5", "1.0"},

		// 0.09 presses 8 permille on 30, which waits 750 permille of its time: 6 permille for each, 48 for eight and 54
		// for nine.
		{"eight very low ones slow an intensive one by less than 5 %", []string{"16: 30 " + eight("0.09")[5:] + "|"}, "0.09", "0.0"},
		{"nine by more", []string{"16: 30 " + eight("0.09") + "|"}, "0.09", "0.1"},
		{"an intensive one beside eight very low ones", []string{"16: " + eight("0.09") + "|"}, "30", "0.0"},
		{"not beside nine", []string{"16: 0.09 " + eight("0.09") + "|"}, "30", "0.1"},
		// 0.9 waits and presses 82 permille: seven others cost it 82 * 574 / 1000 = 47, eight 82 * 656 / 1000 = 53.
		{"eight moderate ones get on", []string{"16: " + eight("0.9")[4:] + "|"}, "0.9", "0.0"},
		{"nine do not", []string{"16: " + eight("0.9") + "|"}, "0.9", "0.1"},
		{"but do if there is nowhere else", []string{"16: " + eight("0.9"), "16: " + eight("0.9") + "0.9"}, "0.9", "0.0"},
	} {
		t.Run(test.why, func(t *testing.T) {
			var fleet []*Machine
			for _, text := range test.fleet {
				fleet = append(fleet, machine(t, text))
			}
			place := ""
			if machine, domain, ok := Place(fleet, application(t, test.arrives)); ok {
				place = fmt.Sprintf("%d.%d", machine, domain)
			}
			if place != test.place {
				t.Errorf("%q: %s goes to %q, not to %q", test.fleet, test.arrives, place, test.place)
			}
		})
	}
}

func TestClass(t *testing.T) {
	for _, test := range []struct {
		intensity Intensity
		class     Class
	}{
		{Intensity{}, Unknown},
		{Intensity{MPMI: 5000, Measured: time.Second - 1}, Unknown},
		{Intensity{MPMI: 5000, Measured: time.Second}, Intensive},
		{Intensity{MPMI: 5000, Measured: -time.Second}, Unknown},
		{Intensity{MPMI: 5000, Measured: time.Second - 1, Declared: VeryLow}, VeryLow},
		{Intensity{MPMI: 5000, Measured: time.Second, Declared: VeryLow}, Intensive},
		{Intensity{Declared: Moderate}, Moderate},
	} {
		if class := test.intensity.Class(); class != test.class {
			t.Errorf("%+v is %v, not %v", test.intensity, class, test.class)
		}
	}
}

func TestFit(t *testing.T) {
	m := machine(t, "30 | 30")
	intensive, calm := application(t, "30"), application(t, "0.05")
	if _, fit := m.Place(intensive); !fit.Fits() || fit.Apart() {
		t.Errorf("beside another intensive one: %+v", fit)
	}
	domain, fit := m.Place(calm)
	if domain != 0 || !fit.Fits() || !fit.Apart() {
		t.Errorf("beside an intensive one: domain %d, %+v", domain, fit)
	}
	if domain, fit := m.Place(application(t, "5x0.05")); domain >= 0 || fit.Fits() {
		t.Errorf("without room: domain %d, %+v", domain, fit)
	}
	_, emptier := machine(t, "").Place(calm)
	if !fit.Better(emptier) || emptier.Better(fit) || fit.Better(fit) {
		t.Error("an empty machine is no better place for a calm one")
	}
}

func TestFitSaysWhatDecided(t *testing.T) {
	for _, test := range []struct{ there, arrives, says string }{
		{"0.05", "5x0.05", "no room"},
		{"30", "2", "shared, since no other domain is left"},
		{"30", "0.05", "beside others"},
		{"30 |", "2", "empty domain"},
		{"", "2", "empty machine"},
		{"off:", "2", "machine that is off"},
	} {
		if _, fit := machine(t, test.there).Place(application(t, test.arrives)); fit.String() != test.says {
			t.Errorf("%q, where %s arrives: %q, not %q", test.there, test.arrives, fit, test.says)
		}
	}
	if _, fit := machine(t, "0.05").Place(application(t, "2x0.05")); fit.MilliCPULeft() != 1000 {
		t.Errorf("%d left of four cores, of which three are taken", fit.MilliCPULeft())
	}
}

func TestRemove(t *testing.T) {
	m := machine(t, "30 0.05 | 0.5")
	if m.Remove(1, application(t, "30")) {
		t.Error("removed what is in another domain")
	}
	if !m.Remove(0, application(t, "30")) {
		t.Error("did not find what is there")
	}
	if domain, _ := m.Place(application(t, "30")); domain != 0 {
		t.Errorf("the intensive one still counts: domain %d", domain)
	}
	m.Remove(0, application(t, "0.05"))
	m.Remove(1, application(t, "0.5"))
	if !m.Empty() {
		t.Error("not empty")
	}
}
