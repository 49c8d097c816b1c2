import { fileURLToPath } from 'node:url';
import { type Agent, type AgentOptions, createAgent, defineTool } from '@millrace/agent';
import { type LogRecord, sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import type { WorkflowHandle, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, expect } from 'vitest';
import { z } from 'zod';
import { streamingContext } from '../activities/index.ts';
import type { AgentWorkflowOptions } from '../contract/agent-workflow.ts';
import { currentIds, withIds } from '../ids/current-ids.ts';
import { keepHistory } from '../testing/histories.ts';
import { having, saying, textsOf, until } from '../testing/session-log.ts';
import { isTemporalThere, temporalTest, useTemporal } from '../testing/use-temporal.ts';
import {
  autoSendWorkflow,
  idsWorkflow,
  iteratingWorkflow,
  shoutWorkflow,
  steppingWorkflow,
} from '../testing/workflows.ts';
import {
  agentWorkflow,
  approveSignal,
  denySignal,
  interruptSignal,
  messageSignal,
  stateQuery,
  steerSignal,
  transcriptQuery,
} from './index.ts';

const temporal = useTemporal(fileURLToPath(new URL('../testing/workflows.ts', import.meta.url)));

const call = (id: string, at: string): ToolCallPart => ({
  ...{ kind: 'tool_call', toolCallId: toolCallId(id), name: 'look' },
  arguments: JSON.stringify({ at }),
});
const look = defineTool({
  ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
  execute: async ({ at }) => `the ${at} is fine`,
});
const stalled = {
  content: { parts: ['Half an answer'] },
  pieces: 'token',
  fault: { type: 'stall', after: 2 },
} as const;

interface Play {
  readonly log: Log;
  readonly handle: WorkflowHandleWithFirstExecutionRunId<typeof agentWorkflow>;
}

/** All histories that the tests of this file made: they have to replay. */
const recorded: { readonly name: string; readonly handle: WorkflowHandle }[] = [];

/** Under the name of the test. */
function record(handle: WorkflowHandle, more = ''): void {
  const claim = `${expect.getState().currentTestName}${more}`;
  recorded.push({ handle, name: claim.toLowerCase().replaceAll(/[^a-z]+/g, '-') });
}

let plays = 0;

/** Runs an agent as a workflow, with a worker of its own. */
async function play(
  script: readonly Scripted[],
  options: Partial<AgentOptions> & { readonly workflow?: AgentWorkflowOptions },
  work: (play: Play) => Promise<void>,
): Promise<void> {
  const log = memoryLog();
  const { workflow, ...own } = options;
  const provider = scriptedProvider(script);
  const agent: Agent = createAgent({ name: 'miller', provider, tools: [look], log, ...own });
  const taskQueue = `queue-${++plays}`;
  await temporal.withWorker({ taskQueue, agents: [agent] }, async () => {
    const handle = await temporal.client().workflow.start(agentWorkflow, {
      ...{ taskQueue, workflowId: `task-${plays}` },
      args: [{ agent: 'miller', input: 'Look.', options: { heartbeatMs: 1_000, ...workflow } }],
    });
    record(handle);
    await work({ log, handle });
  });
}

const sessionOf = ({ handle }: Play) => sessionId(handle.workflowId);
const factsIn = (records: readonly LogRecord[]) => records.flatMap(({ fact }) => fact?.type ?? []);

temporalTest(
  'a run with tools comes to its end; queries tell of it, large items by reference',
  () =>
    play(
      [
        { content: { parts: [call('c1', 'wheel')] } },
        { content: { parts: ['x'.repeat(20_000)] }, pieces: 'whole' },
      ],
      {},
      async (played) => {
        const { log, handle } = played;
        expect(await handle.result()).toMatchObject({ stop: { reason: 'stop' } });
        expect((await textsOf(log, sessionOf(played))).slice(0, 2)).toEqual([
          'Look.',
          'the wheel is fine',
        ]);
        const { items, first } = await handle.query(transcriptQuery);
        expect(first).toBe(0);
        expect(items.map(({ by }) => by)).toEqual(['value', 'value', 'value', 'reference']);
        expect(await handle.query(stateQuery)).toMatchObject({ doing: 'idle', asked: [] });
        expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
      },
    ),
);

temporalTest('calls of a turn are activities that write side by side', async () => {
  const gates = { wheel: Promise.withResolvers<void>(), gate: Promise.withResolvers<void>() };
  const slow = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({ at: z.enum(['wheel', 'gate']) }) },
    async *execute({ at }) {
      yield `${at} one `;
      await gates[at].promise;
      yield `${at} two `;
      return `${at} done`;
    },
  });
  const calls = [call('c1', 'wheel'), call('c2', 'gate')];
  await play([{ content: { parts: calls } }, 'Fine.'], { tools: [slow] }, async (played) => {
    const { log, handle } = played;
    const session = sessionOf(played);
    await until(log, session, saying('wheel one'));
    await until(log, session, saying('gate one'));
    gates.gate.resolve();
    await until(log, session, saying('gate two'));
    gates.wheel.resolve();
    await handle.result();
    expect(await textsOf(log, session)).toEqual(['Look.', 'wheel done', 'gate done', 'Fine.']);
    const records = await until(log, session, having('run_finished'));
    const producers = new Set(records.map(({ producer }) => producer));
    expect([...producers].filter((name) => name.startsWith('call '))).toHaveLength(2);
  });
});

temporalTest('an interrupt stops the model, and what was said is kept', () =>
  play([stalled, 'Again.'], {}, async (played) => {
    const { log, handle } = played;
    await until(log, sessionOf(played), saying('Half'));
    await handle.signal(interruptSignal, 'enough');
    expect(await handle.result()).toMatchObject({ stop: { reason: 'aborted' } });
    expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
    const facts = factsIn(await until(log, sessionOf(played), having('run_finished')));
    expect(facts.filter((type) => type === 'aborted')).toHaveLength(1);
    expect(facts.indexOf('aborted')).toBeLessThan(facts.indexOf('response_finished'));
  }),
);

temporalTest('a cancelled workflow aborts its run, keeps what was said, and is cancelled', () =>
  play([stalled], {}, async (played) => {
    const { log, handle } = played;
    await until(log, sessionOf(played), saying('Half'));
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow('Workflow execution cancelled');
    expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
    const records = await until(log, sessionOf(played), having('run_finished'));
    const last = records.findLast(({ fact }) => fact?.type === 'run_finished');
    expect(last?.fact).toMatchObject({ stop: { reason: 'aborted' } });
    expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
  }),
);

temporalTest('what asks waits in the workflow; it is approved and denied by signals', () =>
  play(
    [{ content: { parts: [call('c1', 'wheel'), call('c2', 'gate')] } }, 'Fine.'],
    { approve: () => 'ask' },
    async (played) => {
      const { log, handle } = played;
      const asked = (records: readonly LogRecord[]) =>
        factsIn(records).filter((type) => type === 'approval_asked').length === 2;
      await until(log, sessionOf(played), asked);
      await handle.signal(approveSignal, { toolCallId: 'c1', by: 'ann', input: { at: 'sluice' } });
      await until(log, sessionOf(played), having('tool_execution_finished'));
      expect(await handle.query(stateQuery)).toMatchObject({ doing: 'wait', asked: ['c2'] });
      await handle.signal(denySignal, { toolCallId: 'c2', reason: 'not that' });
      await handle.result();
      expect((await textsOf(log, sessionOf(played))).slice(1)).toEqual([
        'the sluice is fine',
        'It was not allowed: not that',
        'Fine.',
      ]);
    },
  ),
);

temporalTest('a steer joins the next request, and a message is answered afterwards', async () => {
  const gate = Promise.withResolvers<void>();
  const waits = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
    execute: () => gate.promise.then(() => 'looked'),
  });
  const script = [{ content: { parts: [call('c1', 'wheel')] } }, 'Steered.', 'Answered.'];
  await play(script, { tools: [waits] }, async (played) => {
    const { log, handle } = played;
    const session = sessionOf(played);
    await until(log, session, having('tool_execution_started'));
    await handle.signal(messageSignal, 'And then?');
    await handle.signal(steerSignal, 'Quick!');
    const queued = (records: readonly LogRecord[]) =>
      factsIn(records).filter((type) => type === 'command_queued').length === 3;
    await until(log, session, queued);
    gate.resolve();
    expect(await handle.result()).toMatchObject({ text: 'Answered.' });
    expect((await textsOf(log, session)).slice(1)).toEqual([
      'looked',
      'Quick!',
      'Steered.',
      'And then?',
      'Answered.',
    ]);
  });
});

temporalTest('a worker that is shut down leaves its answer to the next one', async () => {
  const log = memoryLog();
  const taskQueue = 'shut-down';
  const millerOf = (script: readonly Scripted[]) =>
    createAgent({ name: 'miller', provider: scriptedProvider(script), log });
  const session = sessionId('shut-down');
  const handle = await temporal.client().workflow.start(agentWorkflow, {
    ...{ taskQueue, workflowId: session },
    args: [{ agent: 'miller', input: 'Look.', options: { heartbeatMs: 1_000 } }],
  });
  const first = { taskQueue, agents: [millerOf([stalled])] };
  await temporal.withWorker(first, () => until(log, session, saying('Half')));
  const second = { taskQueue, agents: [millerOf(['Whole.'])] };
  await temporal.withWorker(second, () => handle.result());
  expect(await textsOf(log, session)).toEqual(['Look.', 'Whole.']);
});

temporalTest(
  'an answer that no worker brings to its end is given up, and kept as far as it came',
  () =>
    play([stalled], { workflow: { requestTimeoutMs: 1_500, maxAttempts: 1 } }, async (played) => {
      const { log, handle } = played;
      expect(await handle.result()).toMatchObject({ stop: { reason: 'aborted' } });
      expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
      expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
    }),
);

temporalTest(
  'a tool that takes longer than its activity may is lost, and the model is told',
  async () => {
    const hangs = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
      execute: () => new Promise<string>(() => {}),
    });
    const script = [{ content: { parts: [call('c1', 'wheel')] } }, 'I had better ask.'];
    const workflow = { callTimeoutMs: 1_500, maxAttempts: 1 };
    await play(script, { tools: [hangs], workflow }, async (played) => {
      const { log, handle } = played;
      expect(await handle.result()).toMatchObject({ text: 'I had better ask.' });
      const [, result] = await textsOf(log, sessionOf(played));
      expect(result).toMatch(/nobody knows whether it was done/);
    });
  },
);

temporalTest('a signal that nobody can read is not heard, and the workflow goes on', () =>
  play(
    [{ content: { parts: [call('c1', 'wheel')] } }, 'Fine.'],
    { approve: () => 'ask' },
    async (played) => {
      const { log, handle } = played;
      await until(log, sessionOf(played), having('approval_asked'));
      await handle.signal(approveSignal, { toolCallId: 7 as never });
      await handle.signal(approveSignal, null as never);
      await handle.signal(messageSignal, [{ kind: 'nonsense' }]);
      await handle.signal(approveSignal, { toolCallId: 'c1' });
      expect(await handle.result()).toMatchObject({ text: 'Fine.' });
    },
  ),
);

temporalTest('it continues as new, and the conversation goes on', async () => {
  const looks = ['a', 'b', 'c', 'd'].map((at) => ({ content: { parts: [call(`c-${at}`, at)] } }));
  const seen: number[] = [];
  const last: Scripted = ({ items }) => {
    seen.push(items.length);
    return 'All seen.';
  };
  const workflow = { turnsPerExecution: 3 };
  await play([...looks, last], { workflow }, async (played) => {
    const { handle, log } = played;
    expect(await handle.result()).toMatchObject({ text: 'All seen.' });
    const { runId } = await handle.describe();
    expect(runId).not.toBe(handle.firstExecutionRunId);
    // The model had all of it: one message, and four calls with their results.
    expect(seen).toEqual([9]);
    expect(await textsOf(log, sessionOf(played))).toHaveLength(6);
    const facts = factsIn(await until(log, sessionOf(played), having('run_finished')));
    expect(facts.filter((type) => type === 'run_started')).toHaveLength(1);
    const { workflowId, firstExecutionRunId } = handle;
    record(temporal.client().workflow.getHandle(workflowId, firstExecutionRunId), ' before');
  });
});

temporalTest('a workflow that stays open answers what is said later', () =>
  play(['One.', 'Two.'], { workflow: { idleMs: 60_000 } }, async (played) => {
    const { handle, log } = played;
    const ended = (count: number) => (records: readonly LogRecord[]) =>
      factsIn(records).filter((type) => type === 'run_finished').length === count;
    await until(log, sessionOf(played), ended(1));
    await handle.signal(messageSignal, 'More?');
    await until(log, sessionOf(played), ended(2));
    expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'One.', 'More?', 'Two.']);
    await handle.terminate();
  }),
);

temporalTest(
  'workflows of one’s own: auto-send is one activity that gives the settled messages',
  async () => {
    const log = memoryLog();
    const writer = scriptedProvider(['Written.']);
    const taskQueue = 'auto-send';
    await temporal.withWorker({ taskQueue, log, providers: { writer } }, async () => {
      const handle = await temporal.client().workflow.start(autoSendWorkflow, {
        ...{ taskQueue, workflowId: 'auto-send', args: ['Write.'] },
      });
      record(handle);
      const { messages, text } = await handle.result();
      expect(text).toBe('Written.');
      expect(messages.map((one) => one.by === 'value' && one.item['kind'])).toEqual([
        'user',
        'assistant',
      ]);
      const { events } = await handle.fetchHistory();
      const isActivity = (event: { activityTaskScheduledEventAttributes?: unknown }) =>
        event.activityTaskScheduledEventAttributes != null;
      expect(events?.filter(isActivity)).toHaveLength(1);
    });
    expect(await textsOf(log, sessionId('auto-send'))).toEqual(['Write.', 'Written.']);
  },
);

temporalTest('workflows of one’s own: turn by turn', async () => {
  const log = memoryLog();
  const provider = scriptedProvider([{ content: { parts: [call('c1', 'wheel')] } }, 'Fine.']);
  const miller = createAgent({ name: 'miller', provider, tools: [look], log });
  const taskQueue = 'stepping';
  await temporal.withWorker({ taskQueue, agents: [miller] }, async () => {
    const handle = await temporal.client().workflow.start(steppingWorkflow, {
      ...{ taskQueue, workflowId: 'stepping', args: ['miller', 'Look.'] },
    });
    record(handle);
    expect(await handle.result()).toEqual(['request', 'calls', 'request', 'done', 'Fine.']);
  });
});

temporalTest(
  'iterating a provider in workflow code is refused, by an error that names both ways',
  async () => {
    const taskQueue = 'iterating';
    await temporal.withWorker({ taskQueue }, async () => {
      const handle = await temporal.client().workflow.start(iteratingWorkflow, {
        ...{ taskQueue, workflowId: 'iterating' },
      });
      const error = await handle.result().then(
        () => expect.fail(),
        (thrown: Error) => thrown.cause as Error & { readonly type: string },
      );
      expect(error.type).toBe('millrace.stream_in_workflow');
      expect(error.message).toMatch(/autoSend\(.*streamingContext\(/);
    });
  },
);

temporalTest(
  'a streaming context in one’s own activity closes itself, on a throw too',
  async () => {
    const log = memoryLog();
    let tries = 0;
    const shout = (text: string) =>
      streamingContext({ log }, async (stream) => {
        stream.reason('Loud. ');
        stream.write(text.toUpperCase());
        await until(log, sessionId('shouting'), saying(text.toUpperCase()));
        if (++tries === 1) throw new Error('no voice left');
        stream.write('!');
      });
    const taskQueue = 'shouting';
    await temporal.withWorker({ taskQueue, activities: { shout } }, async () => {
      const handle = await temporal.client().workflow.start(shoutWorkflow, {
        ...{ taskQueue, workflowId: 'shouting', args: ['hello'] },
      });
      record(handle);
      expect(await handle.result()).toMatchObject({ text: 'HELLO!', stop: { reason: 'stop' } });
    });
    // The throw was Temporal's to act on; what had been said until then was taken back by the next try.
    expect(await textsOf(log, sessionId('shouting'))).toEqual(['Loud. ', 'HELLO!']);
  },
);

temporalTest('ids of task and trace travel to the activity and to the log', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const ids = { task: 'task-of-ids', trace: { traceparent } };
  const taskQueue = 'ids';
  const log = memoryLog();
  const miller = createAgent({ name: 'miller', provider: scriptedProvider(['Fine.']), log });
  const activities = { idsHere: async () => currentIds() };
  await temporal.withWorker({ taskQueue, activities, agents: [miller] }, async () => {
    const client = temporal.client();
    const got = await withIds(ids, () =>
      client.workflow.execute(idsWorkflow, { taskQueue, workflowId: 'ids' }),
    );
    expect(got).toEqual(ids);
    expect(await client.workflow.execute(idsWorkflow, { taskQueue, workflowId: 'no-ids' })).toEqual(
      {},
    );
    await withIds(ids, () =>
      client.workflow.execute(agentWorkflow, {
        ...{ taskQueue, workflowId: 'traced', args: [{ agent: 'miller', input: 'Look.' }] },
      }),
    );
  });
  const records = await until(log, sessionId('traced'), having('run_finished'));
  const started = records.find(({ fact }) => fact?.type === 'run_started');
  expect(started?.fact).toMatchObject({ trace: { traceparent } });
});

temporalTest('all of these histories replay without a determinism error', async () => {
  expect(recorded.length).toBeGreaterThan(8);
  for (const { name, handle } of recorded) {
    const history = await handle.fetchHistory();
    const options = { workflowBundle: temporal.bundle() };
    await Worker.runReplayHistory(options, history, handle.workflowId);
    keepHistory(name, handle.workflowId, history);
  }
});

afterAll(() => {
  if (isTemporalThere) console.log(`${recorded.length} histories were replayed`);
});
