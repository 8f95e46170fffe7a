package operator

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/longshore-bridge/longshore/host/cluster"
)

// clusterCollector has the metrics of a host in a cluster, whether it owns or stands by.
type clusterCollector struct {
	host                    *cluster.Host
	owner, fence, left, lag *prometheus.Desc
}

func newClusterCollector(host *cluster.Host) *clusterCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("longshore_cluster_"+name, help, nil, nil)
	}
	return &clusterCollector{
		host:  host,
		owner: desc("owner", "1 if this host owns, 0 if it stands by."),
		fence: desc("fence", "The owner's fence, which grows with each take-over."),
		left:  desc("lease_left_ratio", "Which part of the lease is left; below 0 nobody owns."),
		lag:   desc("owner_seen_seconds", "How long ago the owner was seen, as this host read it last."),
	}
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.owner, c.fence, c.left, c.lag} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(out chan<- prometheus.Metric) {
	v := c.host.View()
	owns := number(v.Owned && v.Owner == v.Host)
	for d, value := range map[*prometheus.Desc]float64{c.owner: owns, c.fence: float64(v.Fence), c.left: float64(v.Left) / float64(c.host.Lease()), c.lag: v.Lag} {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
}

// StandbyMetrics is the handler of /metrics of a host that stands by.
func StandbyMetrics(host *cluster.Host) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newClusterCollector(host), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
