// SPDX-License-Identifier: Apache-2.0

package power

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"lopsided/fleet/api"
)

// publishedWithin is how old what a node has published may be for its machine to be switched off: where nothing publishes nobody would know when
// it is back.
const publishedWithin = 5 * time.Minute

// cluster is what is looked at.
type cluster struct {
	nodes   []*v1.Node
	pods    []*v1.Pod
	volumes []*v1.PersistentVolume
	busy    sets.Set[string] // nodes whose driver is at work: nothing is decided about them until it has ended
	self    string           // the node on which the controller runs
}

// action is what to do about one node.
type action struct {
	node     *v1.Node
	from, to record
	ask      bool   // the driver, as from.State says; nothing is written then
	why      string // for people
	problem  error  // instead of all that
}

// machine is a node that has a driver.
type machine struct {
	record
	node   *v1.Node
	pod    string // one of those that count there, bound or nominated
	ready  bool
	wanted string // why it is to be on
	busy   bool
	pinned bool // never off
}

// switches counts the machines that were ordered off and on within idleFor.
type switches struct{ offs, ons int }

// decide says what to do now, of machines that need it. It looks at nothing but what it is given.
func (c *Config) decide(is cluster, now time.Time) []action {
	machines, actions := c.look(is)
	c.wake(machines)
	var ordered switches
	for _, m := range machines {
		ordered.offs += within(m.OrderedOff, now, c.IdleFor)
		ordered.ons += within(m.OrderedOn, now, c.IdleFor)
	}
	for _, m := range machines {
		if m.busy {
			continue
		}
		to, why := c.next(m, now, &ordered)
		switch {
		case to != m.State:
			actions = append(actions, m.goes(to, now, why))
		case to == switchingOff || to == switchingOn:
			actions = append(actions, action{node: m.node, from: m.record, ask: true})
		}
	}
	return append(actions, c.cordon(machines, is, now, ordered.offs)...)
}

// next is the state that follows, and why, but for that of idle machines that are cordoned.
func (c *Config) next(m *machine, now time.Time, ordered *switches) (state, string) {
	long := ago(m.Since, now)
	switch m.State {
	case on, idle:
		if m.unused(now) {
			return idle, "no pods"
		}
		return on, "in use, or not ready"
	case cordoned:
		if m.wanted != "" {
			return on, "stays on: " + m.wanted
		}
		if long >= c.Settle && ordered.offs < c.MaxSwitches {
			ordered.offs++
			return switchingOff, fmt.Sprintf("no pods for %v", c.IdleFor)
		}
	case switchingOff:
		if m.wanted != "" {
			return off, "to be switched on again: " + m.wanted
		}
		if !m.ready {
			return off, "its kubelet does not answer any more"
		}
	case off:
		if long >= c.MinOff && m.ready && published(m.node).Sub(m.Since) >= c.MinOff {
			return on, "it runs, though it was off: it did not shut down, or somebody switched it on"
		}
		if m.wanted != "" && long >= c.MinOff && ordered.ons < c.MaxSwitches {
			ordered.ons++
			return switchingOn, m.wanted
		}
	case switchingOn, failed:
		if m.back(now) {
			return on, "ready, and has published"
		}
		if long >= c.WakeWithin {
			return failed, fmt.Sprintf("not back %v after it was switched on: it stays cordoned until it is ready and publishes", c.WakeWithin)
		}
	}
	return m.State, ""
}

// goes is the action that brings a machine to the state, in which it is from then on.
func (m *machine) goes(to state, now time.Time, why string) action {
	a := action{node: m.node, from: m.record, to: *m.to(to, now), why: why}
	m.record = a.to
	return a
}

// look finds the machines, by name, and complains of records that say nothing.
func (c *Config) look(is cluster) (machines []*machine, complaints []action) {
	at := map[string]string{}
	for _, pod := range is.pods {
		if !counts(pod) {
			continue
		}
		if node := cmp.Or(pod.Spec.NodeName, pod.Status.NominatedNodeName); node != "" {
			at[node] = pod.Namespace + "/" + pod.Name
		}
	}
	for _, n := range is.nodes {
		r, err := read(n)
		if c.machine(n.Name) == nil {
			if err == nil && !r.State.isOff() {
				continue
			}
			err = fmt.Errorf("annotation %s: %s, but the configuration names no machine of this node: add it, or switch it on, uncordon it and remove the annotations %s and %s",
				StateAnnotation, r.State, StateAnnotation, api.PowerAnnotation)
		}
		if err != nil {
			complaints = append(complaints, action{node: n, problem: err})
			continue
		}
		machines = append(machines, &machine{
			record: r, node: n, pod: at[n.Name], ready: isReady(n), busy: is.busy.Has(n.Name), pinned: n.Name == is.self || isControlPlane(n),
		})
	}
	slices.SortFunc(machines, func(a, b *machine) int { return strings.Compare(a.node.Name, b.node.Name) })
	return machines, complaints
}

// wake notes which machines that are off are to be on, and why.
func (c *Config) wake(machines []*machine) {
	missing := c.MinOn
	for _, m := range machines {
		switch {
		case m.State == switchingOn || m.takesPods():
			missing--
		case !m.State.isOff():
		case m.pinned:
			m.wanted = "it is the control plane's or the controller's own"
		case m.pod != "":
			m.wanted = "pod " + m.pod
		case !m.node.Spec.Unschedulable:
			m.wanted = "its node was uncordoned"
		}
		if m.wanted != "" {
			missing--
		}
	}
	for _, s := range []state{cordoned, off, switchingOff} {
		for _, m := range machines {
			if missing > 0 && m.State == s && m.wanted == "" {
				m.wanted = fmt.Sprintf("%d machines are to be on", c.MinOn)
				missing--
			}
		}
	}
}

// cordon takes machines that have been idle for long out of use, the longest first.
func (c *Config) cordon(machines []*machine, is cluster, now time.Time, offs int) (actions []action) {
	taking := 0
	var candidates []*machine
	for _, m := range machines {
		if m.takesPods() {
			taking++
		}
		if m.State == cordoned {
			offs++
		}
		if m.State == idle && ago(m.Since, now) >= c.IdleFor && !m.busy {
			candidates = append(candidates, m)
		}
	}
	slices.SortStableFunc(candidates, func(a, b *machine) int { return a.Since.Compare(b.Since) })
	for _, m := range candidates {
		if taking <= c.MinOn || offs >= c.MaxSwitches {
			break
		}
		if hasVolume(m.node, is) {
			continue
		}
		actions = append(actions, m.goes(cordoned, now, fmt.Sprintf("no pods for %v", c.IdleFor)))
		taking--
		offs++
	}
	return actions
}

// within is 1 if that was less than so long ago.
func within(at, now time.Time, long time.Duration) int {
	if !at.IsZero() && ago(at, now) < long {
		return 1
	}
	return 0
}

// ago is how long ago that was. A time that is far ahead is of a clock that was wrong, and counts as long ago: else the machine would stay as it is until then.
func ago(at, now time.Time) time.Duration {
	if long := now.Sub(at); long > -publishedWithin {
		return long
	}
	return math.MaxInt64
}

// takesPods says whether it counts as one that is on.
func (m *machine) takesPods() bool {
	return (m.State == on || m.State == idle) && m.ready && !m.node.Spec.Unschedulable && !isControlPlane(m.node)
}

// unused says whether a machine that is on is well, without pods, and may be switched off.
func (m *machine) unused(now time.Time) bool {
	return m.takesPods() && !m.pinned && m.pod == "" && now.Sub(published(m.node)).Abs() <= publishedWithin
}

// back says whether it has come on since it was switched on.
func (m *machine) back(now time.Time) bool {
	return m.ready && ago(published(m.node), now) < ago(m.Since, now)
}

// counts says whether a node with this pod is in use, or is to be.
func counts(pod *v1.Pod) bool {
	return pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed && !api.IsNodesOwn(pod)
}

// published is the zero time if there is none.
func published(n *v1.Node) time.Time {
	at, err := time.Parse(time.RFC3339, n.Annotations[api.PublishedAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

func isReady(n *v1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

func isControlPlane(n *v1.Node) bool {
	_, is := n.Labels["node-role.kubernetes.io/control-plane"]
	_, was := n.Labels["node-role.kubernetes.io/master"]
	return is || was
}

// hasVolume says whether a claim is bound to a volume that is on this node alone, as local volumes are.
func hasVolume(n *v1.Node, is cluster) bool {
	return slices.ContainsFunc(is.volumes, func(v *v1.PersistentVolume) bool {
		if v.Status.Phase != v1.VolumeBound || v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
			return false
		}
		on := nodeaffinity.NewLazyErrorNodeSelector(v.Spec.NodeAffinity.Required)
		// Terms that can't be read match nothing; a volume that no node can reach keeps none on.
		if here, _ := on.Match(n); !here {
			return false
		}
		return !slices.ContainsFunc(is.nodes, func(other *v1.Node) bool {
			there, _ := on.Match(other)
			return there && other.Name != n.Name
		})
	})
}
