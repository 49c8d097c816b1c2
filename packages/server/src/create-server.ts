import { createHash, randomBytes } from 'node:crypto';
import type { SpanExporter } from '@millrace/agent';
import { type Ids, randomIds } from '@millrace/core';
import { type Clock, type Log, memoryLog, systemClock } from '@millrace/log';
import type { Rows } from './contract/rows.ts';
import type { ServedAgent } from './contract/served-agent.ts';
import { TokenStore } from './http/access/token-store.ts';
import { defaultHttpLimits, type HttpLimits } from './http/http-limits.ts';
import { HttpServer, type ListenOptions } from './http/http-server.ts';
import type { RequestLogOptions } from './http/request-log.ts';
import { createTaskStreams } from './routes/task-streams.ts';
import { memoryRows } from './rows/memory-rows.ts';
import type { StreamLimits } from './stream/stream-limits.ts';
import { createTaskService } from './tasks/create-task-service.ts';

export interface ServerOptions {
  readonly agents?: readonly ServedAgent[] | undefined;
  /** Where sessions are kept; in memory unless told. */
  readonly log?: Log | undefined;
  /** Where all else is kept; in memory unless told. */
  readonly rows?: Rows | undefined;
  /** What is off loopback needs a token. Where there is one, it is needed on loopback too. */
  readonly tokens?: readonly string[] | undefined;
  /**
   * What the keys of remote agents follow from: they are good as long as it is the same. It follows
   * from the tokens unless told; where there are none, it is new with each start.
   */
  readonly secret?: string | undefined;
  /** Names under which the server is reached, besides localhost and addresses. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins that pages of other hosts may call from; none unless told. */
  readonly origins?: readonly string[] | undefined;
  /** A folder with a built page, served at `/` and below `/app/`; none unless told. */
  readonly page?: string | undefined;
  readonly limits?: Partial<HttpLimits> | undefined;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
  /** A line for each request; none unless told. */
  readonly requestLog?: RequestLogOptions | undefined;
  /** Hears what is odd and changes nothing. Never content. */
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
  /**
   * Takes the spans of requests, runs and handlers: `otlpExporter({ url })`. None are made unless told;
   * the trace that a request names is followed all the same.
   */
  readonly exporter?: SpanExporter | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  /** From 0 up to 1: when exactly is looked what other servers of the same files left. */
  readonly random?: (() => number) | undefined;
}

export interface Server {
  /** Begins to serve, takes up what was left, and says where. */
  listen(options?: ListenOptions): Promise<{ readonly url: string }>;
  /** Takes no more work, stops or parks what goes on, and ends streams with a hint to come back. */
  close(): Promise<void>;
}

/** Agents as a service: one process, and nothing else to start. */
export function createServer(options: ServerOptions = {}): Server {
  const {
    agents = [],
    tokens: operators = [],
    clock = systemClock,
    onDiagnostic,
    random,
  } = options;
  const log = options.log ?? memoryLog({ clock });
  const rows = options.rows ?? memoryRows({ clock });
  const ids = options.ids ?? randomIds((bytes) => crypto.getRandomValues(bytes));
  const secret = options.secret ?? secretOf(operators);
  const service = createTaskService({
    ...{ agents, log, rows, clock, ids, random, secret, onDiagnostic },
    graceMs: graceOf(options.limits),
    exporter: options.exporter,
  });
  const streams = createTaskStreams({ log, clock, service, limits: options.streamLimits });
  const tokens = new TokenStore(rows, operators);
  const { hosts, origins, page, limits, requestLog, exporter } = options;
  const http = new HttpServer({
    ...{ service, streams, tokens, log, clock, hosts, origins, page, limits, requestLog },
    exporter,
  });
  return {
    async listen(where) {
      await service.start();
      return http.listen(where);
    },
    async close() {
      await http.close(() => service.close());
      // What was given is its giver's to close.
      if (options.log === undefined) await log.close();
      if (options.rows === undefined) await rows.close();
    },
  };
}

/** What does not let itself be stopped is left early enough for the rest to be written. */
function graceOf(limits: ServerOptions['limits']): number {
  const { closeTimeoutMs } = { ...defaultHttpLimits, ...limits };
  return Math.min(1000, closeTimeoutMs / 4);
}

function secretOf(tokens: readonly string[]): string {
  if (tokens.length === 0) return randomBytes(32).toString('base64url');
  const sum = createHash('sha256').update('agent keys');
  for (const token of tokens) sum.update('\0').update(token);
  return sum.digest('base64url');
}
