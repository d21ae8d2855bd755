"""Shares that exist become volumes of namespaces: the objects, and what trace, plan and isolation say about them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from gpuc.emit.tenants import VOLUME_CLAIMS_MAX
from tests.conftest import MACHINES, edit

SHARES = re.compile(r"        home:\n          nfs: .*\n          size: 20Ti\n          options: .*\n")
VOLUME = "volumes: {home: {share: home}}"
CEPH = "attributes: {clusterID: c1, fsName: fs1, rootPath: /volumes/gpuc}, stageSecret: storage/ceph"


def spec_of(lab: Path) -> Path:
    return lab / "specs/onprem-lab1.yaml"


def objects(lab: Path, share: str = "", volume: str = "home: {share: home}") -> tuple[dict[str, Any], dict[str, Any]]:
    """The spec of the PersistentVolume and of the claim after a compile.

    Args:
        share: the share home, without its size; empty for the one of the example.
    """
    spec = spec_of(lab)
    if share:
        text, count = SHARES.subn(f"        home: {{{share}, size: 20Ti}}\n", spec.read_text())
        assert count == 1
        spec.write_text(text)
    edit(spec, (VOLUME, f"volumes: {{{volume}}}"))
    assert main(["compile"]) == 0
    files = lab / "out/onprem-lab1/tenants/lab.volumes.yaml"
    first, second = yaml.safe_load_all(files.read_text())
    assert (first["kind"], second["kind"]) == ("PersistentVolume", "PersistentVolumeClaim")
    assert first["spec"]["claimRef"] == {"namespace": "lab-train", "name": second["metadata"]["name"]}
    assert second["spec"]["volumeName"] == first["metadata"]["name"] == f"lab-train.{second['metadata']['name']}"
    assert first["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert all(
        "Prune=false" in row["metadata"]["annotations"]["argocd.argoproj.io/sync-options"] for row in (first, second)
    )
    return first["spec"], second["spec"]


def test_a_folder_of_an_nfs_share(lab: Path) -> None:
    volume, claim = objects(lab, volume="data: {share: home, path: lab/data, readOnly: true}")
    assert volume["nfs"] == {"server": "nfs1.example.com", "path": "/export/gpuc/lab/data", "readOnly": True}
    assert volume["mountOptions"] == ["nfsvers=4.1", "hard"]
    assert volume["accessModes"] == claim["accessModes"] == ["ReadOnlyMany"]
    assert volume["capacity"]["storage"] == claim["resources"]["requests"]["storage"] == "20Ti"
    # Without a class, a default StorageClass does not apply. The API server does not store an empty class of a volume.
    assert (volume.get("storageClassName"), claim["storageClassName"]) == (None, "")


def test_a_folder_of_an_export_of_the_root(lab: Path) -> None:
    volume, _ = objects(lab, "nfs: {server: nfs1.example.com, path: /}", "home: {share: home, path: lab}")
    assert volume["nfs"]["path"] == "/lab"


@pytest.mark.parametrize(
    ("share", "source", "options"),
    [
        (
            "csi: {driver: csi.juicefs.com, publishSecret: storage/juicefs}",
            {
                "driver": "csi.juicefs.com", "volumeHandle": "lab-train.home", "fsType": "juicefs",
                "nodePublishSecretRef": {"name": "juicefs", "namespace": "storage"},
            },
            ["subdir=/lab"],
        ),
        (
            f"csi: {{driver: rook-ceph.cephfs.csi.ceph.com, {CEPH}}}",
            {
                "driver": "rook-ceph.cephfs.csi.ceph.com", "volumeHandle": "lab-train.home",
                "volumeAttributes": {
                    "clusterID": "c1", "fsName": "fs1", "rootPath": "/volumes/gpuc/lab", "staticVolume": "true",
                },
                "nodeStageSecretRef": {"name": "ceph", "namespace": "storage"},
            },
            None,
        ),
    ],
    ids=["juicefs", "cephfs"],
)  # fmt: skip
def test_a_folder_of_a_csi_share(lab: Path, share: str, source: dict[str, Any], options: list[str] | None) -> None:
    volume, _ = objects(lab, share, "home: {share: home, path: lab}")
    assert volume["csi"] == source
    assert volume.get("mountOptions") == options
    assert "nfs" not in volume


def test_a_file_system_of_lustre_has_its_own_handle(lab: Path) -> None:
    volume, _ = objects(lab, 'csi: {driver: lustre-csi.hpe.com, handle: "10.1.1.1@tcp:/fs1"}')
    assert volume["csi"] == {"driver": "lustre-csi.hpe.com", "volumeHandle": "10.1.1.1@tcp:/fs1", "fsType": "lustre"}


def test_claims_of_the_spec_leave_members_their_number_of_claims(lab: Path) -> None:
    quotas = {
        row["metadata"]["namespace"]: row["spec"]["hard"]
        for row in yaml.safe_load_all((lab / "out/onprem-lab1/tenants/lab.yaml").read_text())
        if row["kind"] == "ResourceQuota" and row["metadata"]["name"] == "gpuc"
    }
    assert int(quotas["lab-train"]["persistentvolumeclaims"]) == VOLUME_CLAIMS_MAX + 1
    assert int(quotas["lab-serve"]["persistentvolumeclaims"]) == VOLUME_CLAIMS_MAX


@pytest.mark.parametrize(("claim", "is_known"), [("home", True), ("homes", False)])
def test_trace_knows_the_claim(lab: Path, claim: str, is_known: bool, capsys: pytest.CaptureFixture[str]) -> None:
    job = yaml.safe_load((lab / "out/onprem-lab1/workloads/train-a100.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    pod.setdefault("volumes", []).append({"name": "data", "persistentVolumeClaim": {"claimName": claim}})
    (lab / "job.yaml").write_text(json.dumps(job))
    main(["trace", "onprem-lab1", "-f", "job.yaml"])
    missing = f"PersistentVolumeClaim lab-train/{claim} is not in the input"
    assert (missing not in capsys.readouterr().out) is is_known


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (VOLUME, "volumes: {}", "claim home leaves the spec, and pods can use it until you delete it"),
        (VOLUME, "volumes: {home: {share: home}, sets: {share: home, path: sets}}", "pods can mount claim sets"),
        ("path: /export/gpuc", "path: /export/new", "the API server refuses the change"),
        ("size: 20Ti", "size: 10Ti", "a PersistentVolumeClaim cannot become smaller"),
    ],
)
def test_plan(lab: Path, old: str, new: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    edit(spec_of(lab), (old, new))
    main(["plan", "--against", str(MACHINES)])
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize(
    ("level", "stage", "basis"),
    [("baseline", "deny", "checked"), ("restricted", "warn", "checked"), ("baseline", "warn", "assumed")],
)
def test_isolation_says_what_policies_do_not_cover(
    lab: Path, level: str, stage: str, basis: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = spec_of(lab)
    edit(spec, ("policies: {default: deny}", f"policies: {{default: deny, host-access: {stage}}}"))
    spec.write_text(spec.read_text().replace("podSecurity: baseline", f"podSecurity: {level}"))
    assert main(["isolation", "onprem-lab1"]) == 0
    claim = "tenants mount no NFS exports of other tenants; nodes mount them, and NetworkPolicies do not apply"
    assert re.search(rf"{basis} +{claim}", capsys.readouterr().out)


def test_locked_memory_is_a_drop_in_of_containerd(lab: Path) -> None:
    edit(spec_of(lab), ("      gpuDriver: operator\n", "      gpuDriver: operator\n      memlock: unlimited\n"))
    assert main(["compile"]) == 0
    for pool in ("train-a100", "serve-l40s"):
        file = lab / f"clusters/onprem-lab1/nodes/{pool}/containerd.service.d/memlock.conf"
        assert "LimitMEMLOCK=infinity" in file.read_text()
    assert not list((lab / "clusters/lab-dc1").rglob("memlock.conf"))


def test_templates_mount_the_volumes_of_their_namespace(lab: Path) -> None:
    objects(lab, volume="data: {share: home, path: lab/data, readOnly: true}")
    job = yaml.safe_load((lab / "out/onprem-lab1/workloads/train-a100.yaml").read_text())
    pod = job["spec"]["template"]["spec"]
    assert pod["volumes"][1]["persistentVolumeClaim"] == {"claimName": "data", "readOnly": True}
    mounts = {row["mountPath"]: row["name"] for row in pod["containers"][0]["volumeMounts"]}
    assert mounts == {"/dev/shm": "shm", "/mnt/data": pod["volumes"][1]["name"]}
