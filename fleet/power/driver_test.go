// SPDX-License-Identifier: Apache-2.0

package power

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// write makes a file and returns its name.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCommand(t *testing.T) {
	ran := write(t, "log", "", 0o600)
	script := write(t, "switch", "for a; do printf '<%s>' \"$a\" >>"+ran+"; done\n[ \"$1\" != -x ] || { echo first; echo no answer; exit 3; }\n", 0o600)
	m := &Machine{
		Timeout: time.Hour,
		Off:     Switch{Command: []string{"/bin/sh", script, "{node} {node}", "power;off"}},
		On:      Switch{Command: []string{"/bin/sh", script, "-x", "{node}"}},
	}
	if err := m.drive(context.Background(), "m1", false); err != nil {
		t.Error(err)
	}
	err := m.drive(context.Background(), "m2", true)
	if err == nil || err.Error() != "switch on: /bin/sh: exit status 3: no answer" {
		t.Error(err)
	}
	if text, err := os.ReadFile(ran); err != nil || string(text) != "<m1 m1><power;off><-x><m2>" {
		t.Errorf("%s, %v", text, err)
	}
	m.Off.Command = []string{filepath.Join(t.TempDir(), "none")}
	if err := m.drive(context.Background(), "m1", false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A command that does not end by itself, and whose child keeps its output open.
func TestCommandThatHangs(t *testing.T) {
	m := &Machine{Timeout: 10 * time.Millisecond, Off: Switch{Command: []string{"/bin/sh", "-c", "sleep 1000 & wait"}}}
	if err := m.drive(context.Background(), "m1", false); err == nil || !strings.Contains(err.Error(), "switch off: not done within 10ms") {
		t.Error(err)
	}
}

func TestWakeOnLAN(t *testing.T) {
	listener, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	m := &Machine{Timeout: time.Minute, On: Switch{WakeOnLAN: &WakeOnLAN{MAC: "52:54:00:12:34:56", To: listener.LocalAddr().String()}}}
	if err := m.drive(context.Background(), "m1", true); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 1000)
	length, _, err := listener.ReadFrom(packet)
	want := slices.Concat(slices.Repeat([]byte{0xff}, 6), slices.Repeat([]byte{0x52, 0x54, 0, 0x12, 0x34, 0x56}, 16))
	if err != nil || !slices.Equal(packet[:length], want) {
		t.Errorf("%x, %v", packet[:length], err)
	}
}

// bmc is a management controller whose machine needs some looks until it has changed.
type bmc struct {
	t      *testing.T
	state  string   // PowerState
	states []string // what it is at the next looks after a reset
	target string
	status int // of the answer to a reset, 204 if it is 0
	resets []string
	looks  int // after which the one who looks is tired
	tired  func()
}

func (b *bmc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "admin" || password != "secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /redfish/v1/Systems/m1":
		if b.looks--; b.looks == 0 {
			b.tired()
		}
		is := b.state
		if len(b.resets) > 0 && len(b.states) > 0 {
			b.state, b.states = b.states[0], b.states[1:]
		}
		fmt.Fprintf(w, `{"PowerState": %q, "Actions": {"#ComputerSystem.Reset": {"target": %q}}}`, is, b.target)
	case "POST /redfish/v1/Systems/m1/Actions/Reset":
		var sent map[string]string
		if err := json.Unmarshal(body, &sent); err != nil || len(sent) != 1 {
			b.t.Errorf("%s: %v", body, err)
		}
		b.resets = append(b.resets, sent["ResetType"])
		if b.status != 0 {
			w.WriteHeader(b.status)
			fmt.Fprint(w, "not now")
			return
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestRedfish(t *testing.T) {
	const target = "/redfish/v1/Systems/m1/Actions/Reset"
	for _, test := range []struct {
		why      string
		on       bool
		bmc      bmc
		reset    string
		password string
		resets   string
		wrong    string
	}{
		{"off", false, bmc{state: "On", states: []string{"PoweringOff", "PoweringOff", "Off"}}, "", "secret", "GracefulShutdown", ""},
		{"on", true, bmc{state: "Off", states: []string{"PoweringOn", "On"}}, "", "secret\n", "On", ""},
		{"on already", true, bmc{state: "On"}, "", "secret", "", ""},
		{"off already", false, bmc{state: "Off"}, "", "secret", "", ""},
		{"by force", false, bmc{state: "On", states: []string{"Off"}}, "ForceOff", "secret", "ForceOff", ""},
		{"refused", true, bmc{state: "Off", status: http.StatusServiceUnavailable}, "", "secret", "On", "503 Service Unavailable: not now"},
		{"another password", true, bmc{state: "Off"}, "", "public", "", "401 Unauthorized"},
		{"a target elsewhere", true, bmc{state: "Off", target: "https://elsewhere.invalid/reset"}, "", "secret", "", "https://elsewhere.invalid/reset"},
		{"no system", true, bmc{state: "Off", target: " "}, "", "secret", "", "no system"},
	} {
		test.bmc.t = t
		switch test.bmc.target {
		case "":
			test.bmc.target = target
		case " ":
			test.bmc.target = ""
		}
		server := httptest.NewTLSServer(&test.bmc)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		r := &Redfish{
			System: server.URL + "/redfish/v1/Systems/{node}", User: "admin", Reset: test.reset, poll: time.Nanosecond,
			PasswordFile: write(t, "password", test.password, 0o600), CAFile: write(t, "ca", string(ca), 0o600),
		}
		m := &Machine{Timeout: time.Hour, Off: Switch{Redfish: r}, On: Switch{Redfish: r}}
		err := m.drive(context.Background(), "m1", test.on)
		if test.wrong == "" && err != nil || test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) {
			t.Errorf("%s: %v, not %q", test.why, err, test.wrong)
		}
		if resets := strings.Join(test.bmc.resets, ", "); resets != test.resets {
			t.Errorf("%s: sent %q, not %q", test.why, resets, test.resets)
		}
		if test.wrong == "" && test.on != (test.bmc.state == "On") {
			t.Errorf("%s: PowerState is %s", test.why, test.bmc.state)
		}
		server.Close()
	}
}

// The machine does not shut down, until nobody waits any more: that is no success, and it was asked once.
func TestRedfishInVain(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &bmc{t: t, state: "On", target: "/redfish/v1/Systems/m1/Actions/Reset", looks: 5, tired: cancel}
	server := httptest.NewUnstartedServer(b)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	r := &Redfish{System: server.URL + "/redfish/v1/Systems/{node}", User: "admin", PasswordFile: write(t, "password", "secret", 0o600), poll: time.Nanosecond}
	if err := r.drive(ctx, "m1", false); err == nil || !strings.Contains(err.Error(), "certificate") || len(b.resets) > 0 {
		t.Errorf("a certificate of nobody: %v", err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	r.CAFile = write(t, "ca", string(ca), 0o600)
	if err := r.drive(ctx, "m1", false); err == nil || len(b.resets) != 1 {
		t.Errorf("%v, sent %q", err, b.resets)
	}
}

func TestConfig(t *testing.T) {
	const machines = "machines: [{nodes: m1, off: {command: [a]}, on: {command: [b]}}]\n"
	c, err := parse([]byte(machines))
	if err != nil {
		t.Fatal(err)
	}
	if c.IdleFor != 5*time.Minute || c.Settle != 30*time.Second || c.MinOff != 2*time.Minute || c.WakeWithin != 15*time.Minute || c.MinOn != 1 || c.MaxSwitches != 10 || c.Machines[0].Timeout != time.Minute {
		t.Errorf("%+v", c)
	}
	if c, err := parse([]byte(machines + "minOn: 0\nidleFor: 90s\n")); err != nil || c.MinOn != 0 || c.IdleFor != 90*time.Second {
		t.Errorf("%+v, %v", c, err)
	}
	machine := func(text string) string { return "machines:\n- " + text }
	redfish := func(text string) string {
		return machine("{nodes: m1, off: {command: [a]}, on: {redfish: {" + text + "}}}")
	}
	for text, wants := range map[string]string{
		"":                                  "machines: there are none",
		"idleFor: 5m\n":                     "machines: there are none",
		machines + "idle: 5m":               "line 2: field idle not found",
		machines + "idleFor: soon":          "line 2: cannot unmarshal",
		machines + "idleFor: 999ms":         "idleFor: 999ms",
		machines + "settle: 0s":             "settle: 0s",
		machines + "minOff: -1m":            "minOff: -1m0s",
		machines + "wakeWithin: 0s":         "wakeWithin: 0s",
		machines + "minOn: -1":              "minOn: -1",
		machines + "maxSwitches: 0":         "maxSwitches: 0",
		machine("{nodes: m1}"):              "machines[0]: off: 0 of command",
		machine("{nodes: '', off: {}}"):     `machines[0]: nodes: ""`,
		machine("{nodes: '[', off: {}}"):    `machines[0]: nodes: "["`,
		machine("{nodes: m, timeout: 1ms}"): "machines[0]: timeout: 1ms",
		machine("{nodes: m, off: {command: [a], redfish: {}}}"):                                           "off: 2 of command",
		machine("{nodes: m, off: {command: []}}"):                                                         "off: command: it is empty",
		machine("{nodes: m, off: {wakeOnLAN: {}}}"):                                                       "off: wakeOnLAN switches on only",
		machine("{nodes: m, off: {command: [a]}, on: {wakeOnLAN: {mac: x, to: '1.2.3.4:9'}}}"):            `on: wakeOnLAN: mac: "x"`,
		machine("{nodes: m, off: {command: [a]}, on: {wakeOnLAN: {mac: '52:54:00:12:34:56'}}}"):           `on: wakeOnLAN: to: ""`,
		redfish("system: 'http://{node}/s', user: a, passwordFile: b"):                                    `on: redfish: system: "http://{node}/s"`,
		redfish("system: 'https:///s', user: a, passwordFile: b"):                                         `on: redfish: system: "https:///s"`,
		redfish("system: 'https://{node}/s', user: a"):                                                    "on: redfish: user and passwordFile",
		redfish("system: 'https://a:b@{node}/s', user: a, passwordFile: b"):                               "on: redfish: system: it has a password",
		redfish("system: 'https://{node}/s', user: a, passwordFile: b, reset: ForceOff"):                  `on: redfish: reset: "ForceOff": one of On, ForceOn, PushPowerButton`,
		machine("{nodes: m, off: {redfish: {system: 'https://a', user: a, passwordFile: b, reset: On}}}"): `off: redfish: reset: "On": one of GracefulShutdown, ForceOff, PushPowerButton`,
		machines + "---\nminOn: 2":                                                                        "a second document",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s\n%v, which does not say %q", text, err, wants)
		}
	}
	c, err = Load("../cmd/gather-power/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for n, node := range []string{"rack1-7", "desk2", "old-3", "other"} {
		if m := c.machine(node); (m == nil) != (n == 3) || m != nil && m != &c.Machines[n] {
			t.Errorf("%s: %+v", node, m)
		}
	}
	if _, err := Load("none.yaml"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
