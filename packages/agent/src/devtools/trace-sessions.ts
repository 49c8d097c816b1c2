import { isMillraceError, type OptionNames, type SessionId, sessionId } from '@millrace/core';
import { assertKnownOptions } from '../known-options.ts';
import type { DevtoolsOptions, TracedSpan } from './contract.ts';
import { type PlannedRun, planRuns } from './plan-runs.ts';
import { type WrittenChild, writeSession } from './write-session.ts';

/** The limits of the spans that wait for the end of their trace. */
interface TraceLimits {
  /** Maximum number of traces. */
  readonly maxTraces: number;
  /** Maximum number of spans of one trace. Further spans are dropped. */
  readonly maxSpansPerTrace: number;
  /** Maximum number of spans of all traces. */
  readonly maxSpans: number;
  /** Maximum number of characters of content of all traces. */
  readonly maxSize: number;
  /** A trace without a new span for this time counts as ended, in milliseconds of the times of spans. */
  readonly maxIdleMs: number;
}

const limits: TraceLimits = {
  ...{ maxTraces: 1000, maxSpansPerTrace: 10_000, maxSpans: 50_000 },
  ...{ maxSize: 2 ** 27, maxIdleMs: 30 * 60_000 },
};

const optionNames: OptionNames<DevtoolsOptions> = {
  ...{ log: true, session: true, metadata: true, onDiagnostic: true },
};

interface OpenTrace {
  readonly id: string;
  readonly spans: Map<string, TracedSpan>;
  size: number;
  lastMs: number;
  dropped: number;
}

/**
 * Collects the spans of other programs by trace, and stores each trace as sessions when it ends. The sessions of a
 * trace are stored one after another. A failure to store one is reported and affects nothing else.
 */
export class TraceSessions {
  readonly #options: DevtoolsOptions;
  readonly #limits: TraceLimits;
  /** The traces in the order of their last span, oldest first. */
  readonly #open = new Map<string, OpenTrace>();
  #spans = 0;
  #size = 0;
  #stored: Promise<void> = Promise.resolve();

  constructor(of: string, options: DevtoolsOptions, changed: Partial<TraceLimits> = {}) {
    assertKnownOptions(of, options, optionNames);
    this.#options = { ...options };
    this.#limits = { ...limits, ...changed };
  }

  /** Adds a finished span. Spans can come in any order. */
  add(span: TracedSpan): void {
    const { trace: id } = span;
    const trace = this.#open.get(id) ?? { id, spans: new Map(), size: 0, lastMs: 0, dropped: 0 };
    this.#open.delete(id);
    this.#open.set(id, trace);
    trace.lastMs = Math.max(trace.lastMs, span.endMs);
    // A span that is exported twice counts once.
    if (trace.spans.has(span.id)) return;
    if (trace.spans.size >= this.#limits.maxSpansPerTrace) {
      trace.dropped++;
      return;
    }
    trace.spans.set(span.id, span);
    trace.size += span.size;
    this.#spans++;
    this.#size += span.size;
    this.#bound(trace.lastMs);
  }

  /** Stores a trace whose outermost span has ended. */
  end(id: string): void {
    this.#take(id, true);
  }

  /** Resolves when all traces that have ended are stored. */
  flush(): Promise<void> {
    return this.#stored;
  }

  /** Stores all traces. The runs of traces that have not ended count as interrupted. */
  close(): Promise<void> {
    for (const id of [...this.#open.keys()]) this.#take(id, false);
    return this.#stored;
  }

  /** Ends the oldest traces if there are too many, or if they have been silent for too long. */
  #bound(nowMs: number): void {
    const { maxTraces, maxSpans, maxSize, maxIdleMs } = this.#limits;
    for (const { id, lastMs } of this.#open.values()) {
      const isFull = this.#open.size > maxTraces || this.#spans > maxSpans || this.#size > maxSize;
      if (!isFull && nowMs - lastMs <= maxIdleMs) break;
      if (isFull) this.#report(`Trace ${id} was stored before its end: too many spans wait`);
      this.#take(id, false);
    }
  }

  #take(id: string, isComplete: boolean): void {
    const trace = this.#open.get(id);
    if (trace === undefined) return;
    this.#open.delete(id);
    this.#spans -= trace.spans.size;
    this.#size -= trace.size;
    if (trace.dropped > 0)
      this.#report(`Trace ${id} has too many spans: ${trace.dropped} were dropped`);
    const spans = [...trace.spans.values()];
    this.#stored = this.#stored.then(() => this.#store(spans, isComplete));
  }

  async #store(spans: readonly TracedSpan[], isComplete: boolean): Promise<void> {
    const children = new Map<string, WrittenChild>();
    let runs: readonly PlannedRun[] = [];
    try {
      runs = planRuns(await withCosts(spans), isComplete);
    } catch (error) {
      this.#reportError('Cannot read a trace', error);
    }
    for (const run of runs) {
      try {
        const session = await this.#storeRun(run, children);
        if (run.tool !== undefined) children.set(run.tool, { session, run });
      } catch (error) {
        this.#reportError(`Cannot store the run of span ${run.span}`, error);
      }
    }
  }

  async #storeRun(
    run: PlannedRun,
    children: ReadonlyMap<string, WrittenChild>,
  ): Promise<SessionId> {
    const { log, session: idOf = defaultSession } = this.#options;
    // Sub-agents have no metadata, so that lists show only the sessions that started them.
    const metadata = run.tool === undefined ? this.#options.metadata : undefined;
    const { trace, span, agent, conversation, startMs, endMs } = run;
    const session = sessionId(idOf({ trace, span, agent, conversation }));
    const records = writeSession({ session, run, metadata, children });
    const times = { createdAt: Math.floor(startMs), changedAt: Math.floor(endMs) };
    await log.restore(session, records, times);
    return session;
  }

  /** Errors of other code can contain content, so only the code of our own errors is reported. */
  #reportError(what: string, error: unknown): void {
    const why = isMillraceError(error) ? error.code : 'unexpected error';
    this.#report(`${what}: ${why}`);
  }

  #report(problem: string): void {
    try {
      this.#options.onDiagnostic?.(problem);
    } catch {
      // A failure of the listener must not stop the program that is traced.
    }
  }
}

function defaultSession({ trace, span }: Pick<PlannedRun, 'trace' | 'span'>): string {
  return span === trace ? trace : `${trace}-${span}`;
}

/** The names of providers in OpenTelemetry's conventions and in the AI SDK, and our names. */
const providerNames: Readonly<Record<string, string>> = {
  ...{ 'gcp.gemini': 'gemini', 'google.generative-ai': 'gemini', 'gcp.vertex_ai': 'vertex' },
  ...{ 'azure.ai.openai': 'azure', 'aws.bedrock': 'bedrock', x_ai: 'xai', mistral_ai: 'mistral' },
};

/** Adds the list price to requests whose model has a known price. */
async function withCosts(spans: readonly TracedSpan[]): Promise<readonly TracedSpan[]> {
  // The table of models is large, so it loads on demand.
  const { costOf, models } = await import('@millrace/providers/models');
  return spans.map((span) => {
    const { work } = span;
    if (work.type !== 'request' || work.usage.input + work.usage.output === 0) return span;
    const [vendor = ''] = work.provider.split('.');
    const name = Object.hasOwn(providerNames, work.provider)
      ? providerNames[work.provider]
      : vendor;
    const { prices } = models.find(name ?? vendor, work.model) ?? {};
    if (prices === undefined || prices === 'reported') return span;
    const usage = { ...work.usage, costs: [costOf(work.usage, prices)] };
    return { ...span, work: { ...work, usage } };
  });
}
