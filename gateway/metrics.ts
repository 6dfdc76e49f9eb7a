import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { RoutingAnswer } from './routing/conversation-router';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
const OVERHEAD_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.1];
const SHARES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** The gateway's Prometheus metrics. Label values come from the configuration and the registry, never from clients. */
export class Metrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];

  readonly requests = this.counter('whet_gateway_requests_total', 'Requests, by what answered them.', [
    'agent',
    'client',
    'adapter',
    'route',
    'status',
  ]);
  readonly seconds = this.histogram(
    'whet_gateway_request_seconds',
    'Time from the request to the end of its answer.',
    ['agent'],
    SECONDS,
  );
  readonly overhead = this.histogram(
    'whet_gateway_overhead_seconds',
    "The gateway's own share of that time.",
    ['agent'],
    OVERHEAD_SECONDS,
  );
  readonly inFlight = this.gauge('whet_gateway_requests_in_flight', 'Requests in flight.', []);
  readonly retries = this.counter('whet_gateway_upstream_retries_total', 'Further attempts at a model server.', [
    'agent',
    'reason',
  ]);
  readonly fallbacks = this.counter(
    'whet_gateway_fallbacks_total',
    'Requests for an adapter that the base model answered.',
    ['agent', 'reason'],
  );
  readonly cut = this.counter(
    'whet_gateway_streams_cut_total',
    'Streams that a model server cut off after their first event.',
    ['agent'],
  );
  readonly gone = this.counter('whet_gateway_clients_gone_total', 'Requests whose client went away before the end.', [
    'agent',
  ]);
  readonly outcomes = this.counter('whet_gateway_outcomes_total', 'Posted outcomes.', ['agent', 'arm']);
  readonly evidence = this.gauge(
    'whet_gateway_canary_evidence',
    'Evidence that the canary is worse; it is rolled back at 1 / falseRollback.',
    ['agent'],
  );
  readonly rollbacks = this.counter(
    'whet_gateway_canary_rollbacks_total',
    'Canaries that were rolled back by the test.',
    ['agent'],
  );
  readonly traces = this.counter('whet_gateway_traces_total', 'Sampled conversations, by what became of them.', [
    'agent',
    'result',
  ]);
  readonly dropped = this.counter('whet_gateway_dropped_total', 'What was dropped of a client for want of room.', [
    'what',
    'client',
  ]);
  private readonly router = this.counter('whet_gateway_router_total', 'Routing decisions.', ['agent', 'outcome']);
  private readonly routerSeconds = this.histogram(
    'whet_gateway_router_seconds',
    'Time that the router took.',
    ['agent'],
    SECONDS,
  );
  private readonly covered = this.histogram(
    'whet_gateway_router_covered_mass',
    "Probability mass on the menu's labels.",
    ['agent'],
    SHARES,
  );
  private readonly confidence = this.histogram(
    'whet_gateway_router_probability',
    'Calibrated probability of the choice.',
    ['agent'],
    SHARES,
  );

  /** Counts a routing decision; `answer` is null if the router gave none. */
  routed(agent: string, outcome: string, seconds: number, answer: RoutingAnswer | null): void {
    this.router.inc({ agent, outcome });
    this.routerSeconds.observe({ agent }, seconds);
    if (answer?.coveredMass != null) this.covered.observe({ agent }, answer.coveredMass);
    if (answer?.probability != null) this.confidence.observe({ agent }, answer.probability);
  }

  /** Adds a gauge whose values are computed at each scrape. */
  gaugeOnScrape(
    name: string,
    help: string,
    labelNames: string[],
    read: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: this.registers,
      collect() {
        this.reset();
        read((labels, value) => this.set(labels, value));
      },
    });
  }

  private counter<L extends string>(name: string, help: string, labelNames: L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: this.registers });
  }

  private gauge<L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> {
    return new Gauge({ name, help, labelNames, registers: this.registers });
  }

  private histogram<L extends string>(name: string, help: string, labelNames: L[], buckets: number[]): Histogram<L> {
    return new Histogram({ name, help, labelNames, buckets, registers: this.registers });
  }
}
