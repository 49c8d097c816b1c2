import type { LogRecord } from '@millrace/core';
import { expect, test } from 'vitest';
import { fewOf, patientMs } from '../../../core/src/testing/runs.ts';
import { hasSameContent } from '../replay/divergence.ts';
import { deskMutations } from '../testing/recorded/desk-mutations.ts';
import {
  type Desk,
  desk,
  deskAgent,
  deskPlan,
  recordDesk,
  session,
} from '../testing/recorded/desk-sessions.ts';
import { pinSession } from './pin-session.ts';
import { decodeRecording, encodeRecording } from './session-recording.ts';
import { testRecordings } from './test-recordings.ts';

const seeds = fewOf(
  Array.from({ length: 200 }, (_, seed) => seed),
  2,
);

/** All pairs of sessions and mutations take minutes. */
const timeout = patientMs(1_800_000);

/** Records a session, pins it, and reads the file again. */
async function pinned(seed: number) {
  const plan = deskPlan(seed);
  const { agent, records, sent } = await recordDesk(desk, plan);
  const recording = decodeRecording(encodeRecording(await pinSession(agent, session)));
  return { seed, plan, records, sent, named: { name: `session ${seed}`, recording } };
}

/** Runs the recording through an agent whose providers have no answers and whose tools are counted. */
async function tested(
  mutated: Desk,
  { named }: Awaited<ReturnType<typeof pinned>>,
  mode: 'exact' | 'requests',
) {
  const ran: string[] = [];
  const { agent, sent } = deskAgent(
    mutated,
    { script: [], fallback: [] },
    { count: (tool) => ran.push(tool) },
  );
  const report = await testRecordings(agent, [named], { mode });
  expect(ran, 'a tool ran').toEqual([]);
  expect(sent, 'a request was sent').toEqual([]);
  return report;
}

/** Returns the records without their times, which say nothing about what the agent does. */
function untimed(records: readonly LogRecord[]) {
  return records.map(({ time: _time, ...record }) => record);
}

test('an unchanged agent gives no false alarm, and a recording has all requests that were sent', {
  timeout,
}, async () => {
  for (const seed of seeds) {
    const recorded = await pinned(seed);
    const { requests = [] } = recorded.named.recording;
    expect(
      requests.map(({ request }) => request),
      `seed ${seed}`,
    ).toEqual(recorded.sent.map(({ body }) => body));
    expect(requests.map(({ wire }) => wire?.body)).toEqual(recorded.sent.map(({ wire }) => wire));
    for (const mode of ['exact', 'requests'] as const) {
      const { results, groups } = await tested(desk, recorded, mode);
      expect(results[0], `seed ${seed}`).toMatchObject({ status: 'same', changes: [] });
      expect(groups).toEqual([]);
    }
  }
});

test('a mutation is flagged in exactly the sessions that it changes', { timeout }, async () => {
  const mutations = fewOf(Object.entries(deskMutations), 10);
  const flagged = new Map<string, number>();
  const wrong: string[] = [];
  // The agent loads some modules on demand. Virtual time can advance while a module is loaded, so all modules
  // are loaded before.
  for (const [index, [, mutation]] of mutations.entries())
    await recordDesk({ ...desk, ...mutation }, deskPlan(index));
  let pairs = 0;
  for (const seed of seeds) {
    const recorded = await pinned(seed);
    const check = async ([name, mutation]: readonly [string, Partial<Desk>]) => {
      const mutated = { ...desk, ...mutation };
      // The oracle is a real run of the mutated agent with the same script.
      const real = await recordDesk(mutated, recorded.plan);
      const differs = !hasSameContent(
        [untimed(real.records), real.sent],
        [untimed(recorded.records), recorded.sent],
      );
      const { results, changed } = await tested(mutated, recorded, 'requests');
      const [result] = results;
      const expected = differs ? 'changed' : 'same';
      const shown = JSON.stringify({ ...result, accepted: undefined }).slice(0, 500);
      if (result?.status !== expected) wrong.push(`${name}, seed ${seed}: ${expected} ${shown}`);
      flagged.set(name, (flagged.get(name) ?? 0) + changed);
      pairs++;
    };
    // A loop that waits for something that never happens is noticed after 2 s.
    await Promise.all(mutations.map(check));
  }
  expect(wrong).toEqual([]);
  if (process.env['MILLRACE_SHOW'] === '1')
    console.log(
      `${pairs} pairs\n${[...flagged].map(([name, count]) => `${count} ${name}`).join('\n')}`,
    );
});
