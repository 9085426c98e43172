// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

func aProfile(name string, owner api.Owner, image, intensity string, measured time.Time) *api.IntensityProfile {
	return &api.IntensityProfile{
		TypeMeta:   metav1.TypeMeta{APIVersion: "fleet.lopsided/v1alpha1", Kind: "IntensityProfile"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", ResourceVersion: "7"},
		Spec:       api.IntensityProfileSpec{Owner: owner, Image: image, Intensity: intensity, Source: "a test", MeasuredAt: metav1.NewTime(measured)},
	}
}

// knows makes the profile known, as if it had come from the API server.
func (c *cluster) knows(p *api.IntensityProfile) {
	if err := c.profiles.Add(p); err != nil {
		c.t.Fatal(err)
	}
	c.gather.residents.profilesChanged()
}

// of makes a pod of a Deployment with containers of these images.
func (c *cluster) of(deployment, name string, images ...string) *v1.Pod {
	pod := c.pod(name, "1", "?")
	yes := true
	pod.Labels = map[string]string{"pod-template-hash": "5d4f"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: deployment + "-5d4f", Controller: &yes}}
	pod.Spec.Containers[0].Image = images[0]
	for _, image := range images[1:] {
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Image: image})
	}
	return pod
}

func TestProfiles(t *testing.T) {
	c := newCluster(t)
	web, now := api.Owner{Kind: "Deployment", Name: "web"}, c.clock
	c.knows(aProfile("calm", web, "calm", "0.05", now))
	c.knows(aProfile("moderate", web, "moderate", "0.5", now))
	c.knows(aProfile("hungrier", web, "hungrier", "0.6", now))
	c.knows(aProfile("declared", web, "declared", "very-low", now))
	c.knows(aProfile("fierce", web, "fierce", "30", now))
	c.knows(aProfile("aged", web, "aged", "0.05", now.Add(-720*time.Hour)))
	c.knows(aProfile("stale", web, "stale", "0.05", now.Add(-720*time.Hour-time.Second)))
	c.knows(aProfile("ahead", web, "ahead", "0.05", now.Add(720*time.Hour+time.Second)))
	c.knows(aProfile("nonsense", web, "nonsense", "calm", now))
	c.knows(aProfile("a", web, "twice", "30", now.Add(-time.Hour)))
	c.knows(aProfile("b", web, "twice", "0.5", now))
	c.knows(aProfile("c", web, "twice", "0.05", now))
	measured := func(mpmi uint32) gather.Intensity { return gather.Intensity{MPMI: mpmi, Measured: time.Second} }
	other := c.of("web", "p", "calm")
	other.Namespace = "other"
	sidecar, early, always := c.of("web", "p", "calm"), c.of("web", "p", "calm"), v1.ContainerRestartPolicyAlways
	sidecar.Spec.InitContainers = []v1.Container{{Image: "fierce", RestartPolicy: &always}}
	early.Spec.InitContainers = []v1.Container{{Image: "fierce"}}
	labelled := c.of("web", "p", "calm")
	labelled.Labels[api.IntensityLabel] = "moderate"
	for _, test := range []struct {
		why   string
		pod   *v1.Pod
		is    gather.Intensity
		wrong string
	}{
		{"one container", c.of("web", "p", "calm"), measured(50), ""},
		{"the highest", c.of("web", "p", "calm", "hungrier", "moderate"), measured(600), ""},
		{"the highest by class", c.of("web", "p", "calm", "declared", "fierce"), measured(30000), ""},
		{"one unknown", c.of("web", "p", "calm", "unknown"), gather.Intensity{}, ""},
		{"another owner", c.of("db", "p", "calm"), gather.Intensity{}, ""},
		{"another namespace", other, gather.Intensity{}, ""},
		{"a sidecar", sidecar, measured(30000), ""},
		{"what runs in the beginning only", early, measured(50), ""},
		{"a label goes before", labelled, gather.Intensity{Declared: gather.Moderate}, ""},
		{"as old as it may be", c.of("web", "p", "aged"), measured(50), ""},
		{"too old", c.of("web", "p", "calm", "stale"), gather.Intensity{}, "IntensityProfile stale: measured 720h0m1s ago, more than 720h0m0s"},
		{"ahead", c.of("web", "p", "ahead"), gather.Intensity{}, "IntensityProfile ahead"},
		{"nonsense", c.of("web", "p", "nonsense"), gather.Intensity{}, `IntensityProfile nonsense: intensity: "calm" is neither`},
		{"the newest, of equals the first by name", c.of("web", "p", "twice"), measured(500), ""},
	} {
		is, err := c.gather.residents.profiles.intensity(test.pod)
		if is != test.is || (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %+v, %v", test.why, is, err)
		}
	}
}

func TestOwners(t *testing.T) {
	yes := true
	for _, test := range []struct {
		kind, name, hash string
		is               api.Owner
	}{
		{"", "", "", api.Owner{Kind: "Pod", Name: "p"}},
		{"StatefulSet", "db", "", api.Owner{Kind: "StatefulSet", Name: "db"}},
		{"ReplicaSet", "web-5d4f", "5d4f", api.Owner{Kind: "Deployment", Name: "web"}},
		{"ReplicaSet", "web-5d4f", "", api.Owner{Kind: "ReplicaSet", Name: "web-5d4f"}},
		{"ReplicaSet", "web-5d4f", "77aa", api.Owner{Kind: "ReplicaSet", Name: "web-5d4f"}},
		{"StatefulSet", "db-5d4f", "5d4f", api.Owner{Kind: "StatefulSet", Name: "db-5d4f"}},
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"pod-template-hash": test.hash}}}
		if test.kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: test.kind, Name: test.name, Controller: &yes}}
		}
		if is := api.OwnerOf(pod); is != test.is {
			t.Errorf("%+v: %+v", test, is)
		}
	}
}

// Where pods go by profiles, and what those that are there count with when a profile comes.
func TestPlacedByProfiles(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{"a", "b", "c"} {
		c.add(name, "4")
	}
	web := api.Owner{Kind: "Deployment", Name: "web"}
	c.wants(c.of("web", "first", "web:1"), "a.0", "")
	c.wants(c.of("db", "unknown", "db:1"), "b.0", "") // both count as intensive
	c.knows(aProfile("web", web, "web:1", "0.05", c.clock))
	c.wants(c.of("db", "second unknown", "db:1"), "a.0", "") // the first one turns out to be calm
	c.wants(c.of("web", "second", "web:1"), "a.0", "")
	c.wants(c.of("web", "new image", "web:2"), "c.0", "")
	c.clock = c.clock.Add(721 * time.Hour)
	for name := range c.nodes {
		c.annotate(name, api.PublishedAnnotation, c.clock.Format(time.RFC3339))
	}
	c.wants(c.of("web", "late", "web:1"), "b.0", "") // shared: all domains have an intensive one
	c.saysEvent("Warning IntensityUnknown Counts as intensive: IntensityProfile web: measured 721h0m0s ago")
}

// profileServer is an API server that has profiles, and no more.
type profileServer struct {
	status  int // of all answers; 0: it has them
	has     []*api.IntensityProfile
	changes chan *api.IntensityProfile // come later, to those who watch
}

func (s *profileServer) start(t *testing.T) *rest.Config {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func (s *profileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := json.NewEncoder(w)
	switch {
	case r.URL.Path != "/apis/fleet.lopsided/v1alpha1/intensityprofiles":
		w.WriteHeader(http.StatusTeapot)
	case s.status != 0:
		w.WriteHeader(s.status)
		reason := map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusForbidden: metav1.StatusReasonForbidden}[s.status]
		answer.Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(s.status), Reason: reason})
	case r.URL.Query().Get("watch") == "":
		answer.Encode(map[string]any{"apiVersion": "fleet.lopsided/v1alpha1", "kind": "IntensityProfileList", "metadata": map[string]any{"resourceVersion": "7"}, "items": s.has})
	default:
		s.watch(w, r, answer)
	}
}

func (s *profileServer) watch(w http.ResponseWriter, r *http.Request, answer *json.Encoder) {
	send := func(kind string, object any) {
		answer.Encode(map[string]any{"type": kind, "object": object})
		w.(http.Flusher).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, p := range s.has {
			send("ADDED", p)
		}
		send("BOOKMARK", map[string]any{"apiVersion": "fleet.lopsided/v1alpha1", "kind": "IntensityProfile", "metadata": map[string]any{
			"resourceVersion": "7", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		}})
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case p := <-s.changes:
			send("ADDED", p)
		}
	}
}

func TestWatchProfiles(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	now := time.Now().Truncate(time.Second)
	web := api.Owner{Kind: "Deployment", Name: "web"}
	server := &profileServer{has: []*api.IntensityProfile{aProfile("web", web, "web:1", "0.4", now)}, changes: make(chan *api.IntensityProfile)}
	changed := make(chan bool, 100)
	indexer, err := watchProfiles(ctx, server.start(t), func() { changed <- true })
	if err != nil {
		t.Fatal(err)
	}
	<-changed
	p := &profiles{indexer: indexer, staleAfter: time.Hour, now: func() time.Time { return now }}
	says := func(image string) string {
		is, err := p.of(imageKey("default", web, image))
		return fmt.Sprint(is.MPMI, err)
	}
	if is := says("web:1"); is != "400 <nil>" {
		t.Errorf("what was there: %s", is)
	}
	next := aProfile("next", web, "web:2", "0.7", now)
	next.ResourceVersion = "8"
	server.changes <- next
	<-changed
	if is := says("web:2"); is != "700 <nil>" {
		t.Errorf("what came: %s", is)
	}

	if _, err := watchProfiles(ctx, (&profileServer{status: http.StatusForbidden}).start(t), nil); err == nil || !strings.Contains(err.Error(), "grant list and watch") {
		t.Errorf("forbidden: %v", err)
	}
	if _, err := watchProfiles(ctx, (&profileServer{status: http.StatusInternalServerError}).start(t), nil); err == nil || strings.Contains(err.Error(), "grant") {
		t.Errorf("broken: %v", err)
	}
}
