// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"lopsided/fleet/api"
	"lopsided/fleet/gather"
)

// profiles knows how intensively pods use memory: by the label of the pod, or else by the profiles of its containers.
type profiles struct {
	indexer    cache.Indexer // of *api.IntensityProfile, by byImage
	staleAfter time.Duration
	now        func() time.Time
}

const byImage = "image"

var profileIndexers = cache.Indexers{byImage: func(object any) ([]string, error) {
	p, ok := object.(*api.IntensityProfile)
	if !ok {
		return nil, nil // one that can't be read
	}
	return []string{imageKey(p.Namespace, p.Spec.Owner, p.Spec.Image)}, nil
}}

func imageKey(namespace string, owner api.Owner, image string) string {
	return strings.Join([]string{namespace, owner.Kind, owner.Name, image}, "\n")
}

// intensity is the highest of the pod's containers. It is the zero value for what is not known, of one container or of all, which counts as intensive. An error
// says why it is not.
func (p *profiles) intensity(pod *v1.Pod) (highest gather.Intensity, err error) {
	if text, found := pod.Labels[api.IntensityLabel]; found {
		if highest, err = parseIntensity(text); err != nil {
			err = fmt.Errorf("label %s: %w", api.IntensityLabel, err)
		}
		return highest, err
	}
	owner := api.OwnerOf(pod)
	for n, image := range images(pod) {
		is, err := p.of(imageKey(pod.Namespace, owner, image))
		if err != nil || is.Class() == gather.Unknown {
			return gather.Intensity{}, err
		}
		if n == 0 || is.Class() > highest.Class() || is.Class() == highest.Class() && is.MPMI > highest.MPMI {
			highest = is
		}
	}
	return highest, nil
}

// images are those of the containers that run all the while.
func images(pod *v1.Pod) (images []string) {
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			images = append(images, c.Image)
		}
	}
	for _, c := range pod.Spec.Containers {
		images = append(images, c.Image)
	}
	return images
}

// of is what the newest profile says, if it is new enough.
func (p *profiles) of(key string) (gather.Intensity, error) {
	found, err := p.indexer.ByIndex(byImage, key)
	if err != nil {
		return gather.Intensity{}, err
	}
	var newest *api.IntensityProfile
	for _, object := range found {
		is := object.(*api.IntensityProfile)
		if newest == nil || is.Spec.MeasuredAt.After(newest.Spec.MeasuredAt.Time) ||
			is.Spec.MeasuredAt.Equal(&newest.Spec.MeasuredAt) && is.Name < newest.Name {
			newest = is
		}
	}
	if newest == nil {
		return gather.Intensity{}, nil
	}
	if age := p.now().Sub(newest.Spec.MeasuredAt.Time); age.Abs() > p.staleAfter {
		return gather.Intensity{}, fmt.Errorf("IntensityProfile %s: measured %v ago, more than %v", newest.Name, age.Round(time.Second), p.staleAfter)
	}
	is, err := parseIntensity(newest.Spec.Intensity)
	if err != nil {
		return gather.Intensity{}, fmt.Errorf("IntensityProfile %s: intensity: %w", newest.Name, err)
	}
	return is, nil
}

// watchProfiles is a cache of the profiles of all namespaces that has all there are now, and calls changed whenever one changes. Where the resource
// is not defined it stays empty.
func watchProfiles(ctx context.Context, to *rest.Config, changed func()) (cache.Indexer, error) {
	client, err := dynamic.NewForConfig(to)
	if err != nil {
		return nil, err
	}
	resource := client.Resource(api.IntensityProfiles)
	switch _, err := resource.List(ctx, metav1.ListOptions{Limit: 1}); {
	case apierrors.IsNotFound(err):
		klog.InfoS("Intensities are those of labels only: the resource is not defined. To use profiles, apply fleet/manifests/intensityprofile.yaml and restart", "resource", api.IntensityProfiles)
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc, profileIndexers), nil
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("grant list and watch, as fleet/README.md says: %w", err)
	case err != nil:
		return nil, err
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, api.IntensityProfiles, metav1.NamespaceAll, 0, profileIndexers, nil).Informer()
	if err := informer.SetTransform(readProfile); err != nil {
		return nil, err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return nil, ctx.Err()
	}
	return informer.GetIndexer(), nil
}

// readProfile leaves what is no profile as it is. The definition of the resource refuses such ones.
func readProfile(object any) (any, error) {
	from, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	p := &api.IntensityProfile{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, p); err != nil {
		klog.ErrorS(err, "Not used: IntensityProfile", "namespace", from.GetNamespace(), "name", from.GetName())
		return object, nil
	}
	return p, nil
}
