// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// cgroupOf is the pod's cgroup below the mount point, or nothing if there is none yet. Kubelet calls it pod<UID>, in kubepods or in a folder of the pod's class there, and with
// systemd as driver kubepods[-CLASS]-pod<UID with underscores>.slice. A kubelet with a cgroupRoot has all that one folder further down.
func cgroupOf(mount string, pod *v1.Pod) (string, error) {
	for _, uid := range []string{string(pod.UID), strings.ReplaceAll(string(pod.UID), "-", "_")} {
		for _, above := range []string{"*kubepods*", "*kubepods*/*", "*/*kubepods*", "*/*kubepods*/*"} {
			found, err := filepath.Glob(filepath.Join(mount, above, "*pod"+uid+"*"))
			if err != nil {
				return "", fmt.Errorf("UID %q: %w", uid, err)
			}
			if len(found) > 0 {
				return filepath.Rel(mount, found[0])
			}
		}
	}
	return "", nil
}
