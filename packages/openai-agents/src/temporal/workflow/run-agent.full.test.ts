import type { TaskSnapshot } from '@millrace/client';
import { type Part, sessionId, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import type { Provider, StreamStep } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect } from 'vitest';
import { hasText, waitForRecords } from '../../../../temporal/src/testing/session-log.ts';
import { temporalTest } from '../../../../temporal/src/testing/use-temporal.ts';
import { call, handoffMessages, response, scriptedModel, thought } from '../../testing/mill.ts';
import { startWorker } from '../../testing/temporal/start-worker.ts';
import { useAgents } from '../../testing/temporal/use-agents.ts';

const temporal = useAgents();

const tools = { weather: async ({ town }: { town: string }) => ({ town, sky: 'rain' }) };

function answerOf({ items }: Pick<TaskSnapshot, 'items'>): string {
  const last = items.findLast(({ kind }) => kind === 'assistant');
  return (last?.parts ?? []).map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

const hasAnswered = (text: string) => (now: TaskSnapshot) =>
  !now.isRunning && answerOf(now) === text;

/** Sends the first token of this answer, and the rest when the gate opens. */
function gated(provider: Provider, answer: number, gate: Promise<void>): Provider {
  let count = 0;
  async function* held(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    let isFirst = true;
    for await (const step of steps) {
      if (!isFirst) await gate;
      isFirst = step.deltas.every(({ type }) => type !== 'append_text');
      yield step;
    }
  }
  const stream: Provider['stream'] = (...asked) => {
    const steps = provider.stream(...asked);
    return ++count === answer ? held(steps) : steps;
  };
  return { ...provider, stream };
}

temporalTest('an agent with a tool and a hand-off streams while its workflow runs', () =>
  temporal.served('story', async ({ task, messages, withWorker }) => {
    const seen = Promise.withResolvers<void>();
    const provider = gated(scriptedModel(), 3, seen.promise);
    await withWorker({ provider, tools }, async () => {
      await task.send('Bread?');
      await task.until((now) => now.isRunning && answerOf(now).trim() === 'Bread');
      seen.resolve();
      await task.until(hasAnswered('Bread is ready.'));
      const handle = temporal.client().workflow.getHandle(task.id);
      expect(await handle.result()).toBe('Bread is ready.');
    });
    // The same messages as those of a sync agent.
    expect(await messages()).toEqual(handoffMessages);
    await temporal.replay(task.id);
  }),
);

temporalTest('an invalid or too large signal is ignored', () =>
  temporal.served('unread', async ({ task, taskQueue, messages, withWorker }) => {
    const { workflow } = temporal.client();
    const isPlain = true;
    const args: [object] = [{ session: task.id, input: 'Bread?', isPlain }];
    const started = { taskQueue, workflowId: 'unread', args };
    await withWorker({ provider: scriptedModel() }, async () => {
      const handle = await workflow.signalWithStart('agentWorkflow', {
        ...{ ...started, signal: 'message', signalArgs: [42] },
      });
      await handle.signal('message', '水'.repeat(690_000));
      expect(await handle.result()).toBe('Bread is ready.');
    });
    expect(await messages()).toEqual(handoffMessages);
  }),
);

temporalTest('results of tools that run in the workflow are recorded too', () =>
  temporal.served('plain', async ({ task, taskQueue, messages, withWorker }) => {
    const args: [object] = [{ session: task.id, input: 'Bread?', isPlain: true }];
    const started = { taskQueue, workflowId: 'plain', args };
    await withWorker({ provider: scriptedModel() }, async () => {
      const { workflow } = temporal.client();
      expect(await workflow.execute('agentWorkflow', started)).toBe('Bread is ready.');
    });
    expect(await messages()).toEqual(handoffMessages);
    await temporal.replay('plain');
  }),
);

const stalling = { content: { parts: ['Bread is hardly ready'] }, fault: stall(2) } as const;
function stall(after: number) {
  return { type: 'stall', after } as const;
}

temporalTest('after a worker is killed during an answer, another one answers exactly once', () =>
  temporal.served('killed', async ({ task, log, file, taskQueue, messages }) => {
    const order = { address: temporal.address(), taskQueue, file, bundle: temporal.bundle() };
    const looks = response(thought, 'Let me look. ', call('c1', 'weather', { town: 'Bath' }));
    const hands = response(call('c2', 'transfer_to_Baker'));
    const kill = await startWorker({ ...order, script: [looks, hands, stalling] });
    await task.send('Bread?');
    await task.until((now) => answerOf(now).startsWith('Bread is'));
    await kill();
    const killOther = await startWorker({ ...order, script: ['Bread is ready.'] });
    try {
      await task.until(hasAnswered('Bread is ready.'));
      await temporal.client().workflow.getHandle(task.id).result();
    } finally {
      await killOther();
    }
    expect(await messages()).toEqual(handoffMessages);
    const { records } = await log.read(sessionId(task.id));
    const superseded = records.filter(({ fact }) => fact?.type === 'attempt_superseded');
    expect(superseded).toHaveLength(1);
    await temporal.replay(task.id);
  }),
);

temporalTest(
  'messages during a run reach the model, and an interrupt keeps the partial answer',
  () =>
    temporal.served('steered', async ({ task, messages, withWorker }) => {
      const script = [response(call('c1', 'weather', { town: 'Bath' })), stalling, 'Cake it is.'];
      const provider = scriptedModel(script);
      const [isLooking, mayLook] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const weather = async () => {
        isLooking.resolve();
        await mayLook.promise;
        return 'rain';
      };
      await withWorker({ provider, tools: { weather } }, async () => {
        await task.send('Bread?');
        await isLooking.promise;
        await temporal.client().workflow.getHandle(task.id).signal('steer', 'Or cake?');
        mayLook.resolve();
        await task.until((now) => answerOf(now).startsWith('Bread is'));
        await task.stop();
        await task.until((now) => now.task?.status === 'INTERRUPTED');
        await task.send('Well?');
        await task.until(hasAnswered('Cake it is.'));
        await temporal.client().workflow.getHandle(task.id).result();
      });
      const asked = provider.requests.map(({ request }) =>
        request.items.filter(({ kind }) => kind === 'user').map(({ parts }) => textIn(parts)),
      );
      expect(asked).toEqual([['Bread?'], ['Bread?', 'Or cake?'], ['Bread?', 'Or cake?', 'Well?']]);
      expect((await messages()).filter((one) => one.startsWith('agent: '))).toEqual([
        expect.stringMatching(/^agent: Bread is/),
        'agent: Cake it is.',
      ]);
    }),
);

function textIn(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

temporalTest('the output and calls of an agent that is used as a tool are not recorded', () =>
  temporal.served('nested', async ({ taskQueue, log, withWorker }) => {
    const looks = response(call('n1', 'weather', { town: 'Bath' }));
    const asks = response(call('c1', 'ask_baker', { input: 'Well?' }));
    const provider = scriptedModel([asks, looks, 'In an hour.', 'Soon.']);
    const started = { taskQueue, workflowId: 'nested', args: ['Bread?'] };
    await withWorker({ provider, tools }, async () => {
      expect(await temporal.client().workflow.execute('nestedWorkflow', started)).toBe('Soon.');
    });
    const rain = { kind: 'tool_result', toolCallId: 'n1', text: '{"town":"Bath","sky":"rain"}' };
    expect(provider.requests[2]?.request.items.at(-1)?.parts).toMatchObject([rain]);
    const items = transcript(await snapshot(log, sessionId('nested')));
    expect(items.map(({ kind, parts }) => `${kind}: ${textIn(parts)}`)).toEqual([
      ...['user: Bread?', 'assistant: ', 'tool: ', 'assistant: Soon.'],
    ]);
    expect(items[2]?.parts).toMatchObject([{ kind: 'tool_result', text: 'In an hour.' }]);
  }),
);

temporalTest('an SDK error fails the workflow and leaves no open run on the log', () =>
  temporal.served('refused', async ({ taskQueue, log, withWorker }) => {
    const started = { taskQueue, workflowId: 'refused', args: ['Bread?'] };
    await withWorker({ provider: scriptedModel() }, async () => {
      const { workflow } = temporal.client();
      await expect(workflow.execute('shortWorkflow', started)).rejects.toMatchObject({
        cause: { type: 'MaxTurnsExceededError' },
      });
    });
    expect(await log.info(sessionId('refused'))).toMatchObject({ hasWork: false });
  }),
);

temporalTest('another worker repeats the answer of a worker that shut down', () =>
  temporal.served('shut-down', async ({ task, log, messages, withWorker }) => {
    await withWorker({ provider: scriptedModel([stalling]) }, async () => {
      await task.send('Bread?');
      await task.until((now) => answerOf(now).startsWith('Bread is'));
    });
    const provider = scriptedModel(['Bread is ready.']);
    await withWorker({ provider }, () => task.until(hasAnswered('Bread is ready.')));
    expect(await messages()).toEqual(['user: Bread?', 'agent: Bread is ready.']);
    expect(await log.info(sessionId(task.id))).toMatchObject({ hasWork: false });
  }),
);

temporalTest('a cancelled run keeps its partial answer', () =>
  temporal.served('cancelled', async ({ task, taskQueue, log, withWorker }) => {
    const args: [object] = [{ session: task.id, input: 'Bread?' }];
    await withWorker({ provider: scriptedModel([stalling]) }, async () => {
      const started = { taskQueue, workflowId: 'cancelled', args };
      const handle = await temporal.client().workflow.start('agentWorkflow', started);
      await task.until((now) => answerOf(now).startsWith('Bread is'));
      await handle.cancel();
      await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    });
    const session = sessionId(task.id);
    expect(await log.info(session)).toMatchObject({ hasWork: false });
    const [, answer] = transcript(await snapshot(log, session));
    expect(answer?.parts).toMatchObject([{ text: expect.stringMatching(/^Bread is/) }]);
  }),
);

temporalTest('streaming in workflow code throws an error that names the alternatives', () =>
  temporal.served('streaming', async ({ taskQueue, withWorker }) => {
    const started = { taskQueue, workflowId: 'streaming', args: [] };
    const errors = await withWorker({}, () =>
      temporal.client().workflow.execute('streamingWorkflow', started),
    );
    expect(errors).toEqual([
      expect.stringContaining('Run it without `stream`'),
      expect.stringMatching(/model clever .*getResponse .*autoSend.*streamingContext/),
    ]);
  }),
);

temporalTest('a tool that no worker has gives the model an error result', () =>
  temporal.served('no-tool', async ({ task, messages, withWorker }) => {
    await withWorker({ provider: scriptedModel() }, async () => {
      await task.send('Bread?');
      await task.until(hasAnswered('Bread is ready.'));
      await temporal.client().workflow.getHandle(task.id).result();
    });
    const failed = expect.stringMatching(/^c1: weather = .*error/i);
    expect(await messages()).toEqual(handoffMessages.with(4, failed));
  }),
);

temporalTest('two agents of a workflow receive the signals for their sessions', () =>
  temporal.served('pair', async ({ log, taskQueue, withWorker }) => {
    const stall = { type: 'stall', after: 2 } as const;
    const stalled = {
      content: { parts: ['Half an answer'] },
      pieces: 'token',
      fault: stall,
    } as const;
    await withWorker({ provider: scriptedProvider([stalled, stalled]), tools }, async () => {
      const { workflow } = temporal.client();
      const args = [['one', 'two']];
      const handle = await workflow.start('pairWorkflow', { taskQueue, workflowId: 'pair', args });
      for (const session of ['one', 'two'])
        await waitForRecords(log, sessionId(session), hasText('Half'));
      for (const session of ['two', 'one']) await handle.signal('interrupt', 'enough', { session });
      await handle.result();
      const same = { taskQueue, workflowId: 'same', args: [['same', 'same']] };
      await expect(workflow.execute('pairWorkflow', same)).rejects.toMatchObject({
        cause: { type: 'millrace.session_in_use' },
      });
    });
  }),
);
