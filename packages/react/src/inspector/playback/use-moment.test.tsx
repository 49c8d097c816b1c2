import { sessionId } from '@millrace/core';
import { useLayoutEffect, useState } from 'react';
import { expect, test } from 'vitest';
import { recordedRun } from '../../../../server/src/testing/recorded-run.ts';
import { openDomPage } from '../../testing/dom-page.ts';
import { numberedRecords } from '../../testing/records.ts';
import { SessionModel } from '../model/session-model.ts';
import { useMoment } from './moment.ts';

const model = new SessionModel(sessionId('test'));
model.add(numberedRecords(recordedRun(2)));
const count = model.records.length;
const inspected = {
  ...{ model, count, through: count, outline: undefined, isPart: false },
  status: { state: 'current' },
} as const;

test('22.7: the moment that was selected last stays selected, although effects run later', async () => {
  const page = await openDomPage('http://localhost/');
  const selected: (number | undefined)[] = [];
  function Recording() {
    const [at, setAt] = useState<number>();
    const { goTo } = useMoment(inspected, at, (to) => {
      selected.push(to);
      setAt(to);
    });
    // The next key arrives after the page shows record 5, and before its effects run.
    useLayoutEffect(() => {
      if (at === 5) goTo(6);
    }, [at, goTo]);
    return (
      <button type="button" onClick={() => goTo(5)}>
        {at}
      </button>
    );
  }
  await page.render(<Recording />);
  await page.click(page.find('button'));
  expect(selected).toEqual([5, 6]);
  expect(page.text()).toBe('6');
});

test('a moment that the address of the page selects is reported once', async () => {
  const page = await openDomPage('http://localhost/');
  const selected: (number | undefined)[] = [];
  function Recording({ at }: { readonly at: number | undefined }) {
    useMoment(inspected, at, (to) => selected.push(to));
    return <p>{at}</p>;
  }
  await page.render(<Recording at={3} />);
  await page.render(<Recording at={7} />);
  await page.render(<Recording at={7} />);
  await page.render(<Recording at={undefined} />);
  await page.render(<Recording at={7} />);
  expect(selected).toEqual([3, 7, 7]);
});
