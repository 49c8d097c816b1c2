import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sessionId } from '@millrace/core';
import { FeedRegistry } from '../../../packages/server/src/stream/feed-registry.ts';
import { views } from '../../../packages/server/src/stream/frames/views.ts';
import { streamTask } from '../../../packages/server/src/stream/stream-task.ts';
import { promptClock } from '../server/servers.ts';
import { openStore, type StoreLocation } from './stores.ts';

// The program of one of several servers. It streams the sessions of a log that another process
// writes.

const { log } = await openStore(JSON.parse(process.argv[2] ?? '{}') as StoreLocation);
const feeds = new FeedRegistry({ log, views, clock: promptClock, limits: { mergeMs: 0 } });
const server = createServer((request, response) => {
  const session = sessionId(request.url?.slice(1) ?? '');
  void streamTask({ feeds, session, view: 'records', response });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));
process.send?.((server.address() as AddressInfo).port);
process.on('disconnect', () => process.exit());
