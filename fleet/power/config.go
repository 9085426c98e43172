// SPDX-License-Identifier: Apache-2.0

package power

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is the file that gather-power reads.
type Config struct {
	// IdleFor is how long a node is without pods before it is cordoned, those of DaemonSets and static ones aside.
	IdleFor time.Duration `yaml:"idleFor"`
	// Settle is how long it stays cordoned before the machine is switched off: whoever chose the node before may still bind pods.
	Settle time.Duration `yaml:"settle"`
	// MinOff is how long a machine stays off at least. It has to be shut down by then, and its node not ready: one that still publishes counts as on.
	MinOff time.Duration `yaml:"minOff"`
	// WakeWithin is how long a machine may take to be ready and to publish, before pods wait for others.
	WakeWithin time.Duration `yaml:"wakeWithin"`
	// MinOn is how many of the machines are on at least.
	MinOn int `yaml:"minOn"`
	// MaxSwitches is how many machines are switched off, and how many are switched on, within IdleFor at most.
	MaxSwitches int `yaml:"maxSwitches"`
	// Machines say how to switch the machines of nodes. Nodes that none of them names stay as they are; of several the first counts.
	Machines []Machine `yaml:"machines"`
}

// Machine is how some machines are switched.
type Machine struct {
	Nodes string `yaml:"nodes"` // names, with * and ? as in file names
	Off   Switch `yaml:"off"`
	On    Switch `yaml:"on"`
	// Timeout is how long the driver may take. It is asked again 30 s after it has ended, until the machine is off or back.
	Timeout time.Duration `yaml:"timeout"`
}

// Switch is one of these. {node} in a text stands for the node's name.
type Switch struct {
	Command   []string   `yaml:"command"`
	Redfish   *Redfish   `yaml:"redfish"`
	WakeOnLAN *WakeOnLAN `yaml:"wakeOnLAN"`
}

// Load reads a file and fills in what is not set.
func Load(file string) (*Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

func parse(text []byte) (*Config, error) {
	c := &Config{IdleFor: 5 * time.Minute, Settle: 30 * time.Second, MinOff: 2 * time.Minute, WakeWithin: 15 * time.Minute, MinOn: 1, MaxSwitches: 10}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("a second document begins, of which nothing would be read: write one without ---")
	}
	for n := range c.Machines {
		if c.Machines[n].Timeout == 0 {
			c.Machines[n].Timeout = time.Minute
		}
	}
	return c, c.validate()
}

func (c *Config) validate() error {
	for _, d := range []struct {
		key string
		is  time.Duration
	}{{"idleFor", c.IdleFor}, {"settle", c.Settle}, {"minOff", c.MinOff}, {"wakeWithin", c.WakeWithin}} {
		if d.is < time.Second {
			return fmt.Errorf("%s: %v: 1s is the least", d.key, d.is)
		}
	}
	switch {
	case c.MinOn < 0:
		return fmt.Errorf("minOn: %d: a number of machines from 0 on", c.MinOn)
	case c.MaxSwitches < 1:
		return fmt.Errorf("maxSwitches: %d: with less than 1 no machine is ever switched", c.MaxSwitches)
	case len(c.Machines) == 0:
		return errors.New("machines: there are none: say how they are switched")
	}
	for n := range c.Machines {
		if err := c.Machines[n].validate(); err != nil {
			return fmt.Errorf("machines[%d]: %w", n, err)
		}
	}
	return nil
}

func (m *Machine) validate() error {
	if _, err := path.Match(m.Nodes, ""); err != nil || m.Nodes == "" {
		return fmt.Errorf("nodes: %q: the name of a node is wanted, or a pattern such as rack1-*", m.Nodes)
	}
	if m.Timeout < time.Second {
		return fmt.Errorf("timeout: %v: 1s is the least", m.Timeout)
	}
	if m.Off.WakeOnLAN != nil {
		return errors.New("off: wakeOnLAN switches on only: use command or redfish")
	}
	if err := m.Off.validate(false); err != nil {
		return fmt.Errorf("off: %w", err)
	}
	if err := m.On.validate(true); err != nil {
		return fmt.Errorf("on: %w", err)
	}
	return nil
}

func (s *Switch) validate(on bool) error {
	given := 0
	for _, is := range []bool{s.Command != nil, s.Redfish != nil, s.WakeOnLAN != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%d of command, redfish and wakeOnLAN are given: exactly one is wanted", given)
	case s.Redfish != nil:
		return s.Redfish.validate(on)
	case s.WakeOnLAN != nil:
		return s.WakeOnLAN.validate()
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("command: it is empty: [PROGRAM, ARGUMENT, ...] is wanted")
	}
	return nil
}

// machine says how the machine of a node is switched, or nil.
func (c *Config) machine(node string) *Machine {
	for n := range c.Machines {
		if matches, _ := path.Match(c.Machines[n].Nodes, node); matches {
			return &c.Machines[n]
		}
	}
	return nil
}
