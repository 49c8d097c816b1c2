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

/** Where `--otlp` says; none without it. A collector's key comes by the environment, unseen by others. */
export function spanExporter(
  url: string | undefined,
  env: Host['env'],
  onDiagnostic: (problem: string) => void,
): OtlpExporter | undefined {
  if (url === undefined) return undefined;
  const headers = headersIn(env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '');
  const serviceName = env['OTEL_SERVICE_NAME'] ?? 'millrace';
  try {
    return otlpExporter({ url, headers, serviceName, onDiagnostic });
  } catch (error) {
    throw isMillraceError(error) ? refused(error) : error;
  }
}

function refused(cause: Error): UsageError {
  return new UsageError(`--otlp: ${cause.message}`, {}, { cause });
}

/** `key=value,key=value`, the values percent-encoded, as OpenTelemetry has it. */
function headersIn(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at < 1 ? [] : [[pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
