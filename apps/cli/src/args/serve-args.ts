import type { ServeArgs } from './args.ts';
import { isGiven, textOf } from './flag-values.ts';
import type { Words } from './read-words.ts';
import { UsageError } from './usage-error.ts';

export function serveArgs(given: Words): ServeArgs {
  if (given.words.length > 0) {
    const way = 'Agents are named with --agents <file>. See millrace serve --help';
    throw new UsageError(`millrace serve was given more words than it takes. ${way}`);
  }
  return {
    command: 'serve',
    cwd: textOf(given, 'cwd'),
    port: portOf(given),
    host: textOf(given, 'host'),
    agents: textOf(given, 'agents'),
    data: textOf(given, 'data'),
    store: textOf(given, 'store'),
    bus: textOf(given, 'bus'),
    log: logOf(given),
    token: textOf(given, 'token'),
    otlp: textOf(given, 'otlp'),
    yes: isGiven(given, 'yes'),
  };
}

const maxPort = 65_535;

function portOf(given: Words): number | undefined {
  const value = textOf(given, 'port');
  if (value === undefined) return undefined;
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (port <= maxPort) return port;
  throw new UsageError(`--port takes a number from 0 to ${maxPort}, such as --port 8080`);
}

function logOf(given: Words): ServeArgs['log'] {
  const value = textOf(given, 'log') ?? 'text';
  if (value === 'text' || value === 'json') return value;
  throw new UsageError('--log takes text or json: --log json');
}
