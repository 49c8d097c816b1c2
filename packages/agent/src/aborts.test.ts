import { countingIds, type JsonValue, type LogRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { fetchOf } from '../../providers/src/testing/fetch-of.ts';
import { wireTable } from '../../providers/src/testing/wire-table.ts';
import { createAgent } from './create-agent.ts';
import type { Run } from './run/run.ts';
import { problemsIn } from './testing/check-log.ts';
import { play, VirtualClock } from './testing/play.ts';
import { actor, type Scenario, scenarios, scenarioTools } from './testing/scenarios.ts';

const session = sessionId('s');

/** The scenario, aborted when a record of this offset was told. */
async function perform(scenario: Scenario, abortAt: number) {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  let run: Run | undefined;
  const act = actor(scenario, () => run as Run);
  const records: LogRecord[] = [];
  const ids = countingIds();
  const common = { log, clock, ids, random: () => 1, tools: scenarioTools('/dev/null') };
  const agent = createAgent({
    ...scenario.options,
    ...common,
    provider: scriptedProvider(scenario.script, { clock, pauseMs: 5 }),
    observers: [
      (record) => {
        records.push(record);
        act(record);
        if (record.offset === abortAt) run?.abort('here').catch(() => {});
      },
    ],
  });
  run = agent.run('Begin', { session });
  const result = await play(clock, run.result);
  return { result, records, log, clock, common };
}

/** What each wire would send next, by its own rules. */
async function faultsOfNext({ log, clock, common }: Awaited<ReturnType<typeof perform>>) {
  const faults: string[] = [];
  for (const { wire, provider, faults: faultsOf, read } of wireTable) {
    const { fetch, requests } = fetchOf([]);
    const through = (await log.info(session))?.through ?? 0;
    const into = sessionId(`for ${wire}`);
    await log.fork(session, { into, through });
    const agent = createAgent({ ...common, provider: provider(fetch, wire) });
    await play(clock, agent.run('And now?', { session: into }).result);
    const body = JSON.parse(JSON.stringify(requests[0]?.body)) as JsonValue;
    faults.push(...faultsOf(body, read([])).map((fault) => `${wire}: ${fault}`));
  }
  return faults;
}

describe.each(Object.entries(scenarios))('%s, aborted at each record,', (_name, scenario) => {
  test('ends with all answered and kept, and the next request is valid for every provider', async () => {
    const whole = await perform(scenario, Number.POSITIVE_INFINITY);
    for (const { offset } of whole.records) {
      const aborted = await perform(scenario, offset);
      expect(problemsIn(session, aborted.records)).toEqual([]);
      // What was said by then is still said, as far as the abort let it be.
      const said = aborted.records.find(({ fact }) => fact?.type === 'aborted');
      if (said !== undefined) expect(aborted.result.stop.reason).toBe('aborted');
      expect(await faultsOfNext(aborted)).toEqual([]);
    }
  });
});
