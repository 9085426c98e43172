# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/fleet-rate.sh and scripts/fleet-demo.sh ask of an API server: FLEET_SERVER, with FLEET_TOKEN and the certificate FLEET_CA.

    fleet-api.py nodes NUMBER DOMAINS     creates nodes n00000, n00001, ... with these memory domains, cores separated by commas
    fleet-api.py pods NUMBER SCHEDULER    creates as many pods of one core for that scheduler, a third of each class of intensity
    fleet-api.py rate NUMBER              waits until as many are bound, and prints pods per second between the first binding and the last
    fleet-api.py clear                    deletes all pods
    fleet-api.py place SCHEDULER NUMBER   has that scheduler place what stdin says, on so many machines, which are on. The lines, and what it answers:
                                              arrives POD CORES MPKI    MACHINE.DOMAIN, or MACHINE without a domain, or nowhere
                                              leaves POD                done
                                              off MACHINE               done
"""

import datetime
import http.client
import json
import os
import ssl
import sys
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from threading import local

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


class Api:
    """Requests to the API server, over one connection for each thread."""

    def __init__(self):
        self.server = urllib.parse.urlsplit(os.environ["FLEET_SERVER"])
        self.token = os.environ["FLEET_TOKEN"]
        self.tls = ssl.create_default_context(cafile=os.environ["FLEET_CA"])
        self.of_thread = local()

    def ask(self, method, path, body=None, kind="application/json"):
        """The answer, read as JSON. RuntimeError: the server refused, and why."""
        response = self.open(self.connection(), method, path, body, kind)
        text = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text.decode()}")
        return json.loads(text)

    def connection(self):
        if not hasattr(self.of_thread, "connection"):
            self.of_thread.connection = self.connect()
        return self.of_thread.connection

    def connect(self):
        return http.client.HTTPSConnection(self.server.hostname, self.server.port, context=self.tls, timeout=120)

    def open(self, connection, method, path, body=None, kind="application/json"):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        return connection.getresponse()


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%FT%TZ")


def node(name, domains):
    """Ready, and nobody says otherwise: without its controller in kube-controller-manager no node has to renew a lease."""
    room = {"cpu": str(sum(domains)), "memory": "256Gi", "pods": "110"}
    annotations = {"fleet.lopsided/domains": ",".join(map(str, domains)), "fleet.lopsided/published": now()}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "annotations": annotations, "labels": {"kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(name, scheduler, cores, mpki):
    main = {"name": "main", "image": "none", "resources": {"requests": {"cpu": str(cores)}}}
    metadata = {"name": name, "labels": {"fleet.lopsided/intensity": mpki}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"schedulerName": scheduler, "containers": [main]}}


def create(api, path, objects):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda made: api.ask("POST", path, made), objects))


def rate(api, number):
    while api.ask("GET", f"{PODS}?fieldSelector=spec.nodeName=&limit=1")["items"]:
        time.sleep(1)
    pods = api.ask("GET", PODS)["items"]
    bound = [c["lastTransitionTime"] for p in pods for c in p["status"]["conditions"] if c["type"] == "PodScheduled"]
    if len(bound) != number:
        raise RuntimeError(f"{len(bound)} pods are bound, not {number}")
    first, last = (datetime.datetime.fromisoformat(end(bound)) for end in (min, max))
    print(f"{number / ((last - first).total_seconds() + 1):.1f}")  # times are whole seconds


def clear(api):
    while api.ask("GET", f"{PODS}?limit=1")["items"]:
        api.ask("DELETE", f"{PODS}?gracePeriodSeconds=0")


class Cluster:
    """Has one scheduler place pods one after the other. A machine that is off is switched on for a pod that fits on none that is on, or that is nominated to it."""

    def __init__(self, scheduler, machines):
        self.api, self.scheduler, self.off = Api(), scheduler, set()
        for machine in range(machines):
            self.switch(machine, False)

    def switch(self, machine, off):
        """A node that is off is cordoned, as gather-power leaves it."""
        annotations = {"fleet.lopsided/power": "off" if off else None, "fleet.lopsided/published": now()}
        change = {"metadata": {"annotations": annotations}, "spec": {"unschedulable": off or None}}
        self.api.ask("PATCH", f"/api/v1/nodes/n{machine:05}", change, MERGE)
        (self.off.add if off else self.off.discard)(machine)

    def delete(self, name):
        self.api.ask("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")

    def settled(self, made, ready):
        """The pod, once that holds of it. TimeoutError: it took two minutes."""
        name, version = made["metadata"]["name"], made["metadata"]["resourceVersion"]
        connection = self.api.connect()
        query = f"watch=1&fieldSelector=metadata.name={name}&resourceVersion={version}&timeoutSeconds=120"
        for line in self.api.open(connection, "GET", f"{PODS}?{query}"):
            is_now = json.loads(line)["object"]
            if ready(is_now):
                connection.close()
                return is_now
        raise TimeoutError(f"{self.scheduler} has not decided about pod {name}")

    def arrives(self, number, cores, mpki):
        made = self.api.ask("POST", PODS, pod(f"p{number}", self.scheduler, cores, mpki))
        decided = self.settled(made, lambda p: is_bound(p) or is_unschedulable(p))
        if not is_bound(decided):
            on = self.wakes(decided)
            if on is None:
                self.delete(f"p{number}")
                return "nowhere"
            self.switch(on, False)
            decided = self.settled(decided, is_bound)
        domain = decided["metadata"].get("annotations", {}).get("fleet.lopsided/domain")
        machine = str(int(decided["spec"]["nodeName"][1:]))
        return machine if domain is None else f"{machine}.{domain}"

    def wakes(self, decided):
        """Gather says which machine it waits for; for other schedulers an autoscaler chooses, and all that are off are empty."""
        nominated = decided["status"].get("nominatedNodeName")
        if nominated:
            return int(nominated[1:])
        return None if self.scheduler == "gather-scheduler" else min(self.off, default=None)

    def leaves(self, number):
        self.delete(f"p{number}")
        return "done"

    def turned_off(self, machine):
        """Nodes and pods reach a scheduler by two ways. It has seen that the node is off once it refuses to put a pod there."""
        self.switch(int(machine), True)
        while True:
            probe = pod("probe", "probe", 0, "very-low")
            probe["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"n{int(machine):05}"}
            made = self.api.ask("POST", PODS, probe)
            decided = self.settled(made, lambda p: is_bound(p) or is_unschedulable(p))
            self.delete("probe")
            if not is_bound(decided):
                return "done"


def is_bound(pod):
    return "nodeName" in pod["spec"]


def is_unschedulable(pod):
    return any(c["type"] == "PodScheduled" and c.get("reason") == "Unschedulable" for c in pod["status"].get("conditions", []))


def place(scheduler, machines):
    cluster = Cluster(scheduler, machines)
    verbs = {"arrives": cluster.arrives, "leaves": cluster.leaves, "off": cluster.turned_off}
    for line in sys.stdin:
        verb, *arguments = line.split()
        print(verbs[verb](*arguments), flush=True)


def main(verb, *arguments):
    api = Api()
    if verb == "nodes":
        domains = [int(cores) for cores in arguments[1].split(",")]
        create(api, "/api/v1/nodes", [node(f"n{n:05}", domains) for n in range(int(arguments[0]))])
    elif verb == "pods":
        mpki = ["0.05", "0.5", "30"]
        create(api, PODS, [pod(f"p{n}", arguments[1], 1, mpki[n % 3]) for n in range(int(arguments[0]))])
    elif verb == "rate":
        rate(api, int(arguments[0]))
    elif verb == "place":
        place(arguments[0], int(arguments[1]))
    elif verb == "clear":
        clear(api)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
