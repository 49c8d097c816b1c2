import {
  countingIds,
  type LogRecord,
  randomIds,
  type SessionId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptedResponse, scriptedProvider } from '@millrace/providers/scripted';
import fc from 'fast-check';
import { z } from 'zod';
import { branchSession } from '../branch/branch-session.ts';
import type { SessionBranch } from '../branch/session-branch.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { defineTool } from '../tool/define-tool.ts';
import { call } from './model-script.ts';
import { withAppends } from './test-doubles.ts';
import { runToEnd, VirtualClock } from './virtual-time.ts';

/**
 * The session of all schedules. This file has random schedules of responses, tools and commands, and
 * functions that run them.
 */
export const session: SessionId = sessionId('s');

interface CallPlan {
  readonly tool: 'look' | 'do' | 'ask' | 'missing' | 'broken';
  readonly ms: number;
  readonly ends: 'well' | 'throws' | 'ignores the signal';
  readonly updates: number;
}

interface ResponsePlan {
  readonly text: string;
  readonly calls: readonly CallPlan[];
  readonly fault: 'none' | 'overloaded' | 'cut' | 'auth' | 'stall';
  readonly after: number;
}

interface Plan {
  readonly responses: readonly ResponsePlan[];
  readonly events: readonly {
    readonly atMs: number;
    readonly what: 'abort' | 'steer' | 'follow up' | 'approve' | 'deny';
  }[];
}

const callPlans: fc.Arbitrary<CallPlan> = fc.record({
  tool: fc.constantFrom('look', 'look', 'do', 'ask', 'missing', 'broken'),
  ms: fc.nat(400),
  ends: fc.constantFrom('well', 'well', 'throws', 'ignores the signal'),
  updates: fc.nat(3),
});

export const schedules: fc.Arbitrary<Plan> = fc.record({
  responses: fc.array(
    fc.record({
      text: fc.string({ maxLength: 12 }),
      calls: fc.array(callPlans, { maxLength: 3 }),
      fault: fc.constantFrom('none', 'none', 'none', 'overloaded', 'cut', 'auth', 'stall'),
      after: fc.nat(12),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  events: fc.array(
    fc.record({
      atMs: fc.nat(6000),
      what: fc.constantFrom('abort', 'steer', 'follow up', 'approve', 'approve', 'deny'),
    }),
    { maxLength: 6 },
  ),
});

function responseOf(plan: ResponsePlan, index: number): ScriptedResponse {
  const calls = plan.calls.map(({ tool, ...how }, at) =>
    call(`c${index}.${at}`, tool, tool === 'broken' ? '{"half' : how),
  );
  const parts = [...(plan.text === '' ? [] : [plan.text]), ...calls];
  const { after } = plan;
  const faults = {
    none: undefined,
    overloaded: { type: 'error', after, error: 'overloaded' },
    auth: { type: 'error', after, error: 'auth' },
    cut: { type: 'cut', after },
    stall: { type: 'stall', after },
  } as const;
  return { content: { parts }, fault: faults[plan.fault], pauseMs: 20 };
}

function toolsOf(clock: VirtualClock, ran: Map<string, number>) {
  const input = z.object({ ms: z.number(), ends: z.string(), updates: z.number() });
  const execute = async (
    { ms, ends, updates }: z.infer<typeof input>,
    { toolCallId: id, signal, update }: Parameters<ReturnType<typeof defineTool>['execute']>[1],
  ) => {
    ran.set(id, (ran.get(id) ?? 0) + 1);
    for (let left = updates; left > 0; left--) update(`${left} `);
    await new Promise<void>((resolve, reject) => {
      clock.after(ms, resolve);
      if (ends !== 'ignores the signal')
        signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
    if (ends === 'throws') throw new Error('it broke');
    return `done in ${ms}`;
  };
  const common = { description: 'a tool', input, timeoutMs: 300, execute };
  return [
    defineTool({ ...common, name: 'look', effects: 'none' }),
    defineTool({ ...common, name: 'do' }),
    defineTool({ ...common, name: 'ask' }),
    defineTool({ ...common, name: 'broken' }),
  ];
}

/** Returns the log with a wrapper that adds the last offset of each batch to `ends`. */
function notingEnds(log: Log, ends: number[]): Log {
  return withAppends(log, async (append) => {
    const batch = await append();
    if (batch.records.length > 0) ends.push(batch.through);
    return batch;
  });
}

async function recordsOf(log: Log): Promise<readonly LogRecord[]> {
  return (await log.read(session, { maxBytes: Number.POSITIVE_INFINITY })).records;
}

export async function runSchedule({ responses, events }: Plan) {
  const clock = new VirtualClock();
  const ends: number[] = [];
  const log = notingEnds(memoryLog({ clock }), ends);
  const ran = new Map<string, number>();
  const provider = scriptedProvider(
    [...responses.map(responseOf), ...Array.from({ length: 20 }, () => 'And so on.')],
    { clock },
  );
  const told: LogRecord[] = [];
  const agent = createAgent({
    provider,
    log,
    clock,
    ids: countingIds(),
    random: () => 0.5,
    tools: toolsOf(clock, ran),
    approve: ({ tool }) => (tool.name === 'ask' ? 'ask' : 'allow'),
    retry: { maxAttempts: 3, toolGraceMs: 100 },
    limits: { maxTurns: 12 },
    observers: [(record) => told.push(record)],
  });
  const run = agent.run('Begin', { session });
  const asked = () =>
    told.flatMap(({ fact }) => (fact?.type === 'approval_asked' ? fact.toolCallId : []));
  for (const { atMs, what } of events) {
    clock.after(atMs, () => {
      const id = asked().at(-1) ?? toolCallId('none');
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
  // This ends a run that still waits for an approval.
  clock.after(20_000, () => run.abort('late').catch(() => {}));
  const result = await runToEnd(clock, run.result);
  return { result, log, agent, records: await recordsOf(log), ends, told, ran };
}

/** Returns ids that the first run does not use. */
function otherIds() {
  let seed = 1;
  const next = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed >> 8;
  };
  return randomIds((bytes) => bytes.map(next));
}

/** Runs a schedule, and continues its session in a branch with another agent. */
export async function branchOf(
  plan: Plan,
  branch: (origin: {
    readonly records: readonly LogRecord[];
    readonly ends: readonly number[];
  }) => SessionBranch,
  options: Partial<Pick<AgentOptions, 'onInterrupted'>> = {},
) {
  const origin = await runSchedule(plan);
  const { log } = origin;
  const clock = new VirtualClock();
  const ran = new Map<string, number>();
  const agent = createAgent({
    ...{ log, clock, ids: otherIds(), tools: toolsOf(clock, ran), ...options },
    provider: scriptedProvider(
      Array.from({ length: 20 }, () => 'And so on.'),
      { clock },
    ),
    approve: ({ tool }) => (tool.name === 'ask' ? 'ask' : 'allow'),
    ...{ retry: { maxAttempts: 3, toolGraceMs: 100 }, limits: { maxTurns: 12 }, random: () => 0.5 },
  });
  const into = sessionId('branch');
  const chosen = branch(origin);
  const run = branchSession(agent, session, { ...chosen, into });
  clock.after(20_000, () => run.abort('late').catch(() => {}));
  const result = await runToEnd(clock, run.result);
  const info = await log.info(into);
  const { records: all } = info
    ? await log.read(into, { maxBytes: Number.POSITIVE_INFINITY })
    : { records: [] };
  return { origin, result, agent, log, all, info, ran, into, chosen };
}

/** Cuts a session at a record or at the end of a batch, as a crash would, and resumes it. */
export async function resumeAt(
  plan: Plan,
  at: number,
  onInterrupted: 'keep' | 'retry',
  cut: 'record' | 'batch' = 'record',
) {
  const { log, records, ends } = await runSchedule(plan);
  const through =
    cut === 'record' ? at % (records.length + 1) : (ends[at % ends.length] ?? records.length);
  const into = sessionId('cut');
  await log.fork(session, { into, through });
  const clock = new VirtualClock();
  const ran = new Map<string, number>();
  const provider = scriptedProvider(
    Array.from({ length: 20 }, () => 'And so on.'),
    { clock },
  );
  const agent = createAgent({
    provider,
    log,
    clock,
    ids: otherIds(),
    tools: toolsOf(clock, ran),
    approve: ({ tool }) => (tool.name === 'ask' ? 'ask' : 'allow'),
    onInterrupted,
  });
  const run = agent.resume(into);
  clock.after(20_000, () => run.abort('late').catch(() => {}));
  const result = await runToEnd(clock, run.result);
  const all = (await log.read(into, { maxBytes: Number.POSITIVE_INFINITY })).records;
  return { result, agent, log, before: records.slice(0, through), all, ran, into };
}
