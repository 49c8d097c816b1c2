import { fileURLToPath } from 'node:url';
import { Worker, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { beforeAll, expect, test } from 'vitest';
import { savedHistories } from '../testing/histories.ts';
import { bundleWorkflows, installRuntime, replayOptions } from '../testing/use-temporal.ts';

const path = fileURLToPath(new URL('../testing/workflows.ts', import.meta.url));
let workflowBundle: WorkflowBundleWithSourceMap;

beforeAll(async () => {
  installRuntime();
  workflowBundle = await bundleWorkflows(path);
});

const histories = savedHistories();

test('there are recorded histories of signals, approvals and continuing as new', () => {
  expect(histories.length).toBeGreaterThanOrEqual(4);
});

// A workflow that started with an earlier version continues with this one.
test.each(histories)(
  '$name replays without a determinism error',
  async ({ workflowId, history }) => {
    await Worker.runReplayHistory({ workflowBundle, ...replayOptions }, history, workflowId);
  },
);

test('a history that does not match the workflow code is rejected', async () => {
  const [first] = histories;
  const events = first?.history.events?.map((event) => {
    const { activityTaskScheduledEventAttributes: scheduled } = event;
    if (scheduled?.activityType?.name !== 'millraceRequest') return event;
    const activityType = { name: 'millraceCall' };
    return { ...event, activityTaskScheduledEventAttributes: { ...scheduled, activityType } };
  });
  const replayed = Worker.runReplayHistory({ workflowBundle }, { events }, first?.workflowId);
  await expect(replayed).rejects.toThrow(/[Nn]ondeterminism|determinism/);
});
