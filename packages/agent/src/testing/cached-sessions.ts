import {
  type Ids,
  type Item,
  type JsonObject,
  type LogRecord,
  type Part,
  randomIds,
  type SessionId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import {
  errorReply,
  frameRecording,
  type WireAnswer,
  type WireName,
  wireEvents,
} from '@millrace/providers/scripted-server';
import fc from 'fast-check';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Run } from '../contract/run.ts';
import { createAgent } from '../create-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';
import { runToEnd, VirtualClock } from './virtual-time.ts';

/** Random sessions of two agents on a real wire, and the requests that they send. */

interface CallPlan {
  readonly tool: 'look' | 'ask' | 'draw' | 'read' | 'fail' | 'missing' | 'transfer';
  readonly id: 'new' | 'odd' | 'same';
}

interface ResponsePlan {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly CallPlan[];
  readonly fault: 'none' | 'overloaded' | 'cut' | 'auth' | 'rejected';
}

type Input = 'text' | 'two texts' | 'instruction' | 'picture' | 'blank';
type Event = 'abort' | 'steer' | 'follow up' | 'approve' | 'deny';

type Step =
  | {
      readonly do: 'run';
      readonly input: Input;
      readonly responses: readonly ResponsePlan[];
      readonly events: readonly { readonly atMs: number; readonly what: Event }[];
    }
  | { readonly do: 'compact' }
  /** The process dies, and another one resumes what was written up to some record. */
  | { readonly do: 'crash'; readonly at: number; readonly onInterrupted: 'keep' | 'retry' };

/** A random session. */
export interface SessionPlan {
  readonly hasOutput: boolean;
  readonly steps: readonly Step[];
}

const calls: fc.Arbitrary<readonly CallPlan[]> = fc.oneof(
  { weight: 9, arbitrary: callList(0, 3) },
  // More blocks than a provider searches for a stored prefix.
  { weight: 1, arbitrary: callList(11, 14) },
);

function callList(minLength: number, maxLength: number): fc.Arbitrary<readonly CallPlan[]> {
  const call = fc.record({
    tool: fc.constantFrom('look', 'look', 'ask', 'draw', 'read', 'fail', 'missing', 'transfer'),
    id: fc.constantFrom('new', 'odd', 'same'),
  } as const);
  return fc.array(call, { minLength, maxLength }) as fc.Arbitrary<readonly CallPlan[]>;
}

const responses = fc.array(
  fc.record({
    reasoning: fc.constantFrom('', 'Hm, let me see.'),
    text: fc.constantFrom('', 'I look. ', '{"done":true}', 'Trailing space \n'),
    calls,
    fault: fc.constantFrom('none', 'none', 'none', 'none', 'overloaded', 'cut', 'auth', 'rejected'),
  } as const),
  { maxLength: 5 },
);

const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('run'),
      input: fc.constantFrom('text', 'text', 'two texts', 'instruction', 'picture', 'blank'),
      responses,
      events: fc.array(
        fc.record({
          atMs: fc.nat(2000),
          what: fc.constantFrom('abort', 'steer', 'follow up', 'approve', 'deny'),
        } as const),
        { maxLength: 3 },
      ),
    } as const),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('compact') } as const) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('crash'),
      at: fc.nat(),
      onInterrupted: fc.constantFrom('keep', 'retry'),
    } as const),
  },
);

export const sessionPlans: fc.Arbitrary<SessionPlan> = fc.record({
  hasOutput: fc.constantFrom(false, false, false, true),
  steps: fc.array(steps as fc.Arbitrary<Step>, { minLength: 1, maxLength: 5 }),
});

/** A request as the server received it. */
export interface ReceivedRequest {
  readonly model: string;
  readonly body: JsonObject;
  readonly session: SessionId;
  /** The last record of the session when the request arrived. */
  readonly through: number;
  readonly isSummary: boolean;
}

/** A wire, and how to create its providers: the main agent's, its fallback's and the other agent's. */
export interface CachedWire {
  readonly name: string;
  readonly wire: WireName;
  readonly models: readonly [main: string, fallback: string, other: string];
  readonly provider: (options: {
    readonly model: string;
    readonly fetch: typeof fetch;
    readonly clock: VirtualClock;
  }) => Provider;
}

const summarize = 'Write the summary of all that happened.';

/** Runs a session and returns its requests, and the records of its last log. */
export async function runSession(
  { wire, models, provider }: CachedWire,
  plan: SessionPlan,
): Promise<{
  readonly requests: readonly ReceivedRequest[];
  readonly records: readonly LogRecord[];
}> {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const server = new FakeServer(wire, log, clock);
  const providers = models.map((model) => provider({ model, fetch: server.fetch, clock }));
  let session = sessionId('s');
  let processes = 0;
  const told: LogRecord[] = [];
  const start = (onInterrupted: 'keep' | 'retry') =>
    agentsOf(providers, plan, {
      ...{ log, clock, onInterrupted, ids: seededIds(++processes) },
      observers: [(record: LogRecord) => void told.push(record)],
    });
  let agent = start('keep');
  for (const step of plan.steps) {
    if (step.do === 'crash') {
      const { through = 0 } = (await log.info(session)) ?? {};
      if (through === 0) continue;
      const into = sessionId(`${session}+`);
      const kept = 1 + (step.at % through);
      await log.fork(session, { into, through: kept });
      server.dropAfter(kept, into);
      session = into;
      agent = start(step.onInterrupted);
      await finish(clock, agent.resume(session));
      continue;
    }
    if (step.do === 'compact') {
      if ((await log.info(session)) === undefined) continue;
      await log.submit(session, { type: 'compact' }, `k${clock.now()}-${told.length}`);
      await finish(clock, agent.resume(session));
      continue;
    }
    server.expect(step.responses);
    const run = agent.run(inputOf(step.input), { session });
    for (const { atMs, what } of step.events) schedule(clock, run, { atMs, what }, told);
    await finish(clock, run);
    clock.advance(1);
  }
  const isWritten = (await log.info(session)) !== undefined;
  const everything = { maxBytes: Number.POSITIVE_INFINITY };
  const records = isWritten ? (await log.read(session, everything)).records : [];
  return { requests: server.requests, records };
}

/** Each process has ids of its own. */
function seededIds(process: number): Ids {
  let seed = process;
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed >> 8;
  };
  return randomIds((bytes) => bytes.map(next));
}

async function finish(clock: VirtualClock, run: Run): Promise<void> {
  // Ends runs that still wait for an approval.
  const cancel = clock.after(20_000, () => run.abort('late').catch(() => {}));
  await runToEnd(clock, run.result);
  cancel();
}

function schedule(
  clock: VirtualClock,
  run: Run,
  { atMs, what }: { readonly atMs: number; readonly what: Event },
  told: readonly LogRecord[],
): void {
  clock.after(atMs, () => {
    const asked = told.flatMap(({ fact }) =>
      fact?.type === 'approval_asked' ? fact.toolCallId : [],
    );
    const id = asked.at(-1) ?? toolCallId('none');
    const done = {
      abort: () => run.abort('enough'),
      steer: () => run.steer('This way'),
      'follow up': () => run.followUp('And then?'),
      approve: () => run.approve(id),
      deny: () => run.deny(id, { reason: 'no' }),
    }[what]();
    done.catch(() => {});
  });
}

const picture: Part = {
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'bytes', bytes: new Uint8Array([137, 80, 78, 71, 1]) },
};

let inputs = 0;

function inputOf(input: Input): string | readonly Item[] {
  const item = (kind: Item['kind'], ...parts: readonly Part[]) =>
    ({ id: `in-${inputs++}` as Item['id'], kind, parts }) as const;
  const text = (said: string): Part => ({ kind: 'text', text: said });
  switch (input) {
    case 'text':
      return 'Go on, please.';
    case 'two texts':
      return [item('user', text('One')), item('user', text('Two'))];
    case 'instruction':
      return [item('developer', text('Be brief from now on.'))];
    case 'picture':
      return [item('user', text('See'), picture)];
    case 'blank':
      return [item('user', text(' '))];
  }
}

type Common = Pick<
  Parameters<typeof createAgent>[0],
  'log' | 'clock' | 'ids' | 'observers' | 'onInterrupted'
>;

/** The main agent, which can hand off to another agent and get the session back. */
function agentsOf(
  [main, fallback, other]: readonly Provider[],
  { hasOutput }: SessionPlan,
  common: Common,
): Agent {
  if (!main || !fallback || !other) throw new Error('three providers are needed');
  const shared = {
    ...common,
    request: { reasoning: 'low' } as const,
    random: () => 0.5,
    approve: ({ tool }: { readonly tool: { readonly name: string } }) =>
      tool.name === 'ask' ? ('ask' as const) : ('allow' as const),
    retry: { maxAttempts: 3, baseDelayMs: 10, toolGraceMs: 100 },
    limits: { maxTurns: 8 },
    compaction: { whenTokens: 300, keepSteps: 2, summarize },
  };
  const back: Agent = createAgent({
    ...shared,
    name: 'other',
    provider: other,
    instructions: 'You are the other one.',
    tools: [...plainTools, handOff({ to: () => agent, description: 'Back', name: 'transfer' })],
  });
  const agent: Agent = createAgent({
    ...shared,
    name: 'main',
    provider: main,
    fallbacks: [fallback],
    instructions: 'You are the main one.',
    tools: [handOff({ to: back, description: 'Away', name: 'transfer' }), ...plainTools],
    ...(hasOutput && { output: z.object({ done: z.boolean() }) }),
  });
  return agent;
}

const input = z.object({});
const plainTools = [
  defineTool({
    ...{ name: 'look', description: 'Looks', input, effects: 'none' as const },
    execute: async () => 'seen',
  }),
  defineTool({ name: 'ask', description: 'Needs approval', input, execute: async () => 'done' }),
  defineTool({
    ...{ name: 'read', description: 'Reads much', input, maxOutputLength: 60 },
    execute: async () => 'line\n'.repeat(40),
  }),
  defineTool({
    ...{ name: 'draw', description: 'Draws', input },
    execute: async () => ({ output: { text: '', attachments: [picture as never] } }),
  }),
  defineTool({
    ...{ name: 'fail', description: 'Fails', input },
    execute: async () => {
      throw new Error('it broke');
    },
  }),
];

/** Answers requests in the format of a wire, in virtual time, and keeps them. */
class FakeServer {
  readonly #wire: WireName;
  readonly #log: Log;
  readonly #clock: VirtualClock;
  readonly #planned: ResponsePlan[] = [];
  #requests: ReceivedRequest[] = [];
  #session = sessionId('s');
  #count = 0;

  constructor(wire: WireName, log: Log, clock: VirtualClock) {
    this.#wire = wire;
    this.#log = log;
    this.#clock = clock;
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#requests;
  }

  expect(planned: readonly ResponsePlan[]): void {
    this.#planned.splice(0, this.#planned.length, ...planned);
  }

  /** Forgets the requests that were made after the record at which the process died. */
  dropAfter(through: number, into: SessionId): void {
    this.#requests = this.#requests.filter((request) => request.through <= through);
    this.#planned.splice(0);
    this.#session = into;
  }

  readonly fetch: typeof fetch = async (url, init) => {
    const text = String(init?.body);
    const body = JSON.parse(text) as JsonObject;
    const [, named] = /models\/([^/:]+):/.exec(String(url)) ?? [];
    const model = named ?? String(body['model']);
    const isSummary = text.includes(summarize);
    const { through = 0 } = (await this.#log.info(this.#session)) ?? {};
    this.#requests.push({ model, body, session: this.#session, through, isSummary });
    const next = isSummary ? undefined : this.#planned.shift();
    return this.#reply(next, text.length);
  };

  #reply(planned: ResponsePlan | undefined, length: number): Response {
    const number = ++this.#count;
    if (planned?.fault === 'overloaded') return this.#error(529, 'overloaded');
    if (planned?.fault === 'auth') return this.#error(401, 'authentication');
    if (planned?.fault === 'rejected')
      return this.#error(400, 'Invalid signature in thinking block');
    const answer = planned === undefined ? { text: `Answer ${number}` } : answerOf(planned, number);
    const usage = { input: Math.ceil(length / 20), output: 5 };
    const events = wireEvents(this.#wire, { id: `r${number}`, ...answer, usage });
    const bytes = frameRecording(this.#wire, events);
    const end = planned?.fault === 'cut' ? Math.floor(bytes.length * 0.6) : bytes.length;
    const half = Math.floor(end / 2);
    const chunks = [bytes.slice(0, half), bytes.slice(half, end)];
    const headers = { 'content-type': 'text/event-stream' };
    return new Response(ReadableStream.from(this.#slowly(chunks)), { headers });
  }

  async *#slowly(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) {
      await new Promise<void>((resolve) => this.#clock.after(40, resolve));
      yield chunk;
    }
  }

  #error(status: number, message: string): Response {
    const reply = errorReply(this.#wire, status, { type: 'error', message });
    return new Response(String(reply.steps[0]), { status, headers: reply.headers ?? {} });
  }
}

function answerOf({ reasoning, text, calls: planned }: ResponsePlan, number: number): WireAnswer {
  const toolCalls = planned.map(({ tool, id }, index) => {
    const ids = { new: `c${number}_${index}`, odd: `call ${number}|fc_${index}`, same: 'c' };
    return { id: ids[id], name: tool, arguments: '{}' };
  });
  return {
    ...(reasoning !== '' && { reasoning, signature: `signature-${number}` }),
    ...(text !== '' && { text }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}
