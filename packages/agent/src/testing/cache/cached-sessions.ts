import {
  type Ids,
  type Item,
  type LogRecord,
  type Part,
  randomIds,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import type { WireName } from '@millrace/providers/scripted-server';
import { z } from 'zod';
import type { Agent } from '../../contract/agent.ts';
import type { Run } from '../../contract/run.ts';
import { createAgent } from '../../create-agent.ts';
import { handOff } from '../../tool/agent-tools.ts';
import { defineTool } from '../../tool/define-tool.ts';
import { runToEnd, VirtualClock } from '../virtual-time.ts';
import { FakeModelServer, type ReceivedRequest, summaryPrompt } from './fake-model-server.ts';
import type { Event, Input, SessionPlan } from './session-plans.ts';

/**
 * A wire, its three models and a function that creates a provider. The models are for the main agent, its
 * fallback and the other agent.
 */
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

/**
 * Runs a planned session. Returns the requests that the server received, and the records of the last log.
 */
export async function runSession(
  { wire, models, provider }: CachedWire,
  plan: SessionPlan,
): Promise<{
  readonly requests: readonly ReceivedRequest[];
  readonly records: readonly LogRecord[];
}> {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const server = new FakeModelServer(wire, log, clock);
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

/** Returns the ids of a simulated process. Each process has different ids. */
function seededIds(process: number): Ids {
  let seed = process;
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed >> 8;
  };
  return randomIds((bytes) => bytes.map(next));
}

async function finish(clock: VirtualClock, run: Run): Promise<void> {
  // This ends a run that still waits for an approval.
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

/** Returns the main agent. It can hand off to another agent, which can hand the session back. */
function agentsOf(
  [main, fallback, other]: readonly Provider[],
  { hasOutput, parks }: SessionPlan,
  common: Common,
): Agent {
  if (!main || !fallback || !other) throw new Error('three providers are needed');
  const shared = {
    ...common,
    request: { reasoning: 'low' } as const,
    random: () => 0.5,
    whileAsking: parks ? ('park' as const) : ('wait' as const),
    approve: ({ tool }: { readonly tool: { readonly name: string } }) =>
      tool.name === 'ask' ? ('ask' as const) : ('allow' as const),
    retry: { maxAttempts: 3, baseDelayMs: 10, toolGraceMs: 100 },
    limits: { maxTurns: 8 },
    compaction: { whenTokens: 300, keepSteps: 2, summarize: summaryPrompt },
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
