// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lopsided/fleet/gather"
)

// What a node says in its annotations.
const (
	// DomainsAnnotation is what applications may ask for in each memory domain, in cores: "8,8", or "7500m,8". Who
	// publishes it leaves out what the node keeps for itself and its DaemonSets.
	DomainsAnnotation = "fleet.lopsided/domains"
	// PublishedAnnotation is when the domains were last looked at, as in RFC 3339.
	PublishedAnnotation = "fleet.lopsided/published"
	// PowerAnnotation is "off" while the machine is switched off by somebody who switches it on for pods that wait. Who
	// does that removes it once the machine is on and has published again: until then its figures are old.
	PowerAnnotation = "fleet.lopsided/power"
)

// published is what a node says of itself.
type published struct {
	capacity []uint32 // of each domain, 1000 for each core
	at       time.Time
	off      bool
	wrong    string // why there are no domains
}

func read(n *v1.Node) published {
	p := published{off: n.Annotations[PowerAnnotation] == "off"}
	domains, found := n.Annotations[DomainsAnnotation]
	if !found {
		p.wrong = "it has published no memory domains"
		return p
	}
	at, err := time.Parse(time.RFC3339, n.Annotations[PublishedAnnotation])
	if err != nil {
		p.wrong = fmt.Sprintf("%s: %v", PublishedAnnotation, err)
		return p
	}
	p.at = at
	for text := range strings.SplitSeq(domains, ",") {
		cores, err := resource.ParseQuantity(text)
		if err != nil || cores.Sign() <= 0 || cores.CmpInt64(1e6) > 0 {
			p.wrong = fmt.Sprintf("%s: %q is no number of cores", DomainsAnnotation, text)
			p.capacity = nil
			return p
		}
		p.capacity = append(p.capacity, uint32(cores.MilliValue()))
	}
	return p
}

// unusable says why the node's domains can't be used now, or nothing. Those of a machine that is off stay as they were.
func (p *published) unusable(now time.Time, staleAfter time.Duration) string {
	age := now.Sub(p.at)
	switch {
	case p.wrong != "":
		return p.wrong
	case p.off || age.Abs() <= staleAfter:
		return ""
	case age < 0:
		return fmt.Sprintf("what it published is dated %v ahead", -age)
	}
	return fmt.Sprintf("what it published is %v old", age.Round(time.Second))
}

// node is a node and who is where on it. It never changes; a node that changes is made anew.
type node struct {
	name string
	published
	machine *gather.Machine // nil without domains
}

// resident is a pod on a node.
type resident struct {
	application gather.Application
	domain      int  // outside the node's domains: not known
	nominated   bool // not there yet
}

func newNode(n *v1.Node, there []resident) *node {
	made := &node{name: n.Name, published: read(n)}
	if made.capacity == nil {
		return made
	}
	made.machine = gather.NewMachine(made.capacity...)
	made.machine.SetOff(made.off)
	for _, r := range there {
		switch {
		case r.domain >= 0 && r.domain < len(made.capacity):
			made.machine.Add(r.domain, r.application)
		case !r.nominated: // it may run in any, so it counts in each
			for d := range made.capacity {
				made.machine.Add(d, r.application)
			}
		}
	}
	for _, r := range there {
		if r.nominated {
			if domain, fit := made.machine.Place(r.application); fit.Fits() {
				made.machine.Add(domain, r.application)
			}
		}
	}
	return made
}
