// What the code of the kubelet and of kubeadm says about the files for nodes: one line of JSON for each file.
//
//	go -C rehearsal/gpuc_rehearsal/tools/programs/kubernetes build -o PROGRAM ../../../../../tests/substrates/on_premises/node_files.go
package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	kubeadmscheme "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/scheme"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	"k8s.io/kubernetes/pkg/kubelet/kubeletconfig/configfiles"
	utilfs "k8s.io/kubernetes/pkg/util/filesystem"
)

type said struct {
	File     string            `json:"file"`
	Error    string            `json:"error,omitempty"`
	Pods     int32             `json:"pods,omitempty"`
	Reserved map[string]string `json:"reserved,omitempty"`
	System   map[string]string `json:"system,omitempty"`
	Eviction map[string]string `json:"eviction,omitempty"`
	Policy   string            `json:"policy,omitempty"`
	Taints   []string          `json:"taints,omitempty"`
	Args     []string          `json:"args,omitempty"`
}

func kubelet(file string, answer *said) error {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	loader, err := configfiles.NewFsLoader(&utilfs.DefaultFs{}, absolute)
	if err != nil {
		return err
	}
	config, err := loader.Load(context.Background())
	if err != nil {
		return err
	}
	// The kubelet logs unknown fields only.
	text, err := os.ReadFile(absolute)
	if err != nil {
		return err
	}
	_, codecs, err := kubeletscheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	if _, _, err := codecs.UniversalDecoder().Decode(text, nil, nil); err != nil {
		return err
	}
	config.FailCgroupV1 = false // about the machine of the test, not about the file
	if err := validation.ValidateKubeletConfiguration(config, utilfeature.DefaultFeatureGate); err != nil {
		return err
	}
	if _, err := eviction.ParseThresholdConfig(config.EnforceNodeAllocatable, config.EvictionHard, nil, nil, nil); err != nil {
		return err
	}
	answer.Pods, answer.Reserved, answer.System = config.MaxPods, config.KubeReserved, config.SystemReserved
	answer.Eviction, answer.Policy = config.EvictionHard, config.TopologyManagerPolicy
	return nil
}

func join(file string, answer *said) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	strict := serializer.NewCodecFactory(kubeadmscheme.Scheme, serializer.EnableStrict)
	config := &kubeadm.JoinConfiguration{}
	if err := runtime.DecodeInto(strict.UniversalDecoder(), text, config); err != nil {
		return err
	}
	for _, taint := range config.NodeRegistration.Taints {
		answer.Taints = append(answer.Taints, taint.ToString())
	}
	for _, argument := range config.NodeRegistration.KubeletExtraArgs {
		answer.Args = append(answer.Args, argument.Name+"="+argument.Value)
	}
	return nil
}

func main() {
	for _, file := range os.Args[1:] {
		answer := said{File: file}
		check := kubelet
		if strings.HasPrefix(filepath.Base(file), "join") {
			check = join
		}
		if err := check(file, &answer); err != nil {
			answer.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
			panic(err)
		}
	}
}
