// What upstream answers to the cases of test_upstream.py, in the order in which that test makes them:
// 1 for yes, 0 for no, E for what upstream refuses.
//
//	go -C rehearsal/gpuc_rehearsal/tools/programs/karpenter run ../../../../../tests/kubernetes/upstream.go > tests/kubernetes/upstream.json
package main

import (
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

var (
	operators = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "in", ""}
	values    = [][]string{{}, {"x"}, {"x", "y"}, {"5"}, {"-1"}, {"x!"}, {""}, {"9223372036854775808"}}
	nodes     = []labels.Set{{}, {"a": "x"}, {"a": "y"}, {"a": "5"}, {"a": "6"}, {"a": "-5"}, {"a": ""}, {"b": "x"}}
	offered   = []rule{{"In", []string{"x"}}, {"In", []string{"x", "y"}}, {"In", []string{"5", "6"}}, {"NotIn", []string{"x"}},
		{"Exists", nil}, {"DoesNotExist", nil}, {"Gt", []string{"4"}}, {"Lt", []string{"6"}}, {"Gte", []string{"6"}}, {"Lte", []string{"5"}}}
)

type rule struct {
	operator string
	values   []string
}

func bit(yes bool) byte {
	if yes {
		return '1'
	}
	return '0'
}

func labelSelectors() (said []byte) {
	for _, key := range []string{"a", "-bad"} {
		for _, operator := range operators {
			for _, texts := range values {
				selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: texts}}})
				for _, node := range nodes {
					if err != nil {
						said = append(said, 'E')
					} else {
						said = append(said, bit(selector.Matches(node)))
					}
				}
			}
		}
	}
	return said
}

func nodeSelectors() (said []byte) {
	for _, key := range []string{"a", "-bad"} {
		for _, operator := range operators {
			for _, texts := range values {
				selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOperator(operator), Values: texts}}}}})
				for _, node := range nodes {
					if err != nil {
						said = append(said, 'E')
					} else {
						said = append(said, bit(selector.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: node}})))
					}
				}
			}
		}
	}
	return said
}

func tolerations() (said []byte) {
	for _, key := range []string{"", "k", "l"} {
		for _, operator := range []string{"", "Equal", "Exists", "Lt", "Gt", "exists"} {
			for _, value := range []string{"", "v", "5"} {
				for _, effect := range []string{"", "NoSchedule", "NoExecute"} {
					for _, has := range []string{"", "v", "4"} {
						for _, does := range []string{"NoSchedule", "NoExecute", "PreferNoSchedule"} {
							toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOperator(operator), Value: value, Effect: corev1.TaintEffect(effect)}
							taint := corev1.Taint{Key: "k", Value: has, Effect: corev1.TaintEffect(does)}
							said = append(said, bit(toleration.ToleratesTaint(klog.Background(), &taint, false)))
						}
					}
				}
			}
		}
	}
	return said
}

func requirement(key string, rule rule) *scheduling.Requirement {
	return scheduling.NewRequirement(key, corev1.NodeSelectorOperator(rule.operator), append([]string{}, rule.values...)...)
}

func pools() (said []byte) {
	pools := [][]rule{{}}
	for _, one := range offered {
		pools = append(pools, []rule{one})
		for _, other := range offered {
			pools = append(pools, []rule{one, other})
		}
	}
	for _, key := range []string{"example.com/a", "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"} {
		for _, pool := range pools {
			own := scheduling.NewRequirements()
			for _, rule := range pool {
				own.Add(requirement(key, rule))
			}
			for _, wanted := range offered {
				asked := scheduling.NewRequirements(requirement(key, wanted))
				said = append(said, bit(own.IsCompatible(asked, scheduling.AllowUndefinedWellKnownLabels)))
			}
		}
	}
	return said
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	_ = out.Encode(map[string]string{"label selectors": string(labelSelectors()), "node selectors": string(nodeSelectors()),
		"tolerations": string(tolerations()), "node pools": string(pools())})
}
