// SPDX-License-Identifier: Apache-2.0

package power

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// drive switches the machine of a node. What it does may be repeated. Without an error the machine is on or off, or is on its way there.
func (m *Machine) drive(ctx context.Context, node string, on bool) error {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	s, name := &m.Off, "off"
	if on {
		s, name = &m.On, "on"
	}
	var err error
	switch {
	case s.Redfish != nil:
		err = s.Redfish.drive(ctx, node, on)
	case s.WakeOnLAN != nil:
		err = s.WakeOnLAN.send(ctx)
	default:
		err = run(ctx, s.Command, node)
	}
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %v: %w", m.Timeout, err)
	}
	return fmt.Errorf("switch %s: %w", name, err)
}

// fill puts the node's name in. Names of nodes are lower-case letters, digits, - and . only.
func fill(text, node string) string {
	return strings.ReplaceAll(text, "{node}", node)
}

// run runs a command, without a shell.
func run(ctx context.Context, command []string, node string) error {
	filled := make([]string, len(command))
	for n, text := range command {
		filled[n] = fill(text, node)
	}
	c := exec.CommandContext(ctx, filled[0], filled[1:]...)
	// With its children. Should one have left the group and keep the output open, that is not waited for.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	output, err := c.CombinedOutput()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	// Arguments may be secrets, and this is for events, which many may read.
	return fmt.Errorf("%s: %w: %.200s", filled[0], err, lines[len(lines)-1])
}

// WakeOnLAN is a magic packet.
type WakeOnLAN struct {
	MAC string `yaml:"mac"` // 52:54:00:12:34:56
	To  string `yaml:"to"`  // the broadcast address of its network and a port: 192.168.1.255:9
}

func (w *WakeOnLAN) validate() error {
	if mac, err := net.ParseMAC(w.MAC); err != nil || len(mac) != 6 {
		return fmt.Errorf("wakeOnLAN: mac: %q: an address such as 52:54:00:12:34:56 is wanted", w.MAC)
	}
	if _, err := net.ResolveUDPAddr("udp", w.To); err != nil || w.To == "" {
		return fmt.Errorf("wakeOnLAN: to: %q: an address and a port are wanted, such as 192.168.1.255:9", w.To)
	}
	return nil
}

func (w *WakeOnLAN) send(ctx context.Context) error {
	mac, err := net.ParseMAC(w.MAC)
	if err != nil {
		return err
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "udp", w.To)
	if err != nil {
		return err
	}
	defer connection.Close()
	_, err = connection.Write([]byte(strings.Repeat("\xff", 6) + strings.Repeat(string(mac), 16)))
	return err
}
