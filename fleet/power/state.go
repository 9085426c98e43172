// SPDX-License-Identifier: Apache-2.0

package power

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"lopsided/fleet/api"
)

// StateAnnotation of a node is what the controller knows of its machine, as JSON. All that it knows from one moment to the next is in
// these, and each is written before what it says is done, so that a controller that ends at any point is followed by one that goes on.
const StateAnnotation = "fleet.lopsided/power-state"

// state of a machine.
type state string

const (
	on           state = "on"   // also without an annotation
	idle         state = "idle" // on, and without pods that count
	cordoned     state = "cordoned"
	switchingOff state = "switching-off" // the driver is asked until it says that the machine is off
	off          state = "off"           // the driver is not asked any more
	switchingOn  state = "switching-on"  // the driver is asked until the machine is back
	failed       state = "failed"        // it did not come back in time
)

// isOff says whether the scheduler is to take the machine for one that is off, and its node is cordoned for that.
func (s state) isOff() bool {
	return s == cordoned || s == switchingOff || s == off || s == switchingOn
}

func (s state) known() bool {
	return s == on || s == idle || s == failed || s.isOff()
}

// record is the value of StateAnnotation. Of when the machine was last switched it keeps what the rate limit needs.
type record struct {
	State      state     `json:"state"`
	Since      time.Time `json:"since"`
	OrderedOff time.Time `json:"orderedOff,omitzero"`
	OrderedOn  time.Time `json:"orderedOn,omitzero"`
}

// read is the record of a node.
func read(n *v1.Node) (record, error) {
	text, found := n.Annotations[StateAnnotation]
	if !found {
		return record{State: on}, nil
	}
	var r record
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&r)
	if err == nil && (!r.State.known() || r.Since.IsZero()) {
		err = fmt.Errorf("no state, or none since when")
	}
	if err != nil {
		return record{}, fmt.Errorf("annotation %s: %q: %w: the machine is left as it is. If it is on, remove the annotation", StateAnnotation, text, err)
	}
	return r, nil
}

// to is the record of the next state.
func (r record) to(s state, now time.Time) *record {
	r.State, r.Since = s, now.UTC().Truncate(time.Second)
	switch s {
	case switchingOff:
		r.OrderedOff = r.Since
	case switchingOn:
		r.OrderedOn = r.Since
	}
	return &r
}

// patch is the merge patch that brings a node from one record to the next. It names the version that was looked at: if the node has changed since,
// it is refused, and what to do is decided anew.
func patch(n *v1.Node, from, next record) ([]byte, error) {
	text, err := json.Marshal(next)
	if err != nil {
		return nil, err
	}
	annotations := map[string]any{StateAnnotation: string(text)}
	spec := map[string]any{}
	switch {
	case next.State == cordoned || next.State == switchingOn:
		annotations[api.PowerAnnotation], spec["unschedulable"] = api.PowerOff, true
	case next.State == failed: // so that no pod waits for it
		annotations[api.PowerAnnotation] = nil
	case next.State == on && (from.State.isOff() || from.State == failed):
		annotations[api.PowerAnnotation], spec["unschedulable"] = nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": n.UID, "resourceVersion": n.ResourceVersion, "annotations": annotations},
		"spec":     spec,
	})
}
