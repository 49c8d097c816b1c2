import assert from 'node:assert/strict';
import type { JsonObject } from '@millrace/core';
import { type RowSpec, rejectsWith } from './row-case.ts';

const row = (id: string, data: JsonObject = {}, keys: Record<string, string> = {}) => ({
  id,
  keys,
  data,
});

export const putCases: readonly RowSpec[] = [
  {
    name: 'a new row has the given data, version 1 and the current time',
    async run({ rows, clock }) {
      const put = await rows.put('tasks', row('a', { n: [1, null, 'é'] }, { status: 'RUNNING' }));
      assert.deepEqual(put, {
        ...row('a', { n: [1, null, 'é'] }, { status: 'RUNNING' }),
        version: 1,
        createdAt: clock.time,
        updatedAt: clock.time,
        epoch: 0,
      });
      assert.deepEqual(await rows.get('tasks', 'a'), put);
      assert.equal(await rows.get('agents', 'a'), undefined);
    },
  },
  {
    name: 'a second put increments the version and keeps the creation time',
    async run({ rows, clock }) {
      const first = await rows.put('tasks', row('a'));
      clock.time += 10;
      const second = await rows.put('tasks', row('a', { n: 2 }));
      assert.deepEqual([second.version, second.createdAt], [2, first.createdAt]);
      assert.equal(second.updatedAt, clock.time);
      clock.time -= 100;
      assert.equal((await rows.put('tasks', row('a'))).updatedAt, second.updatedAt);
    },
  },
  {
    name: 'a put with `keepUpdatedAt` changes the row, but not its place in a list',
    async run({ rows, clock }) {
      const first = await rows.put('tasks', row('a'), { keepUpdatedAt: true });
      assert.equal(first.updatedAt, clock.time);
      clock.time += 10;
      await rows.put('tasks', row('b'));
      clock.time += 10;
      const keys = { place: 'kept' };
      const second = await rows.put('tasks', row('a', { n: 2 }, keys), { keepUpdatedAt: true });
      assert.deepEqual([second.version, second.updatedAt], [2, first.updatedAt]);
      const order = { orderBy: 'updatedAt', direction: 'desc' } as const;
      assert.deepEqual(
        (await rows.list('tasks', order)).map(({ id }) => id),
        ['b', 'a'],
      );
      assert.deepEqual(
        (await rows.list('tasks', { ...order, where: keys })).map(({ id }) => id),
        ['a'],
      );
    },
  },
  {
    name: 'a put with `ifVersion` changes only that version',
    async run({ rows }) {
      await rows.put('states', row('a', { n: 1 }), { ifVersion: 0 });
      await rejectsWith('conflict', rows.put('states', row('a', { n: 2 }), { ifVersion: 0 }));
      await rejectsWith('conflict', rows.put('states', row('a', { n: 2 }), { ifVersion: 2 }));
      await rejectsWith('conflict', rows.put('states', row('b'), { ifVersion: 1 }));
      assert.deepEqual((await rows.get('states', 'a'))?.data, { n: 1 });
      assert.equal(await rows.get('states', 'b'), undefined);
      assert.equal((await rows.put('states', row('a'), { ifVersion: 1 })).version, 2);
    },
  },
  {
    name: 'of many concurrent puts with the same `ifVersion`, one succeeds',
    async run({ rows }) {
      await rows.put('states', row('a'));
      const tries = Array.from({ length: 20 }, (_, n) =>
        rows.put('states', row('a', { n }), { ifVersion: 1 }),
      );
      const done = (await Promise.allSettled(tries)).filter(({ status }) => status === 'fulfilled');
      assert.equal(done.length, 1);
      assert.equal((await rows.get('states', 'a'))?.version, 2);
    },
  },
  {
    name: 'a name is unique in a table, and can be used again after it is released',
    async run({ rows }) {
      await rows.put('tasks', row('a', {}, { name: 'demo' }));
      await rejectsWith('conflict', rows.put('tasks', row('b', {}, { name: 'demo' })));
      assert.equal(await rows.get('tasks', 'b'), undefined);
      await rows.put('agents', row('b', {}, { name: 'demo' }));
      await rows.put('tasks', row('a', { again: true }, { name: 'demo' }));
      await rows.put('tasks', row('a', {}, { name: 'other' }));
      await rows.put('tasks', row('b', {}, { name: 'demo' }));
      await rows.delete('tasks', 'b');
      await rows.put('tasks', row('c', {}, { name: 'demo' }));
    },
  },
  {
    name: 'a deleted row is not found, and a new one starts at version 1',
    async run({ rows }) {
      await rows.put('spans', row('a', {}, { trace_id: 't' }));
      assert.equal(await rows.delete('spans', 'a'), true);
      assert.equal(await rows.delete('spans', 'a'), false);
      assert.equal(await rows.get('spans', 'a'), undefined);
      assert.deepEqual(await rows.list('spans', { where: { trace_id: 't' } }), []);
      assert.equal((await rows.put('spans', row('a'))).version, 1);
    },
  },
  {
    name: '__proto__ is data like any other',
    async run({ rows }) {
      const data = JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1}') as JsonObject;
      await rows.put('states', row('a', data));
      const found = await rows.get('states', 'a');
      assert.equal(JSON.stringify(found?.data), JSON.stringify(data));
      assert.equal(Object.hasOwn(found?.data ?? {}, '__proto__'), true);
    },
  },
  {
    name: 'changes of the input or of a result do not change the stored row',
    async run({ rows }) {
      const data = { list: [1] };
      const put = await rows.put('states', row('a', data));
      data.list.push(2);
      (put.data as { list: number[] }).list.push(3);
      assert.deepEqual((await rows.get('states', 'a'))?.data, { list: [1] });
    },
  },
  {
    name: 'a row that could not be read back or found is rejected',
    async run({ rows }) {
      const deep = JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) as never;
      await rejectsWith('bad_row', rows.put('tasks', row('')));
      await rejectsWith('bad_row', rows.put('tasks', row('a\0b')));
      await rejectsWith('bad_row', rows.put('tasks', row('a', {}, { name: '' })));
      await rejectsWith('bad_row', rows.put('tasks', row('a', {}, { name: '\ud800' })));
      await rejectsWith('bad_row', rows.put('tasks', row('a', {}, { "a' OR 1": 'x' })));
      await rejectsWith('bad_row', rows.put('tasks', row('a', { deep })));
      await rejectsWith('bad_row', rows.put('tasks', row('a', { no: undefined as never })));
      assert.equal(await rows.get('tasks', '\ud800'), undefined);
    },
  },
];
