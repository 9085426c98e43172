// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"lopsided/fleet/api"
)

const (
	// countFor is how long a container is counted, and mostCounted how many are at a time: each takes two counters of each CPU, which cost time whenever that changes to its threads.
	countFor    = time.Minute
	mostCounted = 8
	// enough instructions for a profile: half a second of one CPU, more or less. A container that does less in its minute says little.
	enough = 1_000_000_000
	// measureAgain is when a profile is measured anew, by whichever node comes first; tryAgain, if there was none.
	measureAgain = 24 * time.Hour
	tryAgain     = time.Hour
)

// profiler has containers counted, and writes profiles of what came out.
type profiler struct {
	node   string
	client dynamic.Interface
	now    func() time.Time

	counting map[string]*counting // by cgroup
	next     map[string]time.Time // when a profile may be measured, by its namespace and name
	said     string               // why the machine does not count
}

// counting is a container that is counted.
type counting struct {
	container
	since time.Time // when the machine began; zero until it has
	sum   counts
}

// container is one that runs, and whose profile has a use: its pod has a controller, whose next pods it is about, and no label that goes before it.
type container struct {
	pod   *v1.Pod
	image string // as in the spec
	id    string
}

func newProfiler(node string, client dynamic.Interface, now func() time.Time) *profiler {
	return &profiler{node: node, client: client, now: now, counting: map[string]*counting{}, next: map[string]time.Time{}}
}

// running is the cgroups to count: those that were chosen and whose containers still run.
func (p *profiler) running(mount string, pods []*v1.Pod) []string {
	there := map[string]*counting{}
	for _, c := range containers(pods) {
		cgroup, _ := c.cgroup(mount)
		if is := p.counting[cgroup]; is != nil {
			there[cgroup] = is
		}
	}
	p.counting = there
	return slices.Collect(maps.Keys(there))
}

// choose adds containers to count from the next look on.
func (p *profiler) choose(ctx context.Context, mount string, pods []*v1.Pod) {
	all, next, busy := containers(pods), map[string]time.Time{}, map[string]bool{}
	for _, c := range p.counting {
		busy[c.key()] = true
	}
	for _, c := range all {
		next[c.key()] = p.next[c.key()]
	}
	p.next = next
	for _, c := range all {
		if len(p.counting) == mostCounted {
			return
		}
		cgroup, _ := c.cgroup(mount)
		if cgroup == "" || busy[c.key()] {
			continue
		}
		due, err := p.isDue(ctx, c)
		if err != nil {
			// After a deadline all others would fail, too. They are tried at the next look.
			klog.ErrorS(err, "Not measured", "pod", klog.KObj(c.pod), "image", c.image)
			p.next[c.key()] = p.now().Add(tryAgain)
			return
		}
		if due {
			p.counting[cgroup], busy[c.key()] = &counting{container: c}, true
		}
	}
}

// isDue says whether the container's profile is missing or old. Another node may have written it.
func (p *profiler) isDue(ctx context.Context, c container) (bool, error) {
	now := p.now()
	if now.Before(p.next[c.key()]) {
		return false, nil
	}
	is, err := p.get(ctx, c)
	if err != nil || is == nil {
		return err == nil, err
	}
	p.next[c.key()] = is.Spec.MeasuredAt.Add(measureAgain)
	return !now.Before(p.next[c.key()]), nil
}

// read takes what was counted, and writes the profiles of those that were counted for long enough.
func (p *profiler) read(ctx context.Context, is answer) {
	now := p.now()
	for cgroup, c := range p.counting {
		if why := is.Left[cgroup]; why != "" {
			if p.said != why {
				p.said = why
				klog.InfoS("Not measured: profiles are those that others write", "why", why)
			}
			p.end(cgroup, now.Add(tryAgain))
			continue
		}
		c.sum.Misses += is.Counted[cgroup].Misses
		c.sum.Instructions += is.Counted[cgroup].Instructions
		switch {
		case c.since.IsZero():
			c.since = now
		case now.Before(c.since.Add(countFor)):
		case c.sum.Instructions < enough:
			p.end(cgroup, now.Add(tryAgain))
		default:
			again := measureAgain
			if err := p.write(ctx, c); err != nil {
				klog.ErrorS(err, "Not written: IntensityProfile. Is fleet/manifests/intensityprofile.yaml applied?", "pod", klog.KObj(c.pod), "image", c.image)
				again = tryAgain
			}
			p.end(cgroup, now.Add(again))
		}
	}
}

func (p *profiler) end(cgroup string, next time.Time) {
	p.next[p.counting[cgroup].key()] = next
	delete(p.counting, cgroup)
}

// write replaces the profile, if no other node has written it meanwhile. It belongs to the controller of the pod that was measured, and goes with that.
func (p *profiler) write(ctx context.Context, c *counting) error {
	is, err := p.get(ctx, c.container)
	if err != nil {
		return err
	}
	to, write := p.client.Resource(api.IntensityProfiles).Namespace(c.pod.Namespace), "create"
	profile := &api.IntensityProfile{ObjectMeta: metav1.ObjectMeta{Namespace: c.pod.Namespace, Name: c.name()}}
	if is != nil {
		profile, write = is, "update"
	}
	owner := metav1.GetControllerOf(c.pod)
	profile.TypeMeta = metav1.TypeMeta{APIVersion: api.IntensityProfiles.GroupVersion().String(), Kind: "IntensityProfile"}
	profile.OwnerReferences = []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID}}
	profile.Spec = api.IntensityProfileSpec{
		Owner: api.OwnerOf(c.pod), Image: c.image, Source: "counters of node " + p.node, MeasuredAt: metav1.NewTime(p.now()),
		Intensity: fmt.Sprintf("%.3f", min(1000, float64(c.sum.Misses)*1000/float64(c.sum.Instructions))),
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(profile)
	if err != nil {
		return err
	}
	if write == "create" {
		_, err = to.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	} else {
		_, err = to.Update(ctx, &unstructured.Unstructured{Object: object}, metav1.UpdateOptions{})
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// get is the profile that an agent wrote, or nil.
func (p *profiler) get(ctx context.Context, c container) (*api.IntensityProfile, error) {
	is, err := p.client.Resource(api.IntensityProfiles).Namespace(c.pod.Namespace).Get(ctx, c.name(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	profile := &api.IntensityProfile{}
	return profile, runtime.DefaultUnstructuredConverter.FromUnstructured(is.Object, profile)
}

func containers(pods []*v1.Pod) (found []container) {
	for _, pod := range pods {
		_, declared := pod.Labels[api.IntensityLabel]
		if declared || metav1.GetControllerOf(pod) == nil || api.IsNodesOwn(pod) {
			continue
		}
		images := map[string]string{}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			images[c.Name] = c.Image
		}
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if _, id, is := strings.Cut(status.ContainerID, "://"); is && id != "" && status.State.Running != nil {
				found = append(found, container{pod, images[status.Name], id})
			}
		}
	}
	return found
}

// name is that of the profile: the same on all nodes.
func (c container) name() string {
	owner := api.OwnerOf(c.pod)
	return fmt.Sprintf("measured-%.8x", sha256.Sum256([]byte(owner.Kind+"\n"+owner.Name+"\n"+c.image)))
}

func (c container) key() string { return c.pod.Namespace + "/" + c.name() }

// cgroup is that of the container, below the mount point; nothing if there is none. CRI-O has a second one with its number, of the process that watches it.
func (c container) cgroup(mount string) (string, error) {
	of, err := cgroupOf(mount, c.pod)
	if err != nil || of == "" {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(mount, of, "*"+c.id+"*"))
	for _, path := range found {
		if !strings.Contains(filepath.Base(path), "conmon") {
			path, relative := filepath.Rel(mount, path)
			return path, errors.Join(err, relative)
		}
	}
	return "", err
}
