import { type Observer, openTelemetryObserver } from '@millrace/agent';
import type { Host } from './host.ts';
import { spanExporter } from './span-exporter.ts';

export interface RunTracing {
  /** What tells the collector of a run; none without `--otlp`. */
  readonly observers: readonly Observer[];
  /** Resolves when all spans are sent or given up. Only then it is said what went wrong: a chat has the screen. */
  readonly close: () => Promise<void>;
}

/** Spans of what is run here, for the collector of `--otlp`. */
export function runTracing(otlp: string | undefined, { env, stderr }: Host): RunTracing {
  const problems = new Set<string>();
  const exporter = spanExporter(otlp, env, (problem) => problems.add(problem));
  if (exporter === undefined) return { observers: [], close: async () => {} };
  const { observe, end } = openTelemetryObserver(exporter);
  const close = async () => {
    end();
    await exporter.close();
    for (const problem of problems) stderr.write(`${problem}\n`);
  };
  return { observers: [observe], close };
}
