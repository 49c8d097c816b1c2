import { type OtlpExporter, otlpExporter } from '@millrace/agent';
import { isMillraceError } from '@millrace/core';
import { UsageError } from '../args/usage-error.ts';
import type { Host } from './host.ts';

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
