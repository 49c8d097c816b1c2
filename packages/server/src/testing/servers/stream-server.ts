import { createServer } from 'node:http';
import { type SessionId, sessionId } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import { ServerError } from '../../contract/server-error.ts';
import type { ViewName } from '../../contract/stream.ts';
import type { StreamEnd } from '../../stream/channel.ts';
import { FeedRegistry } from '../../stream/feed-registry.ts';
import { views as allViews, type Views } from '../../stream/frames/views.ts';
import type { StreamLimits } from '../../stream/stream-limits.ts';
import { type StreamTaskOptions, streamTask } from '../../stream/stream-task.ts';
import { portOf } from '../cutting-proxy.ts';

interface StreamServerOptions {
  readonly log: Log;
  readonly clock?: Clock | undefined;
  readonly limits?: Partial<StreamLimits> | undefined;
  readonly views?: Views | undefined;
  readonly stream?: Partial<Pick<StreamTaskOptions, 'task' | 'until' | 'signal' | 'endDelayMs'>>;
}

interface StreamServer extends AsyncDisposable {
  readonly port: number;
  readonly feeds: FeedRegistry;
  /** The reasons why streams ended, in order. */
  readonly ends: readonly StreamEnd[];
}

/**
 * Starts a server that serves only streams, over real sockets, at `/session?view=…&from=…`. `caller` names a caller
 * without full access.
 */
export async function startStreamServer(options: StreamServerOptions): Promise<StreamServer> {
  const { log, clock, limits, views = allViews, stream } = options;
  const feeds = new FeedRegistry({ log, clock, limits, views });
  const ends: StreamEnd[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const from = searchParams.get('from') ?? undefined;
    const lastEventId = request.headers['last-event-id']?.toString();
    const session: SessionId = sessionId(decodeURIComponent(pathname.slice(1)));
    const view = (searchParams.get('view') ?? 'records') as ViewName;
    const restricted = searchParams.get('caller') ?? undefined;
    const given = { feeds, session, view, from, lastEventId, response, restricted };
    streamTask({ ...given, ...stream }).then(
      (end) => ends.push(end),
      (error: unknown) => {
        response.statusCode = error instanceof ServerError ? error.status : 500;
        response.end(error instanceof Error ? error.message : 'failed');
      },
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: portOf(server),
    feeds,
    ends,
    async [Symbol.asyncDispose]() {
      feeds.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Resolves after pending work, including work of sockets, had a chance to run. */
export async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve));
}
