import assert from 'node:assert/strict';
import { epochCases } from './epoch-cases.ts';
import { listCases } from './list-cases.ts';
import { putCases } from './put-cases.ts';
import { type RowCase, type RowSpec, type RowSubject, rejectsWith, toCase } from './row-case.ts';

const sharedCases: readonly RowSpec[] = [
  {
    name: 'closed rows throw `closed`, and closing twice has no effect',
    async run({ rows }) {
      await rows.close();
      await rows.close();
      await rejectsWith('closed', rows.get('tasks', 'a'));
      await rejectsWith('closed', rows.list('tasks'));
      if (rows.getMany !== undefined) await rejectsWith('closed', rows.getMany('tasks', ['a']));
      await rejectsWith('closed', rows.put('tasks', { id: 'a', keys: {}, data: {} }));
      await rejectsWith('closed', rows.claim('tasks', 'a', 1));
      await rejectsWith('closed', rows.delete('tasks', 'a'));
    },
  },
  {
    name: 'an optional read of many ids returns the rows that exist',
    async run({ rows }) {
      for (const id of ['a', 'b']) await rows.put('tokens', { id, keys: {}, data: { id } });
      await rows.put('tasks', { id: 'c', keys: {}, data: {} });
      const found = await rows.getMany?.('tokens', ['a', 'b', 'b', 'c', 'd', '\ud800', '']);
      if (found === undefined) return;
      assert.deepEqual(found.map(({ id, data }) => [id, data['id']]).sort(), [
        ['a', 'a'],
        ['b', 'b'],
      ]);
      assert.deepEqual(await rows.getMany?.('tokens', []), []);
    },
  },
  {
    name: 'an optional stamp differs after each change and is equal without changes',
    async run({ rows }) {
      const before = await rows.stamp?.('tasks');
      if (before === undefined) return;
      await rows.list('tasks');
      await rows.put('states', { id: 'a', keys: {}, data: {} });
      assert.equal(await rows.stamp?.('tasks'), before);
      await rows.put('tasks', { id: 'a', keys: {}, data: {} });
      const created = await rows.stamp?.('tasks');
      await rows.put('tasks', { id: 'a', keys: {}, data: { n: 1 } });
      const changed = await rows.stamp?.('tasks');
      await rows.delete('tasks', 'a');
      const stamps = [before, created, changed, await rows.stamp?.('tasks')];
      assert.equal(new Set(stamps).size, stamps.length);
    },
  },
  {
    name: 'an optional stamp differs after each change by another instance',
    needsDurable: true,
    async run({ rows, openAnother }) {
      const other = await openAnother();
      const before = await rows.stamp?.('tasks');
      if (before === undefined) return;
      await other.put('tasks', { id: 'a', keys: {}, data: {} });
      const created = await rows.stamp?.('tasks');
      await other.delete('tasks', 'a');
      const stamps = [before, created, await rows.stamp?.('tasks')];
      assert.equal(new Set(stamps).size, stamps.length);
    },
  },
  {
    name: 'two instances share rows and versions',
    needsDurable: true,
    async run({ rows, openAnother }) {
      const other = await openAnother();
      await rows.put('tasks', { id: 'a', keys: { name: 'demo' }, data: { n: 1 } });
      assert.deepEqual((await other.get('tasks', 'a'))?.data, { n: 1 });
      await other.put('tasks', { id: 'a', keys: { name: 'demo' }, data: { n: 2 } });
      await rejectsWith(
        'conflict',
        rows.put('tasks', { id: 'a', keys: {}, data: {} }, { ifVersion: 1 }),
      );
      const taken = { id: 'b', keys: { name: 'demo' }, data: {} };
      await rejectsWith('conflict', rows.put('tasks', taken));
      await rows.close();
      const later = await openAnother();
      assert.deepEqual((await later.get('tasks', 'a'))?.data, { n: 2 });
    },
  },
];

const specs: readonly RowSpec[] = [...putCases, ...epochCases, ...listCases, ...sharedCases];

/**
 * Returns the test cases that every `Rows` implementation must pass. Any test runner can run them.
 *
 * @example
 * ```ts
 * for (const { name, run } of rowCases(subject)) test(name, run);
 * ```
 */
export function rowCases(subject: RowSubject): readonly RowCase[] {
  return specs
    .filter(({ needsDurable = false }) => subject.isDurable || !needsDurable)
    .map((spec) => toCase(spec, subject));
}
