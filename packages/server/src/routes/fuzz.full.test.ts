import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull, patientMs } from '../../../core/src/testing/runs.ts';
import type { ServedAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';
import { LearnedIds } from '../testing/learned-ids.ts';
import { type RandomRequest, requestsOf } from '../testing/random-requests.ts';

const echoSync: ServedAgent = {
  type: 'sync',
  name: 'echo-sync',
  async *onMessage(content) {
    const index = 0;
    yield { type: 'start', index, content: { type: 'text', author: 'agent', content: '' } };
    yield { type: 'delta', index, delta: { type: 'text', text_delta: content.type } };
    yield { type: 'done', index };
  },
};

const echoAsync: ServedAgent = {
  type: 'async',
  name: 'echo-async',
  async onEvent(event, context) {
    if (event.content !== null)
      await context.messages.create({ ...event.content, author: 'agent' });
  },
};

interface TestAnswer {
  readonly status: number;
  readonly json: unknown;
}

/** Sends a request and returns the answer. Streams are closed when they start. */
async function send(url: string, ids: LearnedIds, request: RandomRequest): Promise<TestAnswer> {
  const path = ids.fill(`${request.path}?${request.query}`, encodeURIComponent);
  const body = request.body && ids.fill(request.body, (id) => JSON.stringify(id).slice(1, -1));
  const response = await fetch(new URL(path, url), {
    method: request.method,
    headers: { 'content-type': 'application/json' },
    body: body ?? null,
  });
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) await response.body?.cancel();
  const text = type.startsWith('text/event-stream') ? '' : await response.text();
  const isJson = type.startsWith('application/json') && text !== '';
  return { status: response.status, json: isJson && JSON.parse(text) };
}

function isFailure({ status, json }: TestAnswer): boolean {
  const { error } = (json || {}) as { error?: { data?: { code?: string } } | null };
  return status === 500 || error?.data?.code === 'internal';
}

/** The number of lists of 100 requests. */
const numRuns = isFull ? 100 : 4;

test(
  `${100 * numRuns} random requests from the OpenAPI document: none causes an internal error`,
  async () => {
    const lines: string[] = [];
    const server = createServer({
      tokens: 'none',
      agents: [echoSync, echoAsync],
      limits: { requestsPerSecond: 1e9, requestBurst: 1e9, longPollTimeoutMs: 1 },
      requestLog: { format: 'json', write: (line) => lines.push(line) },
    });
    const { url } = await server.listen({ port: 0 });
    const document = await (await fetch(new URL('/openapi.json', url))).json();
    const ids = new LearnedIds();
    const agents = await (await fetch(new URL('/agents', url))).json();
    for (const { id, name } of agents as readonly Readonly<Record<'id' | 'name', string>>[]) {
      ids.learn('agents', id);
      ids.learn('agent names', name);
    }
    const seen = new Map<number, number>();
    const some = fc.array(requestsOf(document), { minLength: 100, maxLength: 100 });
    const run = async (requests: readonly RandomRequest[]) => {
      for (let at = 0; at < requests.length; at += 10) {
        const several = requests.slice(at, at + 10);
        const answers = await Promise.all(several.map((request) => send(url, ids, request)));
        for (const [index, one] of answers.entries()) {
          seen.set(one.status, (seen.get(one.status) ?? 0) + 1);
          const request = several[index];
          if (request === undefined) continue;
          if (isFailure(one)) {
            const failures = lines.filter((line) => line.includes('"failure"'));
            expect({ request, one, failures: failures.slice(-2) }).toBeUndefined();
          }
          if (one.status < 300 && request.method !== 'DELETE') ids.learnFrom(request, one.json);
        }
        lines.length = 0;
      }
    };
    try {
      await fc.assert(fc.asyncProperty(some, run), { numRuns, endOnFailure: true });
      expect((await fetch(new URL('/readyz', url))).status).toBe(200);
      // The requests were neither all rejected nor all the same.
      expect(seen.get(200)).toBeGreaterThan(numRuns * (isFull ? 30 : 10));
      if (isFull) expect([...seen.keys()]).toEqual(expect.arrayContaining([200, 400, 404, 422]));
    } finally {
      await server.close();
    }
  },
  patientMs(600_000),
);
