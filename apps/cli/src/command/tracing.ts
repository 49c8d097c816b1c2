import {
  type Observer,
  type OtlpExporter,
  openTelemetryObserver,
  otlpExporter,
} from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';

export interface RunTracing {
  /** What tells the collector of a run; none without `--otlp`. */
  readonly observers: readonly Observer[];
  /** Resolves when all spans are sent or given up. Only then it is said what went wrong: a chat has the screen. */
  readonly close: () => Promise<void>;
}

/** Spans of what is run here, for the collector of `--otlp`. */
export function startTracing(otlp: string | undefined, { env, stderr }: Host): RunTracing {
  const problems = new Set<string>();
  const exporter = createSpanExporter(otlp, env, (problem) => problems.add(problem));
  if (exporter === undefined) return { observers: [], close: async () => {} };
  const { observe, end } = openTelemetryObserver(exporter);
  const close = async () => {
    end();
    await exporter.close();
    for (const problem of problems) stderr.write(`${problem}\n`);
  };
  return { observers: [observe], close };
}

/** Where `--otlp` says; none without it. A collector's key comes by the environment, unseen by others. */
export function createSpanExporter(
  url: string | undefined,
  env: Host['env'],
  onDiagnostic: (problem: string) => void,
): OtlpExporter | undefined {
  if (url === undefined) return undefined;
  const headers = parseHeaders(env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const serviceName = env['OTEL_SERVICE_NAME'] ?? 'millrace';
  try {
    return otlpExporter({ url, headers, serviceName, onDiagnostic });
  } catch (error) {
    throw isMillraceError(error) ? asUsageError(error) : error;
  }
}

function asUsageError(cause: Error): UsageError {
  return new UsageError(`--otlp: ${cause.message}`, {}, { cause });
}

/** `key=value,key=value`, the values percent-encoded, as OpenTelemetry has it. */
function parseHeaders(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1
      ? []
      : [[pair.slice(0, at).trim(), decodeValue(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decodeValue(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
