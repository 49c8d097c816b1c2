import { fileURLToPath } from 'node:url';
import { type Agent, type AgentOptions, createAgent, defineTool } from '@millrace/agent';
import { type LogRecord, sessionId, type ToolCallPart, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import type { WorkflowHandle, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, expect } from 'vitest';
import { z } from 'zod';
import { streamingContext } from '../activities/index.ts';
import type { AgentWorkflowOptions } from '../contract/agent-workflow.ts';
import { currentIds, withIds } from '../ids/current-ids.ts';
import { saveHistory } from '../testing/histories.ts';
import { hasFact, hasText, textsOf, waitForRecords } from '../testing/session-log.ts';
import {
  hasTemporalServer,
  replayOptions,
  temporalTest,
  useTemporal,
} from '../testing/use-temporal.ts';
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

interface StartedWorkflow {
  readonly log: Log;
  readonly handle: WorkflowHandleWithFirstExecutionRunId<typeof agentWorkflow>;
}

/** All histories of the tests in this file. They must be replayable. */
const recorded: { readonly name: string; readonly handle: WorkflowHandle }[] = [];

/** Records a history under the name of the test. */
function record(handle: WorkflowHandle, more = ''): void {
  const title = `${expect.getState().currentTestName}${more}`;
  recorded.push({ handle, name: title.toLowerCase().replaceAll(/[^a-z]+/g, '-') });
}

let workflowCount = 0;

/** Runs an agent as a workflow with its own worker. */
async function withWorkflow(
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> & { readonly workflow?: AgentWorkflowOptions },
  work: (play: StartedWorkflow) => Promise<void>,
): Promise<void> {
  const log = memoryLog();
  const { workflow, ...own } = options;
  const provider = scriptedProvider(script);
  const agent: Agent = createAgent({ name: 'weather', provider, tools: [look], log, ...own });
  const taskQueue = `queue-${++workflowCount}`;
  await temporal.withWorker({ taskQueue, agents: [agent] }, async () => {
    const handle = await temporal.client().workflow.start(agentWorkflow, {
      ...{ taskQueue, workflowId: `task-${workflowCount}` },
      args: [{ agent: 'weather', input: 'Look.', options: { heartbeatMs: 1_000, ...workflow } }],
    });
    record(handle);
    await work({ log, handle });
  });
}

const sessionOf = ({ handle }: StartedWorkflow) => sessionId(handle.workflowId);
const factsIn = (records: readonly LogRecord[]) => records.flatMap(({ fact }) => fact?.type ?? []);

temporalTest('a run with tools ends, and queries return it with large items by reference', () =>
  withWorkflow(
    [
      { content: { parts: [call('c1', 'door')] } },
      { content: { parts: ['x'.repeat(20_000)] }, pieces: 'whole' },
    ],
    {},
    async (played) => {
      const { log, handle } = played;
      expect(await handle.result()).toMatchObject({ stop: { reason: 'stop' } });
      expect((await textsOf(log, sessionOf(played))).slice(0, 2)).toEqual([
        'Look.',
        'the door is fine',
      ]);
      const { items, first } = await handle.query(transcriptQuery);
      expect(first).toBe(0);
      expect(items.map(({ by }) => by)).toEqual(['value', 'value', 'value', 'reference']);
      expect(await handle.query(stateQuery)).toMatchObject({ doing: 'idle', asked: [] });
      expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
    },
  ),
);

temporalTest('calls of a turn are activities that write in parallel', async () => {
  const gates = { door: Promise.withResolvers<void>(), window: Promise.withResolvers<void>() };
  const slow = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({ at: z.enum(['door', 'window']) }) },
    async *execute({ at }) {
      yield `${at} one `;
      await gates[at].promise;
      yield `${at} two `;
      return `${at} done`;
    },
  });
  const calls = [call('c1', 'door'), call('c2', 'window')];
  await withWorkflow(
    [{ content: { parts: calls } }, 'Fine.'],
    { tools: [slow] },
    async (played) => {
      const { log, handle } = played;
      const session = sessionOf(played);
      await waitForRecords(log, session, hasText('door one'));
      await waitForRecords(log, session, hasText('window one'));
      gates.window.resolve();
      await waitForRecords(log, session, hasText('window two'));
      gates.door.resolve();
      await handle.result();
      expect(await textsOf(log, session)).toEqual(['Look.', 'door done', 'window done', 'Fine.']);
      const records = await waitForRecords(log, session, hasFact('run_finished'));
      const producers = new Set(records.map(({ producer }) => producer));
      expect([...producers].filter((name) => name.startsWith('call '))).toHaveLength(2);
    },
  );
});

temporalTest('an interrupt stops the model and keeps its partial answer', () =>
  withWorkflow([stalled, 'Again.'], {}, async (played) => {
    const { log, handle } = played;
    await waitForRecords(log, sessionOf(played), hasText('Half'));
    await handle.signal(interruptSignal, 'enough');
    expect(await handle.result()).toMatchObject({ stop: { reason: 'aborted' } });
    expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
    const facts = factsIn(await waitForRecords(log, sessionOf(played), hasFact('run_finished')));
    expect(facts.filter((type) => type === 'aborted')).toHaveLength(1);
    expect(facts.indexOf('aborted')).toBeLessThan(facts.indexOf('response_finished'));
  }),
);

temporalTest(
  'a cancelled workflow aborts its run, keeps its partial answer, and is cancelled',
  () =>
    withWorkflow([stalled], {}, async (played) => {
      const { log, handle } = played;
      await waitForRecords(log, sessionOf(played), hasText('Half'));
      await handle.cancel();
      await expect(handle.result()).rejects.toThrow('Workflow execution cancelled');
      expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
      const records = await waitForRecords(log, sessionOf(played), hasFact('run_finished'));
      const last = records.findLast(({ fact }) => fact?.type === 'run_finished');
      expect(last?.fact).toMatchObject({ stop: { reason: 'aborted' } });
      expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
    }),
);

temporalTest('calls that need approval wait in the workflow until a signal decides', () =>
  withWorkflow(
    [{ content: { parts: [call('c1', 'door'), call('c2', 'window')] } }, 'Fine.'],
    { approve: () => 'ask' },
    async (played) => {
      const { log, handle } = played;
      const asked = (records: readonly LogRecord[]) =>
        factsIn(records).filter((type) => type === 'approval_asked').length === 2;
      await waitForRecords(log, sessionOf(played), asked);
      await handle.signal(approveSignal, { toolCallId: 'c1', by: 'ann', input: { at: 'roof' } });
      await waitForRecords(log, sessionOf(played), hasFact('tool_execution_finished'));
      expect(await handle.query(stateQuery)).toMatchObject({ doing: 'wait', asked: ['c2'] });
      await handle.signal(denySignal, { toolCallId: 'c2', reason: 'not that' });
      await handle.result();
      expect((await textsOf(log, sessionOf(played))).slice(1)).toEqual([
        'the roof is fine',
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
  const script = [{ content: { parts: [call('c1', 'door')] } }, 'Steered.', 'Answered.'];
  await withWorkflow(script, { tools: [waits] }, async (played) => {
    const { log, handle } = played;
    const session = sessionOf(played);
    await waitForRecords(log, session, hasFact('tool_execution_started'));
    await handle.signal(messageSignal, 'And then?');
    await handle.signal(steerSignal, 'Quick!');
    const queued = (records: readonly LogRecord[]) =>
      factsIn(records).filter((type) => type === 'command_queued').length === 3;
    await waitForRecords(log, session, queued);
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

temporalTest('another worker repeats the answer of a worker that shut down', async () => {
  const log = memoryLog();
  const taskQueue = 'shut-down';
  const agentWith = (script: readonly ScriptEntry[]) =>
    createAgent({ name: 'weather', provider: scriptedProvider(script), log });
  const session = sessionId('shut-down');
  const handle = await temporal.client().workflow.start(agentWorkflow, {
    ...{ taskQueue, workflowId: session },
    args: [{ agent: 'weather', input: 'Look.', options: { heartbeatMs: 1_000 } }],
  });
  const first = { taskQueue, agents: [agentWith([stalled])] };
  await temporal.withWorker(first, () => waitForRecords(log, session, hasText('Half')));
  const second = { taskQueue, agents: [agentWith(['Whole.'])] };
  await temporal.withWorker(second, () => handle.result());
  expect(await textsOf(log, session)).toEqual(['Look.', 'Whole.']);
});

temporalTest('an answer that no worker completes is abandoned and kept as partial', () =>
  withWorkflow(
    [stalled],
    { workflow: { requestTimeoutMs: 1_500, maxAttempts: 1 } },
    async (played) => {
      const { log, handle } = played;
      expect(await handle.result()).toMatchObject({ stop: { reason: 'aborted' } });
      expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'Half an']);
      expect((await log.info(sessionOf(played)))?.lease).toBeUndefined();
    },
  ),
);

temporalTest('a tool that exceeds its timeout is lost, and the model gets a result', async () => {
  const hangs = defineTool({
    ...{ name: 'look', description: 'Looks', input: z.object({ at: z.string() }) },
    execute: () => new Promise<string>(() => {}),
  });
  const script = [{ content: { parts: [call('c1', 'door')] } }, 'I had better ask.'];
  const workflow = { callTimeoutMs: 1_500, maxAttempts: 1 };
  await withWorkflow(script, { tools: [hangs], workflow }, async (played) => {
    const { log, handle } = played;
    expect(await handle.result()).toMatchObject({ text: 'I had better ask.' });
    const [, result] = await textsOf(log, sessionOf(played));
    expect(result).toMatch(/nobody knows whether it was done/);
  });
});

temporalTest('an invalid signal is ignored and the workflow continues', () =>
  withWorkflow(
    [{ content: { parts: [call('c1', 'door')] } }, 'Fine.'],
    { approve: () => 'ask' },
    async (played) => {
      const { log, handle } = played;
      await waitForRecords(log, sessionOf(played), hasFact('approval_asked'));
      await handle.signal(approveSignal, { toolCallId: 7 as never });
      await handle.signal(approveSignal, null as never);
      await handle.signal(messageSignal, [{ kind: 'nonsense' }]);
      await handle.signal(approveSignal, { toolCallId: 'c1' });
      expect(await handle.result()).toMatchObject({ text: 'Fine.' });
    },
  ),
);

temporalTest('it continues as new with the same conversation', async () => {
  const looks = ['a', 'b', 'c', 'd'].map((at) => ({ content: { parts: [call(`c-${at}`, at)] } }));
  const seen: number[] = [];
  const last: ScriptEntry = ({ items }) => {
    seen.push(items.length);
    return 'All seen.';
  };
  const workflow = { turnsPerExecution: 3 };
  await withWorkflow([...looks, last], { workflow }, async (played) => {
    const { handle, log } = played;
    expect(await handle.result()).toMatchObject({ text: 'All seen.' });
    const { runId } = await handle.describe();
    expect(runId).not.toBe(handle.firstExecutionRunId);
    // The model received everything: one message, and four calls with their results.
    expect(seen).toEqual([9]);
    expect(await textsOf(log, sessionOf(played))).toHaveLength(6);
    const facts = factsIn(await waitForRecords(log, sessionOf(played), hasFact('run_finished')));
    expect(facts.filter((type) => type === 'run_started')).toHaveLength(1);
    const { workflowId, firstExecutionRunId } = handle;
    record(temporal.client().workflow.getHandle(workflowId, firstExecutionRunId), ' before');
  });
});

temporalTest('a workflow that stays open answers later messages', () =>
  withWorkflow(['One.', 'Two.'], { workflow: { idleMs: 60_000 } }, async (played) => {
    const { handle, log } = played;
    const ended = (count: number) => (records: readonly LogRecord[]) =>
      factsIn(records).filter((type) => type === 'run_finished').length === count;
    await waitForRecords(log, sessionOf(played), ended(1));
    await handle.signal(messageSignal, 'More?');
    await waitForRecords(log, sessionOf(played), ended(2));
    expect(await textsOf(log, sessionOf(played))).toEqual(['Look.', 'One.', 'More?', 'Two.']);
    await handle.terminate();
  }),
);

temporalTest(
  'custom workflows: autoSend is one activity that returns the settled messages',
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

temporalTest('custom workflows: turn by turn', async () => {
  const log = memoryLog();
  const provider = scriptedProvider([{ content: { parts: [call('c1', 'door')] } }, 'Fine.']);
  const weatherAgent = createAgent({ name: 'weather', provider, tools: [look], log });
  const taskQueue = 'stepping';
  await temporal.withWorker({ taskQueue, agents: [weatherAgent] }, async () => {
    const handle = await temporal.client().workflow.start(steppingWorkflow, {
      ...{ taskQueue, workflowId: 'stepping', args: ['weather', 'Look.'] },
    });
    record(handle);
    expect(await handle.result()).toEqual(['request', 'tool_calls', 'request', 'done', 'Fine.']);
  });
});

temporalTest(
  'iterating a provider in workflow code throws an error that names both alternatives',
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
  'a streaming context in a custom activity closes automatically, also after an error',
  async () => {
    const log = memoryLog();
    let tries = 0;
    const shout = (text: string) =>
      streamingContext({ log }, async (stream) => {
        stream.writeReasoning('Loud. ');
        stream.write(text.toUpperCase());
        await waitForRecords(log, sessionId('shouting'), hasText(text.toUpperCase()));
        if (++tries === 1) throw new Error('out of memory');
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
    // Temporal handled the error. The retry replaced the partial output.
    expect(await textsOf(log, sessionId('shouting'))).toEqual(['Loud. ', 'HELLO!']);
  },
);

temporalTest('task and trace ids reach the activity and the log', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const ids = { task: 'task-of-ids', trace: { traceparent } };
  const taskQueue = 'ids';
  const log = memoryLog();
  const weatherAgent = createAgent({ name: 'weather', provider: scriptedProvider(['Fine.']), log });
  const activities = { idsHere: async () => currentIds() };
  await temporal.withWorker({ taskQueue, activities, agents: [weatherAgent] }, async () => {
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
        ...{ taskQueue, workflowId: 'traced', args: [{ agent: 'weather', input: 'Look.' }] },
      }),
    );
  });
  const records = await waitForRecords(log, sessionId('traced'), hasFact('run_finished'));
  const started = records.find(({ fact }) => fact?.type === 'run_started');
  expect(started?.fact).toMatchObject({ trace: { traceparent } });
});

temporalTest('all of these histories replay without a determinism error', async () => {
  expect(recorded.length).toBeGreaterThan(8);
  for (const { name, handle } of recorded) {
    const history = await handle.fetchHistory();
    const options = { workflowBundle: temporal.bundle(), ...replayOptions };
    await Worker.runReplayHistory(options, history, handle.workflowId);
    saveHistory(name, handle.workflowId, history);
  }
});

afterAll(() => {
  if (hasTemporalServer) console.log(`${recorded.length} histories were replayed`);
});
