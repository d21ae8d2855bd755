// karpenter-hash prints the values by which Karpenter detects that nodes differ from their NodePool or EC2NodeClass.
//
// The input is a stream of JSON objects. The output has a line for each object:
//   - NodePool and EC2NodeClass: the hash that the controllers of Karpenter write into the annotations
//     karpenter.sh/nodepool-hash and karpenter.k8s.aws/ec2nodeclass-hash.
//   - NodeClaim, with labels in metadata and the requirements of a NodePool in spec: "kept" if the labels meet the
//     requirements, else "drifted".
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	aws "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		printVersions()
		return
	}
	if err := printLines(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func printVersions() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/aws/karpenter-provider-aws" || module.Path == "sigs.k8s.io/karpenter" {
			fmt.Println(module.Path, module.Version)
		}
	}
}

func printLines(input io.Reader, output io.Writer) error {
	buffered := bufio.NewWriter(output)
	defer buffered.Flush()
	decoder := json.NewDecoder(input)
	for {
		var object json.RawMessage
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		line, err := lineOf(object)
		if err != nil {
			return err
		}
		fmt.Fprintln(buffered, line)
	}
}

func lineOf(object []byte) (string, error) {
	var head struct{ Kind string }
	if err := json.Unmarshal(object, &head); err != nil {
		return "", err
	}
	switch head.Kind {
	case "NodePool":
		var pool karpenter.NodePool
		err := json.Unmarshal(object, &pool)
		return pool.Hash(), err
	case "EC2NodeClass":
		var class aws.EC2NodeClass
		err := json.Unmarshal(object, &class)
		// Clusters of EKS need no own bundle of certificates. A bundle would change all hashes in the same way.
		return class.Hash(nil), err
	case "NodeClaim":
		var claim karpenter.NodeClaim
		err := json.Unmarshal(object, &claim)
		return stateOf(claim), err
	}
	return "", fmt.Errorf("kind %q is not supported", head.Kind)
}

// stateOf compares a node with requirements by the functions that pkg/controllers/nodeclaim/disruption/drift.go
// (areRequirementsDrifted) calls.
func stateOf(claim karpenter.NodeClaim) string {
	labels := scheduling.NewLabelRequirements(claim.Labels)
	if labels.Compatible(scheduling.NewNodeSelectorRequirementsWithMinValues(claim.Spec.Requirements...)) != nil {
		return "drifted"
	}
	return "kept"
}
