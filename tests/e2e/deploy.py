"""The examples of deploy/: configurations are fine, units and manifests name what is there, and ports, names and flags fit together.

usage: deploy.py SHOAL SOURCE_ROOT
"""
import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile

import toy

try:
    import yaml
except ImportError:
    yaml = None

SHOAL, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DEPLOY = os.path.join(ROOT, "deploy")
ROLES = ["node", "gateway", "manager"]
VARIABLES = {"HOST": "a.example", "API_KEY": "client", "ADMIN_KEY": "operator", "POD_NAME": "shoal-node-0"}


def need_yaml():
    if yaml is None:
        raise toy.Skip("the yaml package is not installed")


def read(*parts):
    with open(os.path.join(DEPLOY, *parts), encoding="utf-8") as file:
        return file.read()


def run(*words, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SHOAL_")} | more
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)


def variables_of(text):
    return set(re.findall(r"\$\{env\.(\w+)\}", text))


def check_config(text, where):
    """`shoal config check` likes it, and each variable of it is one that a deployment sets."""
    used = variables_of(text)
    assert used <= set(VARIABLES), (where, used)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        done = run(SHOAL, "config", "check", file.name, **{name: VARIABLES[name] for name in used})
    assert done.returncode == 0 and ": fine, " in done.stdout, (where, done.stdout, done.stderr)


def check_roles(configs, where):
    """The configurations of one cluster: the same store and models, one role each, and a node that can be reached."""
    node, gateway, manager = (yaml.safe_load(configs[role]) for role in ROLES)
    for key in ("store", "models", "model_cache"):
        assert node[key] == gateway[key] == manager[key], (where, key)
    assert "bus_listen" in node and "bus_listen" not in gateway and "bus_listen" not in manager, where
    assert "state_dir" in node and "state_dir" in manager and node["state_dir"] != manager["state_dir"], where
    assert node["bus_advertise"].rsplit(":", 1)[1] == node["bus_listen"].rsplit(":", 1)[1], where
    assert len({config["listen"].rsplit(":", 1)[1] for config in (node, gateway)} | {node["bus_listen"].rsplit(":", 1)[1]}) == 3, where
    assert {name.split(".")[0] for name in node["bus_names"]} == {"gateway", "manager"}, where
    return dict(zip(ROLES, (node, gateway, manager)))


@toy.test
def deploy_machines():
    need_yaml()
    configs = {role: read("machines", f"{role}.yaml") for role in ROLES}
    for role, text in configs.items():
        check_config(text, role)
    roles = check_roles(configs, "machines")
    etcd = dict(line.split("=", 1) for line in read("machines", "etcd.env").splitlines() if line and line[0] != "#")
    members = dict(part.split("=") for part in etcd["ETCD_INITIAL_CLUSTER"].split(","))
    hosts = {url.split("//")[1].split(":")[0] for url in members.values()}
    assert {url.split("//")[1] for url in roles["node"]["store"]} == {f"{host}:2379" for host in hosts} and len(hosts) == 3, hosts
    assert etcd["ETCD_ADVERTISE_CLIENT_URLS"] in roles["node"]["store"] and members[etcd["ETCD_NAME"]] == etcd["ETCD_INITIAL_ADVERTISE_PEER_URLS"]
    if shutil.which("etcd"):
        help_text = run("etcd", "--help")
        for name in etcd:
            flag = "--" + name.removeprefix("ETCD_").lower().replace("_", "-")
            assert re.search(rf"{flag}\b", help_text.stdout + help_text.stderr), flag


@toy.test
def deploy_units():
    names = sorted(os.listdir(os.path.join(DEPLOY, "systemd")))
    assert names == sorted(f"shoal-{role}.service" for role in ROLES), names
    with tempfile.TemporaryDirectory() as folder:
        for role in ROLES:
            text = read("systemd", f"shoal-{role}.service")
            unit = configparser.ConfigParser(strict=False, interpolation=None, delimiters=("=",))
            unit.optionxform = str
            unit.read_string(text)
            service = unit["Service"]
            words = service["ExecStart"].split()
            assert words[0] == "/usr/bin/shoal" and words[1] == role and words[2] == f"/etc/shoal/{role}.yaml", words
            assert os.path.exists(os.path.join(DEPLOY, "machines", os.path.basename(words[2]))), words
            help_text = run(SHOAL, role, "--help").stdout
            assert all(re.search(rf"{word.split('=')[0]}\b", help_text) for word in words[3:]), words
            assert service["EnvironmentFile"] == f"/etc/shoal/{role}.env" and service["NoNewPrivileges"] == "yes"
            state = yaml.safe_load(read("machines", f"{role}.yaml")) if yaml else {}
            for key in ("state_dir", "model_cache"):
                assert key not in state or state[key].startswith(f"/var/lib/{service['StateDirectory']}/"), (role, key)
            with open(os.path.join(folder, f"shoal-{role}.service"), "w", encoding="utf-8") as file:
                file.write(text.replace("/usr/bin/shoal", SHOAL))
        if shutil.which("systemd-analyze") is None:
            raise toy.Skip("systemd-analyze is not installed")
        done = run("systemd-analyze", "verify", "--man=no", *(os.path.join(folder, name) for name in names))
        said = [line for line in (done.stdout + done.stderr).splitlines() if folder in line or "shoal-" in line]
        assert not said, said
        with open(os.path.join(folder, names[0]), "a", encoding="utf-8") as file:
            file.write("[Service]\nProtectSystem=perhaps\nExecStart=/nowhere/shoal\n")
        done = run("systemd-analyze", "verify", "--man=no", os.path.join(folder, names[0]))
        assert "perhaps" in done.stderr or "ProtectSystem" in done.stderr, done.stderr  # it is a check that can fail


def by_kind(documents, kind):
    return {d["metadata"]["name"]: d for d in documents if d["kind"] == kind}


def check_pod(name, spec, config_map):
    """A workload's pod: what its command, mounts, variables and ports name is there."""
    template = spec["template"]
    labels, pod = template["metadata"]["labels"], template["spec"]
    assert spec["selector"]["matchLabels"].items() <= labels.items(), name
    container = pod["containers"][0]
    role, path = container["args"][0], container["args"][1]
    assert container["command"] == ["/usr/bin/shoal"] and role in ROLES and name == f"shoal-{role}", container
    volumes = {v["name"] for v in pod["volumes"]} | {c["metadata"]["name"] for c in spec.get("volumeClaimTemplates", [])}
    mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
    assert set(mounts.values()) == volumes, (name, mounts, volumes)
    folder, file = os.path.split(path)
    assert mounts[folder] == "config" and file in config_map, (name, path)
    text = config_map[file]
    config = yaml.safe_load(text)
    assert variables_of(text) == {e["name"] for e in container.get("env", [])}, (name, variables_of(text))
    for key, value in config.items():
        if isinstance(value, str) and value.startswith("/"):
            assert any(value.startswith(mount + "/") for mount in mounts), (name, key, value)
    ports = {p["name"]: p["containerPort"] for p in container.get("ports", [])}
    wanted = {"http": config.get("listen"), "bus": config.get("bus_listen")}
    assert ports == {k: int(v.rsplit(":", 1)[1]) for k, v in wanted.items() if v}, (name, ports)
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert (probe in container) == ("http" in ports), (name, probe)
        assert probe not in container or container[probe]["httpGet"]["port"] in ports, (name, probe)
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"] and pod["securityContext"]["runAsNonRoot"], name
    return labels, ports, config, pod


@toy.test
def deploy_kubernetes():
    need_yaml()
    names = sorted(os.listdir(os.path.join(DEPLOY, "kubernetes")))
    texts = {name: read("kubernetes", name) for name in names}
    documents = [d for text in texts.values() for d in yaml.safe_load_all(text)]
    assert all(d["metadata"].get("namespace", "shoal") == "shoal" and d["apiVersion"] in ("v1", "apps/v1") for d in documents)
    config_map = by_kind(documents, "ConfigMap")["shoal"]["data"]
    configs = {role: config_map[f"{role}.yaml"] for role in ROLES}
    for role, text in configs.items():
        check_config(text, f"kubernetes {role}")
    check_roles(configs, "kubernetes")
    services, sets = by_kind(documents, "Service"), by_kind(documents, "StatefulSet")
    workloads = sets | by_kind(documents, "Deployment")
    assert set(sets) == {"shoal-node", "shoal-manager"} and set(workloads) == {f"shoal-{role}" for role in ROLES}, workloads
    pods = {name: check_pod(name, d["spec"], config_map) for name, d in workloads.items()}
    for name, service in services.items():
        labels = service["spec"]["selector"]
        found = [ports for of, ports, _, _ in pods.values() if labels.items() <= of.items()]
        assert len(found) == 1, (name, found)
        for port in service["spec"].get("ports", []):
            assert found[0][port["targetPort"]] == port["port"], (name, port)
    for name, workload in sets.items():
        service = services[workload["spec"]["serviceName"]]
        assert service["spec"]["clusterIP"] == "None", name
    node = yaml.safe_load(configs["node"])
    assert node["bus_advertise"] == f"${{env.POD_NAME}}.{sets['shoal-node']['spec']['serviceName']}.shoal.svc:7501", node["bus_advertise"]
    secrets = {v["secret"]["secretName"] for _, _, _, pod in pods.values() for v in pod["volumes"] if "secret" in v}
    secrets |= {e["valueFrom"]["secretKeyRef"]["name"] for d in workloads.values() for e in d["spec"]["template"]["spec"]["containers"][0].get("env", [])
                if "secretKeyRef" in e["valueFrom"]}
    assert all(f"#   {secret} " in texts["config.yaml"] for secret in secrets), secrets


@toy.test
def deploy_readme():
    """Each folder and file that the page names is there."""
    text = read("README.md")
    for name in re.findall(r"`(\w+/)`", text):
        assert os.path.isdir(os.path.join(DEPLOY, name)), name
    for name in os.listdir(DEPLOY):
        assert name == "README.md" or f"`{name}/`" in text, name


toy.run()
