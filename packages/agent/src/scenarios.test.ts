import { readFileSync } from 'node:fs';
import { type AgentEvent, countingIds, encodeEvent, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { Run } from './contract/run.ts';
import { createAgent } from './create-agent.ts';
import { type Scenario, scenarioObserver, scenarios, scenarioTools } from './testing/scenarios.ts';
import { runToEnd, VirtualClock } from './testing/virtual-time.ts';

/** All observed records of a scenario, as lines. */
async function told(scenario: Scenario): Promise<readonly string[]> {
  const clock = new VirtualClock();
  const events: AgentEvent[] = [];
  let run: Run | undefined;
  const act = scenarioObserver(scenario, () => run as Run);
  const agent = createAgent({
    ...scenario.options,
    clock,
    log: memoryLog({ clock }),
    ids: countingIds(),
    random: () => 1,
    tools: scenarioTools('/dev/null'),
    provider: scriptedProvider(scenario.script, { clock, pieces: 'token', pauseMs: 5 }),
    observers: [
      (record, said) => {
        events.push(...said);
        act(record);
      },
    ],
  });
  run = agent.run('Begin', { session: sessionId('s') });
  await runToEnd(clock, run.result);
  return events.map((event) => encodeEvent(event));
}

/** The reviewed recordings. A change in one of them is a change for users. */
function recorded(name: string): readonly string[] {
  const file = new URL(`../fixtures/scenarios/${name.replaceAll(' ', '-')}.jsonl`, import.meta.url);
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}

test.each(Object.entries(scenarios))(
  '%s is published as recorded, byte by byte',
  async (name, scenario) => {
    expect(await told(scenario)).toEqual(recorded(name));
  },
);
