// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

// published is what a node says of itself.
type published struct {
	capacity []uint32 // of each domain, 1000 for each core
	at       time.Time
	off      bool
	wrong    string // why there are no domains
}

func read(n *v1.Node) published {
	p := published{off: n.Annotations[api.PowerAnnotation] == api.PowerOff}
	domains, found := n.Annotations[api.DomainsAnnotation]
	if !found {
		p.wrong = "it has published no memory domains"
		return p
	}
	at, err := time.Parse(time.RFC3339, n.Annotations[api.PublishedAnnotation])
	if err != nil {
		p.wrong = fmt.Sprintf("%s: %v", api.PublishedAnnotation, err)
		return p
	}
	p.at = at
	for text := range strings.SplitSeq(domains, ",") {
		cores, err := resource.ParseQuantity(text)
		if err != nil || cores.Sign() < 0 || cores.CmpInt64(1e6) > 0 {
			p.wrong = fmt.Sprintf("%s: %q is no number of cores", api.DomainsAnnotation, text)
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
