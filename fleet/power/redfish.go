// SPDX-License-Identifier: Apache-2.0

package power

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Redfish is a management controller that speaks it.
type Redfish struct {
	System       string `yaml:"system"` // https://{node}-bmc/redfish/v1/Systems/1
	User         string `yaml:"user"`
	PasswordFile string `yaml:"passwordFile"` // read each time
	CAFile       string `yaml:"caFile"`       // whose certificates it has; those of the operating system if it is not set
	// Reset is the ResetType that is sent, one of resets; the first of these if it is not set.
	Reset string `yaml:"reset"`

	poll time.Duration // 2 s if it is not set
}

// resets are the ResetTypes that lead to a state.
var resets = map[bool][]string{false: {"GracefulShutdown", "ForceOff", "PushPowerButton"}, true: {"On", "ForceOn", "PushPowerButton"}}

func (r *Redfish) validate(on bool) error {
	u, err := url.Parse(fill(r.System, "node"))
	if err == nil && u.User != nil {
		return errors.New("redfish: system: it has a password or a user, which events would show: write user and passwordFile")
	}
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("redfish: system: %q: an address such as https://{node}-bmc/redfish/v1/Systems/1 is wanted", r.System)
	}
	if r.Reset != "" && !slices.Contains(resets[on], r.Reset) {
		return fmt.Errorf("redfish: reset: %q: one of %s is wanted", r.Reset, strings.Join(resets[on], ", "))
	}
	if r.User == "" || r.PasswordFile == "" {
		return errors.New("redfish: user and passwordFile are wanted")
	}
	return nil
}

// drive asks for the state until it is the wanted one, and for a change once the machine has settled in the other one.
func (r *Redfish) drive(ctx context.Context, node string, on bool) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	wanted, other := "Off", "On"
	if on {
		wanted, other = other, wanted
	}
	reset := cmp.Or(r.Reset, resets[on][0])
	system := fill(r.System, node)
	poll := r.poll
	if poll == 0 {
		poll = 2 * time.Second
	}
	for asked := false; ; {
		var is struct {
			PowerState string
			Actions    struct {
				Reset struct {
					Target string `json:"target"`
				} `json:"#ComputerSystem.Reset"`
			}
		}
		if err := r.call(ctx, client, http.MethodGet, system, nil, &is); err != nil {
			return err
		}
		if is.PowerState == wanted {
			return nil
		}
		if is.PowerState == other && !asked {
			asked = true
			target, err := sameHost(system, is.Actions.Reset.Target)
			if err != nil {
				return err
			}
			if err := r.call(ctx, client, http.MethodPost, target, map[string]string{"ResetType": reset}, nil); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: PowerState is %q, not %q", system, is.PowerState, wanted)
		case <-time.After(poll):
		}
	}
}

// sameHost refuses to send the password elsewhere.
func sameHost(system, target string) (string, error) {
	base, err := url.Parse(system)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(target)
	if err != nil || target == "" || u.Host != base.Host || u.Scheme != base.Scheme {
		return "", fmt.Errorf("%s: its action #ComputerSystem.Reset has the target %q: no system, or not of that host", system, target)
	}
	return u.String(), nil
}

func (r *Redfish) client() (*http.Client, error) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if r.CAFile != "" {
		text, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in PEM form", r.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	// Redirects would carry the password elsewhere.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// call sends JSON, if any, and reads JSON into answer, if any.
func (r *Redfish) call(ctx context.Context, client *http.Client, method, to string, send, answer any) error {
	password, err := os.ReadFile(r.PasswordFile)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if send != nil {
		if err := json.NewEncoder(&body).Encode(send); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, to, &body)
	if err != nil {
		return err
	}
	request.SetBasicAuth(r.User, strings.TrimRight(string(password), "\r\n"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s", method, to, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: %w", method, to, err)
	}
	return nil
}
