// Convert prints the configuration of Alertmanager that the Prometheus operator makes of AlertmanagerConfigs.
//
// Usage: convert STRATEGY NAMESPACE VERSION < OBJECTS
//
// The objects are AlertmanagerConfigs and Secrets in YAML, with --- between two of them. NAMESPACE is that of the
// Alertmanager. The base configuration is one receiver "null" that sends nothing, as in kube-prometheus-stack.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/blang/semver/v4"
	"github.com/prometheus-operator/prometheus-operator/pkg/alertmanager"
	validation "github.com/prometheus-operator/prometheus-operator/pkg/alertmanager/validation/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	"github.com/prometheus-operator/prometheus-operator/pkg/assets"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
)

const base = "route:\n  receiver: \"null\"\nreceivers:\n- name: \"null\"\n"

func main() {
	if err := convert(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func convert(strategy, namespace, version string) error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	ctx, client := context.Background(), fake.NewClientset()
	configs := map[string]*monitoringv1alpha1.AlertmanagerConfig{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var secret corev1.Secret
		if err := yaml.UnmarshalStrict(document, &secret); err == nil && secret.Kind == "Secret" {
			if err := client.Tracker().Add(&secret); err != nil {
				return err
			}
			continue
		}
		var config monitoringv1alpha1.AlertmanagerConfig
		if err := yaml.UnmarshalStrict(document, &config); err != nil {
			return err
		}
		if err := validation.ValidateAlertmanagerConfig(&config); err != nil {
			return err
		}
		configs[config.Namespace+"/"+config.Name] = &config
	}
	target := &monitoringv1.Alertmanager{}
	target.Namespace = namespace
	target.Spec.AlertmanagerConfigMatcherStrategy.Type = monitoringv1.AlertmanagerConfigMatcherStrategyType(strategy)
	store := assets.NewStoreBuilder(client.CoreV1(), client.CoreV1())
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	builder := alertmanager.NewConfigBuilder(logger, semver.MustParse(version), store, target)
	if err := builder.InitializeFromRawConfiguration([]byte(base)); err != nil {
		return err
	}
	if err := builder.AddAlertmanagerConfigs(ctx, configs); err != nil {
		return err
	}
	printed, err := builder.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(printed)
	return err
}
