import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../../core/src/testing/runs.ts';
import { openDomPage } from '../../testing/dom-page.ts';
import { GrowingList, GrowingListView } from './growing-list.tsx';

test('a growing list is the same as an array', () => {
  const change = fc.oneof(fc.constant('append' as const), fc.constant('replace' as const));
  fc.assert(
    fc.property(fc.nat(3_000), fc.array(change), (size, changes) => {
      let list = new GrowingList<number>();
      const array: number[] = [];
      const append = (value: number) => {
        list = list.append(value);
        array.push(value);
      };
      for (let value = 0; value < size; value++) append(value);
      for (const [index, kind] of changes.entries()) {
        const before = list;
        const copy = [...array];
        if (kind === 'append' || array.length === 0) append(-index);
        else {
          list = list.replaceLast(-index);
          array[array.length - 1] = -index;
        }
        expect(before.size).toBe(copy.length);
        expect(before.last).toBe(copy.at(-1));
      }
      expect([...list]).toEqual(array);
      expect(list.size).toBe(array.length);
      expect(list.last).toBe(array.at(-1));
    }),
    { numRuns: runs(30) },
  );
});

test('an entry stays in its group, and full groups stay the same objects', () => {
  let list = new GrowingList<number>();
  for (let value = 0; value < 1_056; value++) list = list.append(value);
  const before = list.groups;
  list = list.append(1_056);
  expect(list.groups).toHaveLength(3);
  expect(list.groups.slice(0, 2)).toEqual(before);
  for (const [index, group] of before.entries()) expect(list.groups[index]).toBe(group);
});

test('only the groups that changed are rendered again', async () => {
  const page = await openDomPage('http://localhost/app');
  let rendered = 0;
  const render = (values: readonly number[]) => {
    rendered += values.length;
    return values.join(' ');
  };
  let list = new GrowingList<number>();
  for (let value = 0; value < 5_000; value++) list = list.append(value);
  await page.render(<GrowingListView list={list} render={render} />);
  expect(rendered).toBe(5_000);
  for (let value = 0; value < 10; value++) {
    rendered = 0;
    list = value % 2 === 0 ? list.append(value) : list.replaceLast(-value);
    await page.render(<GrowingListView list={list} render={render} />);
    expect(rendered).toBeLessThanOrEqual(32);
  }
});
