import {
  type Observer,
  type OtlpExporter,
  openTelemetryObserver,
  otlpExporter,
} from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import { UsageError } from '../contract/errors.ts';
import type { Host } from '../contract/host.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';

export interface RunTracing {
  /** The observers that send spans to the collector. Empty without `--otlp`. */
  readonly observers: readonly Observer[];
  /**
   * Resolves when all spans are sent or dropped. After that, it prints the problems. They cannot be
   * printed earlier, because the chat uses the screen.
   */
  readonly close: () => Promise<void>;
}

/** Starts to send traces to the collector that `--otlp` names. */
export function startTracing(otlp: string | undefined, { env, stderr }: Host): RunTracing {
  const problems = new Set<string>();
  const exporter = createSpanExporter(otlp, env, (problem) => problems.add(problem));
  if (exporter === undefined) return { observers: [], close: async () => {} };
  const { observe, end } = openTelemetryObserver(exporter);
  const close = async () => {
    end();
    await exporter.close();
    for (const problem of problems) writeText(stderr, `${problem}\n`);
  };
  return { observers: [observe], close };
}

/**
 * Creates the exporter for the `--otlp` URL. Returns undefined if there is no URL. The key of the
 * collector comes from the environment, because other users can see arguments in the process list.
 */
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

/** Parses the header format of OpenTelemetry: `key=value,key=value` with percent-encoded values. */
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
