// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"lopsided/fleet/gather"
)

// decode reads a configuration as kube-scheduler does: strictly, the args by the scheme, which then fills in defaults.
func decode(t *testing.T, args string) (runtime.Object, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{configv1.AddToScheme, AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n  - name: Gather\n    args: " + args
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
	read := &configv1.KubeSchedulerConfiguration{}
	if err := runtime.DecodeInto(decoder, []byte(text), read); err != nil {
		return nil, err
	}
	object := read.Profiles[0].PluginConfig[0].Args.Object
	scheme.Default(object)
	return object, nil
}

func TestArgs(t *testing.T) {
	server := &profileServer{status: http.StatusNotFound}
	c := newCluster(t)
	c.kubeConfig = server.start(t)
	for _, test := range []struct {
		args       string
		staleAfter time.Duration
		refused    string
	}{
		{"{}", 5 * time.Minute, ""},
		{"{staleAfter: 90s}", 90 * time.Second, ""},
		{"{staleAfter: 1s}", time.Second, ""},
		{"{staleAfter: 999ms}", 0, "staleAfter: 999ms"},
		{"{staleAfter: -5m}", 0, "staleAfter: -5m0s"},
		{"{staleAfter: soon}", 0, "soon"},
		{"{profileStaleAfter: 999ms}", 0, "profileStaleAfter: 999ms"},
		{"{stale: 5m}", 0, `unknown field "stale"`},
	} {
		args, err := decode(t, test.args)
		var plugin any
		if err == nil {
			plugin, err = New(context.Background(), args, c)
		}
		switch {
		case test.refused != "":
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %v, which does not say %q", test.args, err, test.refused)
			}
		case err != nil:
			t.Errorf("%s: %v", test.args, err)
		default:
			g := plugin.(*Gather)
			if g.staleAfter != test.staleAfter || g.residents.profiles.staleAfter != 720*time.Hour {
				t.Errorf("%s: %v, not %v, and %v", test.args, g.staleAfter, test.staleAfter, g.residents.profiles.staleAfter)
			}
			if is, err := g.residents.profiles.intensity(c.pod("p", "1", "?")); is != (gather.Intensity{}) || err != nil {
				t.Errorf("no profiles are defined: %+v, %v", is, err)
			}
		}
	}
	if _, err := New(context.Background(), &runtime.Unknown{}, c); err == nil || !strings.Contains(err.Error(), "AddToScheme") {
		t.Errorf("args that the scheme doesn't know: %v", err)
	}
}
