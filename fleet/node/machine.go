// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// request is what the machine is to bring about. It replaces the one before.
type request struct {
	// Confine has the memory domain of each cgroup that is to run in one. All others get their CPUs back.
	Confine map[string]int `json:"confine"`
	// Count has the cgroups whose counts the next answers are to have.
	Count []string `json:"count"`
}

// answer is what is so after a request.
type answer struct {
	Domains []string          `json:"domains"` // CPUs of each: "0-3,8"
	Cgroups string            `json:"cgroups"` // where cgroup v2 is mounted
	Counted map[string]counts `json:"counted"` // of each cgroup, since the last request if it counted then
	Left    map[string]string `json:"left"`    // cgroups that are not as requested, and why
}

type counts struct {
	Misses       uint64 `json:"misses"` // of the last-level cache
	Instructions uint64 `json:"instructions"`
}

// machine serves requests; tests have their own.
type machine interface {
	serve(request) (answer, error)
}

// answersWithin is how long lop may take for an answer, or to restore all cgroups; less than kubelet grants a container to end. One that hangs is killed. Then gather-node
// ends, and kubelet starts both anew.
const answersWithin = 20 * time.Second

// child is `lop agent --node`: a line of JSON in, a line out. It restores all cgroups once its input ends.
type child struct {
	within  time.Duration // answersWithin
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts the command. It is not killed when the context ends, since it has cgroups to restore: close does that.
func start(command []string, within time.Duration) (*child, error) {
	c := &child{within: within, command: exec.CommandContext(context.Background(), command[0], command[1:]...)}
	c.command.Stderr = os.Stderr
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w: it comes with Lopsided and belongs into the image, or name it after the options", command[0], err)
	}
	return c, nil
}

func (c *child) serve(r request) (a answer, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	var text []byte
	err = c.orKilled(func() error {
		if _, err := c.in.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("%w: its own message is above", err)
		}
		if text, err = c.out.ReadBytes('\n'); err != nil {
			return fmt.Errorf("no answer: %w: its own message is above", err)
		}
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("%s: %w", c.command, err)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, fmt.Errorf("%s: answer %.100q: %w", c.command, text, err)
	}
	return a, nil
}

// close waits until it has restored all cgroups. An error says that it has not.
func (c *child) close() error {
	if err := c.in.Close(); err != nil {
		return err
	}
	return c.orKilled(c.command.Wait)
}

// orKilled does something that ends with the child at the latest, which is killed if that takes too long.
func (c *child) orKilled(do func() error) error {
	hangs := time.AfterFunc(c.within, func() { _ = c.command.Process.Kill() })
	err := do()
	if !hangs.Stop() {
		return fmt.Errorf("killed, since it did not answer within %v", c.within)
	}
	return err
}
