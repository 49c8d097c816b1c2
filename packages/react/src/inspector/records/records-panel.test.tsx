import type { LogRecord } from '@millrace/core';
import { expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { openDomPage } from '../../testing/dom-page.ts';
import { numberedRecords } from '../../testing/records.ts';
import type { SessionModel } from '../model/session-model.ts';

const all = numberedRecords(recordedRun(40));

/** Counts how often records are read. */
function countedReads(records: readonly LogRecord[]) {
  let reads = 0;
  const counted = new Proxy(records, {
    get(target, key, receiver) {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, receiver);
    },
  });
  return { records: counted, reads: () => reads };
}

test('each new record is searched and listed once, not all records with each batch', async () => {
  const page = await openDomPage('http://page.test/app/tasks/test');
  const { RecordsPanel } = await import('./records-panel.tsx');
  const { records, reads } = countedReads(all);
  const model = { records, axis: { start: 0 } } as unknown as SessionModel;
  const show = (count: number) =>
    page.render(
      <RecordsPanel
        {...{ model, count, index: 0, onIndex: () => {} }}
        readRequest={() => Promise.reject(new Error('Nobody asks'))}
      />,
    );
  await show(0);
  await page.type(page.find('[type=search]'), 'type:append_text');
  const batch = 20;
  const batches = Math.floor(all.length / batch);
  for (let at = 1; at <= batches; at++) await show(at * batch);
  const found = all.slice(0, batches * batch).filter(({ delta }) => delta?.type === 'append_text');
  expect(page.find('output').textContent).toMatch(
    new RegExp(`^(?:\\d+ of ${found.length}|${found.length} found)$`),
  );
  // Each record is read once for the list and once for the search. Each batch also reads the
  // visible rows.
  expect(batches).toBeGreaterThan(50);
  expect(reads()).toBeLessThan(all.length * 2 + batches * 200);
  expect(reads()).toBeLessThan((all.length * batches) / 4);
});
