import type { Client } from '@millrace/client';
import { emptyState, type FoldState, sessionId } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { settled } from '../../../client/src/testing/settled.ts';
import { foldAll } from '../../../core/src/testing/fold-all.ts';
import { recordedRun } from '../../../server/src/testing/recorded-run.ts';
import { openDomPage } from '../testing/dom-page.ts';
import { numberedRecords } from '../testing/records.ts';
import { Inspector } from './inspector.tsx';

const records = numberedRecords(recordedRun(3));

/** A client of a fake server that has the recording. A page has fifty records. */
function recordedClient(): Client {
  const state = { ...emptyState(sessionId('test')), through: records.length };
  const task = {
    subscribe: () => () => {},
    snapshot: () => ({ state }),
    spans: async () => [],
    outline: async () => ({ through: records.length, is_whole: true, segments: [] }),
    records: async (from: number) => {
      const page = records.slice(from, from + 50);
      return { after: from, through: page.at(-1)?.offset ?? from, records: page };
    },
  };
  return { task: () => task } as unknown as Client;
}

interface ReportedMoment {
  readonly at: number | undefined;
  readonly state: FoldState;
}

/** Renders the inspector. `at` is the last moment that the inspector reported. */
async function renderInspector(at?: number) {
  const page = await openDomPage('http://page.test/app/tasks/test');
  const reported: ReportedMoment[] = [];
  const client = recordedClient();
  const show = (moment: number | undefined): Promise<void> =>
    page.render(
      <Inspector
        {...{ client, taskId: 'test', at: moment }}
        onMoment={(to, moment) => {
          if (moment !== undefined) reported.push({ at: to, state: moment.state });
        }}
      />,
    );
  await show(at);
  await page.act(settled);
  const slider = () => page.find('[role="slider"]');
  return {
    reported,
    valueText: () => slider().getAttribute('aria-valuetext'),
    heading: () => page.find('.span-detail h4').textContent?.trim(),
    async press(key: string, shiftKey = false) {
      await page.press(slider(), key, { shiftKey });
      await show(reported.at(-1)?.at);
    },
  };
}

describe('the inspector', () => {
  test('opened by a link reports the state at that record', async () => {
    const { reported, valueText } = await renderInspector(77);
    expect(reported).toEqual([{ at: 77, state: foldAll(records.slice(0, 77)) }]);
    expect(valueText()).toBe(`record 77 of ${records.length}, 760 ms`);
  });

  test('opened without a link is at the current state and reports nothing', async () => {
    const { reported, valueText } = await renderInspector();
    expect(reported).toEqual([]);
    expect(valueText()).toMatch(`record ${records.length} of ${records.length}`);
  });

  test('moves by keys and reports the state of each record', async () => {
    const { reported, press } = await renderInspector(50);
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'Home']) await press(key);
    expect(reported.map(({ at }) => at)).toEqual([50, 51, 52, 51, 1]);
    for (const { at, state } of reported) expect(state).toEqual(foldAll(records.slice(0, at)));
  });

  test('moves to the next fact with Shift, and back to now with End', async () => {
    const { reported, press } = await renderInspector(20);
    await press('ArrowRight', true);
    const next = records.find(({ offset, fact }) => offset > 20 && fact !== undefined);
    expect(reported.at(-1)?.at).toBe(next?.offset);
    await press('End');
    expect(reported.at(-1)).toEqual({ at: undefined, state: foldAll(records) });
  });
});

test('the heading of a span names its kind in words of the user', async () => {
  const { heading, press } = await renderInspector();
  expect(heading()).toMatch(/^Run\b(?! run)/i);
  const seen = new Set<string | undefined>();
  for (let step = 0; step < 40; step++) {
    await press('ArrowLeft');
    seen.add(heading());
  }
  expect(
    [...seen].filter((text) => /toolCall|subAgent|run Run|turn Turn/.test(text ?? '')),
  ).toEqual([]);
});
